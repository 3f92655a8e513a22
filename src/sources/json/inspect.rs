//! A first look at a line, before it is parsed: the troubles that a fast parser skips over or overflows its stack on.
//!
//! It runs over the strings with `memchr`, so it costs little beside parsing. Most lines have no `\u`; in those only
//! quotes are looked for, not every escape. It finds escapes that are no
//! characters (the parser does not look at `\u` in values it skips), nesting that recursion could not follow, and
//! where a cut-off line ends. Because it always looks at the whole line, whether a line is rejected does not depend
//! on the columns that a query asks for.

use crate::sources::rejects::RejectKind;
use memchr::memmem;
use std::sync::LazyLock;

/// Deeper nesting is refused: parsers recurse.
pub(crate) const MAX_DEPTH: usize = 256;

/// Why a line is no row.
#[derive(Debug, PartialEq)]
pub(crate) struct LineError {
    pub kind: RejectKind,
    pub reason: String,
}

impl LineError {
    pub fn new(kind: RejectKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}

static UNICODE_ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\\u"));

/// Looks at a whole line and tells how deep it is nested. `Ok` does not mean that it is JSON.
pub(crate) fn inspect(line: &[u8]) -> Result<usize, LineError> {
    let skip_string = if UNICODE_ESCAPE.find(line).is_some() { skip_checked_string } else { skip_string };
    let mut open: Vec<u8> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' => {
                at = skip_string(line, at + 1)?;
                continue;
            }
            b'{' | b'[' => {
                open.push(byte);
                depth = depth.max(open.len());
                if depth > MAX_DEPTH {
                    let reason = format!("nested more than {MAX_DEPTH} levels deep");
                    return Err(LineError::new(RejectKind::TooLarge, reason));
                }
            }
            b'}' | b']' => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    match open.last() {
        None => Ok(depth),
        Some(b'{') => Err(LineError::new(RejectKind::Truncated, "the line ends inside an object")),
        Some(_) => Err(LineError::new(RejectKind::Truncated, "the line ends inside an array")),
    }
}

fn cut_off() -> LineError {
    LineError::new(RejectKind::Truncated, "the line ends inside a string")
}

/// The place after the string whose first character is at `start`, in a line without `\u`.
fn skip_string(line: &[u8], start: usize) -> Result<usize, LineError> {
    let mut at = start;
    loop {
        let quote = at + memchr::memchr(b'"', &line[at..]).ok_or_else(cut_off)?;
        let n_backslashes = line[start..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        at = quote + 1;
        // An even number of them are backslashes themselves; an odd number takes the quote away.
        if n_backslashes % 2 == 0 {
            return Ok(at);
        }
    }
}

/// The same in any line: escapes that are no characters are errors.
fn skip_checked_string(line: &[u8], start: usize) -> Result<usize, LineError> {
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', &line[at..]).ok_or_else(cut_off)?;
        if line[at] == b'"' {
            return Ok(at + 1);
        }
        match line.get(at + 1) {
            None => return Err(cut_off()),
            Some(b'u') => at += check_unicode_escape(line, at)?,
            Some(_) => at += 2,
        }
    }
}

/// The length of the `\uXXXX` (or surrogate pair) at `at`.
fn check_unicode_escape(line: &[u8], at: usize) -> Result<usize, LineError> {
    match unicode_escape(&line[at..]) {
        Some((_, n_bytes)) => Ok(n_bytes),
        None if line.len() < at + 6 => Err(cut_off()),
        None => {
            let shown = String::from_utf8_lossy(&line[at..(at + 6).min(line.len())]).into_owned();
            let reason = match hex4(&line[at + 2..]) {
                Some(_) => format!("`{shown}` at byte {} is half of a surrogate pair, not a character", at + 1),
                None => format!("`{shown}` at byte {} is not an escape", at + 1),
            };
            Err(LineError::new(RejectKind::InvalidText, reason))
        }
    }
}

/// The character that a text beginning with `\u` encodes, and the length of its escape.
pub(crate) fn unicode_escape(text: &[u8]) -> Option<(char, usize)> {
    let first = hex4(text.get(2..)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 6));
    }
    let rest = text.get(6..).filter(|rest| rest.starts_with(b"\\u"))?;
    let second = hex4(&rest[2..])?;
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|character| (character, 12))
}

fn hex4(text: &[u8]) -> Option<u32> {
    let digits = text.get(..4)?;
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_wrong_with_a_line() {
        let deep = "[".repeat(MAX_DEPTH + 1);
        for (line, kind) in [
            (r#"{"a":"\ud800"}"#, RejectKind::InvalidText),
            (r#"{"a":"\udc00\ud800"}"#, RejectKind::InvalidText),
            (r#"{"a":"\ud800x"}"#, RejectKind::InvalidText),
            (r#"{"a":"\uzzzz"}"#, RejectKind::InvalidText),
            (r#"{"a":"\u12"}"#, RejectKind::InvalidText),
            (r#"{"a":"\u00"#, RejectKind::Truncated),
            (r#"{"a":"x\"#, RejectKind::Truncated),
            (r#"{"a":"x"#, RejectKind::Truncated),
            (r#"{"a":[1,"#, RejectKind::Truncated),
            (deep.as_str(), RejectKind::TooLarge),
        ] {
            assert_eq!(inspect(line.as_bytes()).unwrap_err().kind, kind, "{line}");
        }
        for line in [r#"{"a":"\\ud800 \ud83d\ude00 \u00e9 [[{"}"#, "", "17", r#"{"a":"\\"}"#] {
            assert!(inspect(line.as_bytes()).is_ok(), "{line}");
        }
    }
    #[test]
    fn strings_end_alike_in_lines_with_and_without_unicode_escapes() {
        for line in [r#"{"a":"\\\"[[","b":[""]}"#, r#"{"a":"\\"}"#, r#"["\\\\",[["\"[[["]]]"#, r#"{"a":"x\\\"}"#] {
            let outcome = |line: String| inspect(line.as_bytes()).map_err(|error| error.kind);
            let with = line.replacen(':', r#":"\u0041","#, 1).replacen('[', r#"["\u0041","#, 1);
            assert_eq!(outcome(line.to_string()), outcome(with.clone()), "{line} {with}");
        }
        assert_eq!(inspect(br#"["\\\\",[["\"[[["]]]"#), Ok(3));
    }
}
