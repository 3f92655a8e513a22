//! `remove_urls(text)`: web addresses are deleted.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "remove_urls",
    family: Family::Text,
    summary: "web addresses are deleted, each up to the next white space",
    details: "An address begins with `http://`, `https://` or `www.`, in any case and also inside a word, and needs \
              one more character; it ends before the next white space, so a full stop or bracket behind it goes with \
              it. The definition is NeMo Curator's UrlRemover. An empty document stays empty. `pii_redact` with the \
              kind `url` is stricter about what an address is.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Utf8,
    examples: &[
        Example::of("remove_urls('see https://a.org/x, or WWW.b.com today')", "'see  or  today'"),
        Example::of("remove_urls('http:// and www. stay')", "'http:// and www. stay'"),
        Example::of("remove_urls('')", "''"),
        Example::of("remove_urls(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.6), // measured on mixed documents
    cpu: Cpu::Text(|text, _| remove_urls(text)),
    gpu: Gpu::NOT_YET,
};

fn remove_urls(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    // Every address has a `:` after its scheme or begins with a `w`.
    while let Some(found) = memchr::memchr3(b':', b'w', b'W', &text.as_bytes()[from..]) {
        let at = from + found;
        match address_at(text, copied, at) {
            Some((start, body)) => {
                let end = text[body..].find(scan::is_space).map_or(text.len(), |space| body + space);
                out.push_str(&text[copied..start]);
                (copied, from) = (end, end);
            }
            None => from = at + 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The address whose `:` or first `w` is at `at`: where it begins, not before `least`, and where its body does.
fn address_at(text: &str, least: usize, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let (start, body) = if bytes[at] == b':' {
        bytes[at + 1..].starts_with(b"//").then_some(())?;
        let before = &bytes[least..at];
        // Python's IGNORECASE takes the long s for an s.
        let without_s = [&b"s"[..], b"S", "ſ".as_bytes()].iter().find_map(|s| before.strip_suffix(*s));
        let scheme = [without_s, Some(before)].into_iter().flatten().find(|before| ends_with_http(before))?;
        (least + scheme.len() - "http".len(), at + "://".len())
    } else {
        let prefix = bytes.get(at..at + "www.".len())?;
        prefix.eq_ignore_ascii_case(b"www.").then_some((at, at + prefix.len()))?
    };
    text[body..].chars().next().filter(|next| !scan::is_space(*next)).map(|_| (start, body))
}

fn ends_with_http(before: &[u8]) -> bool {
    before.len() >= 4 && before[before.len() - 4..].eq_ignore_ascii_case(b"http")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_pythons_expression_matches() {
        for (text, expected) in [
            ("xhttp://a b", "x b"),
            ("httpſ://a", ""),
            ("httpss://a", "httpss://a"),
            ("http://", "http://"),
            ("http://\u{3000}a", "http://\u{3000}a"),
            ("wwww.a", "w"),
            ("www.www.", ""),
            ("www. www.x", "www. "),
            ("https://x\u{1c}y", "\u{1c}y"),
            ("ftp://x.org", "ftp://x.org"),
            ("hthttps://é(z)", "ht"),
            (":w:://W", ":w:://W"),
        ] {
            assert_eq!(remove_urls(text), expected, "{text:?}");
        }
    }
}
