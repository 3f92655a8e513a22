//! The named fields at the head of a WARC record, and of the HTTP message in it.
//!
//! Both are lines `name: value` up to an empty line; one that begins with white space goes on with the line before it. Lines end
//! with CRLF; those that end with a line feed alone are read, too.

use std::borrow::Cow;

/// Where the empty line behind the fields ends.
pub(super) fn head_end(bytes: &[u8]) -> Option<usize> {
    let mut line_start = 0;
    for line_end in memchr::memchr_iter(b'\n', bytes) {
        if matches!(&bytes[line_start..line_end], b"" | b"\r") && line_start > 0 {
            return Some(line_end + 1);
        }
        line_start = line_end + 1;
    }
    None
}

/// The first line of a head, and its fields.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub first_line: &'a [u8],
    fields: &'a [u8],
}

impl<'a> Head<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        Self { first_line: bytes[..end].trim_ascii_end(), fields: &bytes[end..] }
    }

    /// The value of the first field of this name, whatever its case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields().find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    /// The same as text; one that is not UTF-8 is read as Latin-1.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.field(name).filter(|value| !value.is_empty()).map(text)
    }

    /// Whether each line is a field, or goes on with one.
    pub fn is_well_formed(&self) -> bool {
        self.fields().all(|(name, _)| !name.is_empty())
    }

    fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut rest = self.fields;
        std::iter::from_fn(move || {
            let line = next_field(&mut rest)?;
            Some(match memchr::memchr(b':', line) {
                Some(colon) => (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()),
                None => (&[][..], line),
            })
        })
    }
}

/// The next field with the lines that it goes on in.
fn next_field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let bytes = *rest;
    let line_end = |from: usize| memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at + 1);
    let mut end = line_end(0);
    if bytes[..end].trim_ascii().is_empty() {
        return None;
    }
    while matches!(bytes.get(end), Some(b' ' | b'\t')) {
        end = line_end(end);
    }
    *rest = &bytes[end..];
    Some(bytes[..end].trim_ascii_end())
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// The type of a `Content-Type`, in lower case, without its parameters.
pub(super) fn mime_of(content_type: &str) -> Option<String> {
    let mime = content_type.split([';', ',']).next().unwrap_or_default().trim();
    (!mime.is_empty()).then(|| mime.to_ascii_lowercase())
}

/// The `charset` of a `Content-Type`.
pub(super) fn charset_of(content_type: &str) -> Option<&str> {
    let value = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    let value = value.trim().trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_in_any_case_and_over_several_lines() {
        let bytes =
            b"HTTP/1.1 200 OK\r\ncontent-TYPE: text/html;\r\n charset=\"UTF-8\"\r\nX:\nCafe: caf\xe9\r\n\r\nbody";
        let end = head_end(bytes).unwrap();
        assert_eq!(&bytes[end..], b"body");
        let head = Head::of(&bytes[..end]);
        assert_eq!(head.first_line, b"HTTP/1.1 200 OK");
        let content_type = head.text("Content-Type").unwrap();
        assert_eq!((mime_of(&content_type).unwrap().as_str(), charset_of(&content_type)), ("text/html", Some("UTF-8")));
        assert_eq!((head.text("x"), head.text("y")), (None, None));
        assert_eq!(head.text("cafe").unwrap(), "café");
        assert!(head.is_well_formed() && !Head::of(b"WARC/1.0\r\nno field\r\n").is_well_formed());
        assert_eq!(head_end(b"HTTP/1.1 200 OK\n\nx"), Some(17));
        assert_eq!(head_end(b"\r\nHTTP/1.1 200 OK\r\n"), None, "an empty first line ends nothing");
    }

    #[test]
    fn odd_content_types_have_what_they_have() {
        for (given, mime, charset) in [
            ("Text/HTML ; Charset = 'x-sjis' ", Some("text/html"), Some("x-sjis")),
            ("text/html, text/plain", Some("text/html"), None),
            ("; charset=", None, None),
            ("text/html; a=b; charset=utf-8; charset=latin1", Some("text/html"), Some("utf-8")),
        ] {
            assert_eq!((mime_of(given).as_deref(), charset_of(given)), (mime, charset), "{given}");
        }
    }
}
