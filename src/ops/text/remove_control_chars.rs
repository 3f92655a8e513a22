//! `remove_control_chars(text)`: characters that are neither shown nor white space are deleted.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "remove_control_chars",
    family: Family::Text,
    summary: "control characters are deleted, except tab, line feed and carriage return",
    details: "Control characters are Unicode's category Cc (U+0000 to U+001F, U+007F to U+009F). With `invisible`, \
              also: the byte order mark U+FEFF, zero width space and word joiner, soft hyphen, the marks and overrides \
              of writing direction, and U+FFF9 to U+FFFC. The joiners U+200C and U+200D always stay: scripts and emoji \
              need them. An empty document stays empty.",
    params: &[
        Param::text("text", "the document"),
        Param::bool("invisible", "also delete invisible characters of other kinds").default(Literal::Bool(false)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("remove_control_chars(chr(7) || 'bell')", "'bell'"),
        Example::of(r"remove_control_chars(E'a\tb\n')", r"'a\tb\n'"),
        Example::of("remove_control_chars(chr(65279) || 'a' || chr(8203) || 'b', invisible => true)", "'ab'"),
        Example::of("remove_control_chars('')", "''"),
        Example::of("remove_control_chars(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.8), // measured on mixed documents
    cpu: Cpu::Text(|text, args| match args.bool("invisible") {
        true => remove_chars(text, |c| is_control(c) || is_invisible(c)),
        false => remove_chars(text, is_control),
    }),
    gpu: Gpu::NOT_YET,
};

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffc}')
}

fn remove_chars(text: &str, is_removed: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Clean ASCII, the common case, is seen at a glance.
    let is_plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let checked_from = text.bytes().position(|byte| !is_plain(byte)).unwrap_or(text.len());
    match text[checked_from..].find(&is_removed).map(|at| checked_from + at) {
        None => Cow::Borrowed(text),
        Some(first) => {
            let mut out = String::with_capacity(text.len());
            out.push_str(&text[..first]);
            out.extend(text[first..].chars().filter(|c| !is_removed(*c)));
            Cow::Owned(out)
        }
    }
}
