//! JSON values as they stand in the text: what kind, and the content of strings.
//!
//! Values are slices of the line, checked by the parser before; nothing is decoded that no column asks for.

use super::inspect::{LineError, inspect, unicode_escape};
use crate::sources::rejects::RejectKind;

/// What a value is, told from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Object,
    Array,
}

/// The kind of a value's text.
pub(crate) fn kind(raw: &str) -> Kind {
    match raw.as_bytes().first() {
        Some(b'"') => Kind::String,
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') | None => Kind::Null,
        Some(_) => Kind::Number,
    }
}

/// Calls `visit` with each key and value text of an object, in order.
pub(crate) fn for_each_field<'a>(
    object: &'a str,
    mut visit: impl FnMut(std::borrow::Cow<'a, str>, &'a str),
) -> sonic_rs::Result<()> {
    for entry in sonic_rs::to_object_iter(object) {
        let (key, value) = entry?;
        visit(key, slice_of(object, value.as_raw_str()));
    }
    Ok(())
}

/// Calls `visit` with each item's text of an array; stops early when it says `false`.
pub(crate) fn for_each_item<'a>(array: &'a str, mut visit: impl FnMut(&'a str) -> bool) -> sonic_rs::Result<()> {
    for item in sonic_rs::to_array_iter(array) {
        if !visit(slice_of(array, item?.as_raw_str())) {
            break;
        }
    }
    Ok(())
}

/// The same text with the lifetime of the whole that it lies in (an empty text if it lies elsewhere).
fn slice_of<'a>(whole: &'a str, part: &str) -> &'a str {
    let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    whole.get(start..start.wrapping_add(part.len())).unwrap_or_default()
}

/// Checks a line and calls `visit` with its fields. When it fails, the fields visited so far must be forgotten.
pub(crate) fn for_each_field_of_line<'a>(
    line: &'a str,
    mut visit: impl FnMut(std::borrow::Cow<'a, str>, &'a str),
) -> Result<(), LineError> {
    let line = line.trim_matches([' ', '\t', '\r']);
    inspect(line.as_bytes())?;
    if !line.starts_with('{') {
        return Err(not_an_object(line));
    }
    // The parser stops at the end of the object; what follows must be nothing.
    let mut n_parsed = 1;
    for_each_field(line, |key, value| {
        n_parsed = value.as_ptr() as usize - line.as_ptr() as usize + value.len();
        visit(key, value);
    })
    .map_err(|error| LineError::new(RejectKind::InvalidJson, syntax_message(line, &error)))?;
    match line[n_parsed..].trim_start().strip_prefix('}') {
        Some("") => Ok(()),
        _ => Err(LineError::new(RejectKind::InvalidJson, "there is more on the line after the JSON object")),
    }
}

fn not_an_object(line: &str) -> LineError {
    let what = match line.as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ if matches!(line, "true" | "false") => "a boolean",
        _ if line == "null" => "null",
        _ => return LineError::new(RejectKind::InvalidJson, "not JSON: a line begins with `{`"),
    };
    LineError::new(RejectKind::NotAnObject, format!("the line is {what}, not a JSON object"))
}

fn syntax_message(line: &str, error: &sonic_rs::Error) -> String {
    // The parser's text has the reason in its first line, then an excerpt that the reject holds anyway.
    let text = error.to_string();
    let what = text.lines().next().unwrap_or("not JSON").trim_end_matches(&[' ', ':'][..]);
    let what = what.split(" at line ").next().unwrap_or(what);
    let at = error.offset().min(line.len());
    format!("invalid JSON at byte {}: {}", at + 1, what.trim_end_matches('.'))
}

/// The content of a string value: without quotes, escapes resolved. Text without escapes is not copied.
pub(crate) fn string_content<'a>(raw: &'a str, scratch: &'a mut String) -> &'a str {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else { return inner };
    scratch.clear();
    scratch.reserve(inner.len());
    let mut rest = inner;
    let mut next = Some(first);
    while let Some(at) = next {
        scratch.push_str(&rest[..at]);
        let escape = &rest.as_bytes()[at..];
        let (character, n_bytes) = match escape.get(1) {
            Some(b'n') => ('\n', 2),
            Some(b't') => ('\t', 2),
            Some(b'r') => ('\r', 2),
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            // `inspect` refused every line with an escape that is no character.
            Some(b'u') => unicode_escape(escape).unwrap_or((char::REPLACEMENT_CHARACTER, 6)),
            Some(other) => (char::from(*other), 2),
            None => break,
        };
        scratch.push(character);
        rest = rest.get(at + n_bytes..).unwrap_or_default();
        next = memchr::memchr(b'\\', rest.as_bytes());
    }
    scratch.push_str(rest);
    scratch
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn strings_lose_their_escapes_and_nothing_else() {
        let mut scratch = String::new();
        for (raw, content) in [
            (r#""plain""#, "plain"),
            (r#""""#, ""),
            (r#""a\n\t\"\\\/\u00e9\ud83d\ude00z""#, "a\n\t\"\\/é😀z"),
            (r#""\\""#, "\\"),
        ] {
            assert_eq!(string_content(raw, &mut scratch), content);
        }
    }

    #[test]
    fn lines_that_are_no_objects_say_why() {
        for (line, kind, part) in [
            ("[1]", RejectKind::NotAnObject, "an array"),
            ("17", RejectKind::NotAnObject, "a number"),
            ("null", RejectKind::NotAnObject, "null"),
            ("hello", RejectKind::InvalidJson, "not JSON"),
            (r#"{"a":1} x"#, RejectKind::InvalidJson, "more on the line"),
            (r#"{"a":1}{"b":2}"#, RejectKind::InvalidJson, "more on the line"),
            ("{}}", RejectKind::InvalidJson, "more on the line"),
            (r#"{"a":1,}"#, RejectKind::InvalidJson, "byte"),
            (r#"{"a":01}"#, RejectKind::InvalidJson, "byte"),
            (r#"{"a":tru}"#, RejectKind::InvalidJson, "byte"),
            (r#"{"a" 1}"#, RejectKind::InvalidJson, "byte"),
            (r#"{"a":{"b":}}"#, RejectKind::InvalidJson, "byte"),
            ("{\"a\":\"x\ty\"}", RejectKind::InvalidJson, "byte"),
        ] {
            let error = for_each_field_of_line(line, |_, _| {}).unwrap_err();
            assert_eq!(error.kind, kind, "{line}: {}", error.reason);
            assert!(error.reason.contains(part), "{line}: {}", error.reason);
        }
        for line in ["{}", " { } ", r#"{"a":{}, "b":[]} "#] {
            assert_eq!(for_each_field_of_line(line, |_, _| {}), Ok(()), "{line}");
        }
    }
}
