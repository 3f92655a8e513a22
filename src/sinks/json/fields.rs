//! The fields of a JSON line, by their places in its text.
//!
//! The line was checked when it was read, so here its parts are only told apart, without recursion and without decoding.
//! What is no object after all gives `None`, never a wrong cut.

use std::borrow::Cow;
use std::ops::Range;

/// A line, taken apart.
pub(super) struct LineFields<'a> {
    line: &'a str,
    /// The place after the opening brace.
    pub open: usize,
    pub fields: Vec<Field<'a>>,
}

/// One field of a line.
pub(super) struct Field<'a> {
    /// Without quotes and escapes.
    pub name: Cow<'a, str>,
    /// The name with its quotes.
    pub key: Range<usize>,
    pub value: Range<usize>,
    /// Where the field before it ends, or the place after the opening brace.
    pub lead: usize,
}

impl<'a> LineFields<'a> {
    pub fn of(line: &'a str) -> Option<Self> {
        let bytes = line.as_bytes();
        let brace = skip_space(bytes, 0);
        if bytes.get(brace) != Some(&b'{') {
            return None;
        }
        let mut fields = Vec::new();
        let mut lead = brace + 1;
        let mut at = skip_space(bytes, lead);
        while bytes.get(at) == Some(&b'"') {
            let key = at..skip_string(bytes, at)?;
            let colon = skip_space(bytes, key.end);
            if bytes.get(colon) != Some(&b':') {
                return None;
            }
            let start = skip_space(bytes, colon + 1);
            let value = start..skip_value(bytes, start)?;
            fields.push(Field { name: content(line.get(key.clone())?)?, key, value: value.clone(), lead });
            lead = value.end;
            at = skip_space(bytes, lead);
            if bytes.get(at) == Some(&b',') {
                at = skip_space(bytes, at + 1);
            }
        }
        (bytes.get(at) == Some(&b'}')).then_some(Self { line, open: brace + 1, fields })
    }

    /// The text between two places.
    pub fn text(&self, range: Range<usize>) -> &'a str {
        self.line.get(range).unwrap_or_default()
    }

    /// The closing brace, and what stands around it.
    pub fn tail(&self) -> &'a str {
        let end = self.fields.last().map_or(self.open, |field| field.value.end);
        self.text(end..self.line.len())
    }

    /// The last field of a name, which is the one that counts.
    pub fn find(&self, name: &str) -> Option<&Field<'a>> {
        self.fields.iter().rev().find(|field| field.name == name)
    }
}

/// The content of a string, which may be written with escapes.
pub(super) fn content(quoted: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'\\', quoted.as_bytes()).is_some() {
        return serde_json::from_str(quoted).ok().map(Cow::Owned);
    }
    quoted.get(1..quoted.len().checked_sub(1)?).map(Cow::Borrowed)
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// The place after the string whose opening quote is at `start`.
fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        let quote = at + memchr::memchr(b'"', bytes.get(at..)?)?;
        let n_backslashes = bytes[start + 1..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        at = quote + 1;
        // An odd number of backslashes makes the quote part of the text.
        if n_backslashes % 2 == 0 {
            return Some(at);
        }
    }
}

/// The place after the value that begins at `start`.
fn skip_value(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => at = skip_string(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => {
                let rest = bytes.get(at..)?;
                let n_bytes =
                    rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
                at = (n_bytes > 0).then_some(at + n_bytes)?;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parts(line: &str) -> Option<Vec<(String, &str)>> {
        let fields = LineFields::of(line)?;
        Some(fields.fields.iter().map(|field| (field.name.to_string(), fields.text(field.value.clone()))).collect())
    }

    #[test]
    fn every_field_is_found_with_its_text() {
        let line = r#" { "a" : 1e2 , "b\u0062":"x\\\"}" ,"":[{"c":"]"},[]],"d":{"e":{}},"a":-0,"n":null}  "#;
        let expected = [
            ("a", "1e2"),
            ("bb", r#""x\\\"}""#),
            ("", r#"[{"c":"]"},[]]"#),
            ("d", r#"{"e":{}}"#),
            ("a", "-0"),
            ("n", "null"),
        ];
        assert_eq!(parts(line).unwrap(), expected.map(|(name, text)| (name.to_string(), text)));
        assert_eq!(LineFields::of(line).unwrap().tail(), "}  ");
        assert_eq!(LineFields::of(line).unwrap().find("a").map(|field| field.value.len()), Some(2));
        assert_eq!(parts("{ }").unwrap(), []);
    }

    #[test]
    fn what_is_no_object_is_not_cut() {
        for line in ["", "[1]", "7", "{", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1"#, r#"{"a":"x"#, r#"{"a":[1}"#, r#"{a:1}"#]
        {
            assert!(parts(line).is_none(), "{line}");
        }
    }
}
