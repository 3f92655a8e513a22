//! What a page says of its own charset: `<meta charset>`, `<meta http-equiv>` or an XML declaration in its first 1,024 bytes.
//!
//! As the HTML Standard scans for it, before a page is parsed: comments are passed over, attributes may have quotes or not.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

const SCANNED_BYTES: usize = 1024;

pub(super) fn charset(bytes: &[u8]) -> Option<&'static Encoding> {
    let scanned = &bytes[..bytes.len().min(SCANNED_BYTES)];
    of_xml(scanned).or_else(|| of_meta(scanned)).map(as_browsers_take_it)
}

/// A page that can be read this far is in no 16-bit charset, whatever it says.
fn as_browsers_take_it(said: &'static Encoding) -> &'static Encoding {
    match said {
        said if said == UTF_16LE || said == UTF_16BE => UTF_8,
        said if said == X_USER_DEFINED => WINDOWS_1252,
        said => said,
    }
}

fn of_xml(bytes: &[u8]) -> Option<&'static Encoding> {
    let rest = bytes.strip_prefix(b"<?xml")?;
    let rest = &rest[..memchr::memchr(b'>', rest)?];
    let rest = rest[memchr::memmem::find(rest, b"encoding")? + 8..].trim_ascii_start();
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let quote = *rest.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    Encoding::for_label(&rest[1..1 + memchr::memchr(quote, &rest[1..])?])
}

fn of_meta(bytes: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { bytes, at: 0 };
    while let Some(open) = memchr::memchr(b'<', &bytes[scan.at..]) {
        scan.at += open + 1;
        let rest = &bytes[scan.at..];
        if rest.starts_with(b"!--") {
            // `<!-->` is a comment, too.
            scan.at += 1 + memchr::memmem::find(&rest[1..], b"-->")? + 3;
        } else if matches!(rest, [b'!' | b'?', ..] | [b'/', ..]) && !is_end_tag(rest) {
            scan.at += memchr::memchr(b'>', rest)? + 1;
        } else if rest.len() > 4 && rest[..4].eq_ignore_ascii_case(b"meta") && is_space_or_slash(rest[4]) {
            scan.at += 5;
            if let Some(found) = scan.meta() {
                return Some(found);
            }
        } else if rest.first().is_some_and(u8::is_ascii_alphabetic) || is_end_tag(rest) {
            let n_name = rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'>')?;
            scan.at += n_name;
            while scan.attribute().is_some() {}
        }
    }
    None
}

fn is_end_tag(rest: &[u8]) -> bool {
    matches!(rest, [b'/', letter, ..] if letter.is_ascii_alphabetic())
}

fn is_space_or_slash(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'/'
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// What the attributes of a `<meta` say.
    fn meta(&mut self) -> Option<&'static Encoding> {
        let (mut is_content_type, mut needs_content_type, mut found) = (false, false, None);
        let mut seen: Vec<Vec<u8>> = Vec::new();
        while let Some((name, value)) = self.attribute() {
            let name = name.to_ascii_lowercase();
            if seen.contains(&name) {
                continue;
            }
            match name.as_slice() {
                b"http-equiv" => is_content_type = value.eq_ignore_ascii_case(b"content-type"),
                b"content" if found.is_none() => {
                    found = charset_in(value).and_then(Encoding::for_label);
                    needs_content_type = found.is_some();
                }
                b"charset" => (found, needs_content_type) = (Encoding::for_label(value), false),
                _ => {}
            }
            seen.push(name);
        }
        found.filter(|_| is_content_type || !needs_content_type)
    }

    /// The next attribute of a tag: its name and value. `None` at the end of the tag, which is passed.
    fn attribute(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        self.skip(is_space_or_slash);
        if self.peek()? == b'>' {
            self.at += 1;
            return None;
        }
        // A name may begin with `=`.
        let start = self.at;
        self.at += 1;
        self.skip(|byte| !is_space_or_slash(byte) && !matches!(byte, b'=' | b'>'));
        let name = &self.bytes[start..self.at];
        self.skip(|byte| byte.is_ascii_whitespace());
        if self.peek() != Some(b'=') {
            return Some((name, b""));
        }
        self.at += 1;
        self.skip(|byte| byte.is_ascii_whitespace());
        let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\''));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        self.skip(|byte| quote.map_or(!byte.is_ascii_whitespace() && byte != b'>', |quote| byte != quote));
        let value = &self.bytes[start..self.at];
        self.at += usize::from(quote.is_some() && self.peek().is_some());
        Some((name, value))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, is_passed: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is_passed) {
            self.at += 1;
        }
    }
}

/// `utf-8` of `text/html; charset=utf-8`.
fn charset_in(value: &[u8]) -> Option<&[u8]> {
    let lower = value.to_ascii_lowercase();
    let mut from = 0;
    loop {
        let at = from + memchr::memmem::find(&lower[from..], b"charset")? + 7;
        let rest = value[at..].trim_ascii_start();
        let Some(rest) = rest.strip_prefix(b"=") else {
            from = at;
            continue;
        };
        let rest = rest.trim_ascii_start();
        return match rest.first()? {
            quote @ (b'"' | b'\'') => Some(&rest[1..1 + memchr::memchr(*quote, &rest[1..])?]),
            _ => {
                let end = rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b';');
                Some(&rest[..end.unwrap_or(rest.len())])
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_name_their_charset_in_many_ways() {
        for (page, expected) in [
            ("<meta charset=utf-8>", Some("UTF-8")),
            ("<!doctype html><html><head><META CHARSET = \"Shift_JIS\" />", Some("Shift_JIS")),
            ("<meta http-equiv='Content-Type' content='text/html; charset=gbk'>", Some("GBK")),
            ("<meta content='text/html; charset=\"big5\"' http-equiv=content-type>", Some("Big5")),
            ("<meta content='text/html; charset=gbk'>", None),
            ("<meta name=a content=charset><meta charset=koi8-r>", Some("KOI8-R")),
            ("<!-- <meta charset=gbk> --><meta charset=latin1>", Some("windows-1252")),
            ("<!--><meta charset=gbk>", Some("GBK")),
            ("<a title='<meta charset=gbk>'><meta charset=utf-16le>", Some("UTF-8")),
            ("</title x='>'><meta/charset=euc-kr>", Some("EUC-KR")),
            ("<meta charset=gbk charset=utf-8>", Some("GBK")),
            ("<?xml version='1.0' encoding='iso-8859-2'?>", Some("ISO-8859-2")),
            ("<meta charset=nonsense>", None),
            ("<metadata charset=gbk>", None),
            ("<meta charset='gbk", Some("GBK")),
            ("<", None),
            ("", None),
        ] {
            assert_eq!(charset(page.as_bytes()).map(Encoding::name), expected, "{page}");
        }
        let late = format!("{}<meta charset=gbk>", " ".repeat(1020));
        assert_eq!(charset(late.as_bytes()), None);
    }
}
