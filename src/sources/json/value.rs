//! JSON values as they stand in the text: what kind they are, and the parts of objects and arrays.
//!
//! Values are slices of the line, checked by the parser before; nothing is decoded that no column asks for.

use super::inspect::{LineError, inspect};
use crate::sources::rejects::RejectKind;
use std::borrow::Cow;

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

/// What is no number in JSON and has a name instead, as our writer, Spark and Protocol Buffers spell it.
pub(crate) fn named_float(raw: &str) -> Option<f64> {
    match raw {
        "\"NaN\"" => Some(f64::NAN),
        "\"Infinity\"" => Some(f64::INFINITY),
        "\"-Infinity\"" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The parser recurses, with large frames in unoptimized builds; deeper values are parsed on a stack of their own.
const MAX_DEPTH_IN_PLACE: usize = 16;
const DEEP_STACK_BYTES: usize = 64 << 20;

/// Calls `visit` with each key and value text of an object, in order.
pub(crate) fn for_each_field<'a>(object: &'a str, visit: impl FnMut(Cow<'a, str>, &'a str)) -> Result<(), LineError> {
    for_each_field_to_depth(object, inspect(object.as_bytes())?, visit)
}

fn for_each_field_to_depth<'a>(
    object: &'a str,
    depth: usize,
    mut visit: impl FnMut(Cow<'a, str>, &'a str),
) -> Result<(), LineError> {
    if depth > MAX_DEPTH_IN_PLACE {
        let fields = on_deep_stack(|| fields_of(object).collect::<Result<Vec<_>, _>>())?;
        fields.into_iter().for_each(|(name, value)| visit(name, value));
        return Ok(());
    }
    for field in fields_of(object) {
        let (name, value) = field?;
        visit(name, value);
    }
    Ok(())
}

fn fields_of(object: &str) -> impl Iterator<Item = Result<(Cow<'_, str>, &str), LineError>> {
    sonic_rs::to_object_iter(object).map(move |entry| match entry {
        Ok((name, value)) => Ok((name, slice_of(object, value.as_raw_str()))),
        Err(error) => Err(syntax_error(object, &error)),
    })
}

/// Calls `visit` with each item's text of an array; stops early when it says `false`.
pub(crate) fn for_each_item<'a>(array: &'a str, mut visit: impl FnMut(&'a str) -> bool) -> Result<(), LineError> {
    if inspect(array.as_bytes())? > MAX_DEPTH_IN_PLACE {
        let items = on_deep_stack(|| items_of(array).collect::<Result<Vec<_>, _>>())?;
        items.into_iter().all(visit);
        return Ok(());
    }
    for item in items_of(array) {
        if !visit(item?) {
            break;
        }
    }
    Ok(())
}

fn items_of(array: &str) -> impl Iterator<Item = Result<&str, LineError>> {
    sonic_rs::to_array_iter(array).map(move |item| match item {
        Ok(value) => Ok(slice_of(array, value.as_raw_str())),
        Err(error) => Err(syntax_error(array, &error)),
    })
}

fn on_deep_stack<T: Send>(parse: impl FnOnce() -> Result<T, LineError> + Send) -> Result<T, LineError> {
    let failed = || LineError::new(RejectKind::TooLarge, "nested too deep to be parsed here");
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(DEEP_STACK_BYTES).spawn_scoped(scope, parse);
        thread.map_err(|_| failed())?.join().unwrap_or_else(|_| Err(failed()))
    })
}

/// The same text with the lifetime of the whole that it lies in (an empty text if it lies elsewhere).
fn slice_of<'a>(whole: &'a str, part: &str) -> &'a str {
    let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    whole.get(start..start.wrapping_add(part.len())).unwrap_or_default()
}

/// Checks a line and calls `visit` with its fields. When it fails, the fields visited so far must be forgotten.
pub(crate) fn for_each_field_of_line<'a>(
    line: &'a str,
    mut visit: impl FnMut(Cow<'a, str>, &'a str),
) -> Result<(), LineError> {
    let line = line.trim_matches([' ', '\t', '\r']);
    let depth = inspect(line.as_bytes())?;
    if !line.starts_with('{') {
        return Err(not_an_object(line));
    }
    // The parser stops at the end of the object; what follows must be nothing.
    let mut n_parsed = 1;
    for_each_field_to_depth(line, depth, |key, value| {
        n_parsed = value.as_ptr() as usize - line.as_ptr() as usize + value.len();
        visit(key, value);
    })?;
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

fn syntax_error(line: &str, error: &sonic_rs::Error) -> LineError {
    // The parser's text has the reason in its first line, then an excerpt that the reject holds anyway.
    let text = error.to_string();
    let what = text.lines().next().unwrap_or("not JSON").trim_end_matches(&[' ', ':'][..]);
    let what = what.split(" at line ").next().unwrap_or(what);
    let at = error.offset().min(line.len());
    let reason = format!("invalid JSON at byte {}: {}", at + 1, what.trim_end_matches('.'));
    LineError::new(RejectKind::InvalidJson, reason)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
