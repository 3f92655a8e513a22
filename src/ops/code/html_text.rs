//! `html_text(text)`: what a reader of an HTML document sees.

use super::html;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "html_text",
    family: Family::Code,
    summary: "the visible text of an HTML document: no tags, comments, scripts and style sheets",
    details: "As Beautiful Soup 4.15 with Python 3.11's `html.parser` gives it by `get_text()` once `script` and `style` \
              are taken out: the text between tags, references decoded, and marked sections `<![CDATA[…]]>`; not the text \
              of `rt`, `rp` and `template`. White space between two tags becomes one line feed if there is one in it, \
              else one space, except in `pre` and `textarea`. Markup that never ends is text. Where `html.parser` raises \
              (a marked section of an unknown kind), it goes on behind the next `>`. Nothing is put between the texts of \
              two elements.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Utf8,
    examples: &[
        Example::of("html_text('<p>a &lt; b<!-- c --></p><script>x</script>')", "'a < b'"),
        Example::of("html_text('a <b')", "'a <b'"),
        Example::of("html_text('')", "''"),
        Example::of("html_text(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.0),
    cpu: Cpu::Text(|text, _| match memchr::memchr2(b'<', b'&', text.as_bytes()) {
        Some(_) => Cow::Owned(html::visible_text(text)),
        None if text.trim_matches([' ', '\n', '\t', '\x0c', '\r']).is_empty() => Cow::Owned(html::visible_text(text)),
        None => Cow::Borrowed(text),
    }),
    gpu: Gpu::No("elements open and close in order"),
};
