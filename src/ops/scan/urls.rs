//! Addresses in a text, as NeMo Curator's regular expression finds them: `http://` or `https://`, then at least one of
//! letters, digits, ``$ - _ @ . & + / : = ? # ~ ! * ( ) ,``, or `%` with two hexadecimal digits.
//!
//! Not here: what other peers call an address (`https?://\S+`).

use memchr::memmem;
use std::sync::LazyLock;

static HTTP: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("http"));

/// The addresses, in order. They do not overlap, and are ASCII.
pub(crate) fn urls(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        loop {
            let start = from + HTTP.find(bytes.get(from..)?)?;
            match end_of_url(bytes, start) {
                Some(end) => {
                    from = end;
                    return text.get(start..end);
                }
                None => from = start + 1,
            }
        }
    })
}

/// Where the address that begins at `start` with `http` ends.
fn end_of_url(bytes: &[u8], start: usize) -> Option<usize> {
    let after = &bytes[start + 4..];
    let after = after.strip_prefix(b"s").unwrap_or(after);
    let body = after.strip_prefix(b"://")?;
    let mut len = 0;
    while let Some(&byte) = body.get(len) {
        len += match byte {
            b'%' if body.get(len + 1..len + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => 3,
            _ if byte.is_ascii_alphanumeric() || b"$-_@.&+/:=?#~!*(),".contains(&byte) => 1,
            _ => break,
        };
    }
    (len > 0).then(|| bytes.len() - body.len() + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_end_at_the_first_character_that_they_cannot_have() {
        for (text, expected) in [
            ("see http://a.b/c?d=1#e, and https://x", vec!["http://a.b/c?d=1#e,", "https://x"]),
            ("<a href=\"http://a.b\">", vec!["http://a.b"]),
            ("http:// https:// http:/x httpss://x", vec![]),
            ("http://a%20b%2 http://%zz http://é", vec!["http://a%20b"]),
            ("hhttp://a;http://b", vec!["http://a", "http://b"]),
            ("http://ahttp://b", vec!["http://ahttp://b"]),
            ("HTTP://a http", vec![]),
        ] {
            assert_eq!(urls(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
