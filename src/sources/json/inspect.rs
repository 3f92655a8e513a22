//! A first look at a line, before it is parsed: the troubles that a fast parser skips over or overflows its stack on.
//!
//! It runs over the strings with `memchr`, so it costs little beside parsing. It finds escapes that are no
//! characters (the parser does not look at `\u` in values it skips), nesting that recursion could not follow, and
//! where a cut-off line ends. Because it always looks at the whole line, whether a line is rejected does not depend
//! on the columns that a query asks for.

use crate::sources::rejects::RejectKind;

/// Deeper nesting is refused: parsers recurse.
const MAX_DEPTH: usize = 256;

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

/// Looks at a whole line. `Ok` does not mean that it is JSON.
pub(crate) fn inspect(line: &[u8]) -> Result<(), LineError> {
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' => {
                at = skip_string(line, at + 1)?;
                continue;
            }
            b'{' | b'[' => {
                open.push(byte);
                if open.len() > MAX_DEPTH {
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
        None => Ok(()),
        Some(b'{') => Err(LineError::new(RejectKind::Truncated, "the line ends inside an object")),
        Some(_) => Err(LineError::new(RejectKind::Truncated, "the line ends inside an array")),
    }
}

/// The place after the string whose first character is at `start`.
fn skip_string(line: &[u8], start: usize) -> Result<usize, LineError> {
    let cut_off = || LineError::new(RejectKind::Truncated, "the line ends inside a string");
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
        None if line.len() < at + 6 => Err(LineError::new(RejectKind::Truncated, "the line ends inside a string")),
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
            assert_eq!(inspect(line.as_bytes()), Ok(()), "{line}");
        }
    }
}
