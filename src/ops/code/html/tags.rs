//! Where a tag begins and ends: the tolerant rules of Python's `html.parser` for start tags.
//!
//! Invariant: the same bytes belong to a tag as in Python 3.11.7, whose regular expressions these functions walk without
//! backtracking. White space is Python's, not only HTML's.

use crate::ops::scan;

/// A start tag that was read.
pub(super) enum StartTag {
    /// It is not complete; more of the document would be needed.
    Incomplete,
    /// It ends before `end`, but is no tag: all of it is text.
    Text { end: usize },
    /// `<name …>` or, if `is_closed`, `<name …/>`.
    Tag { name: String, end: usize, is_closed: bool },
}

/// Reads the start tag at `start`, where `<` and a letter are. `can_end` says whether a `>` follows.
pub(super) fn start_tag(text: &str, start: usize, can_end: bool) -> StartTag {
    let name_end = name_end(text, start + 1);
    if !can_end {
        // Without a `>` a tag is not complete, except that a zero byte ends it. Looking no further keeps us linear.
        let ends = text.as_bytes().get(name_end) == Some(&0);
        return if ends { StartTag::Text { end: name_end } } else { StartTag::Incomplete };
    }
    let Some(end) = whole_tag(text, start, name_end) else { return StartTag::Incomplete };
    let mut at = skip_gap(text, name_end);
    while at < end {
        match attribute(text, at, false) {
            Some(next) => at = skip_gap(text, next),
            None => break,
        }
    }
    let rest = text.get(at..end).unwrap_or_default().trim_matches(scan::is_space);
    if rest != ">" && rest != "/>" {
        return StartTag::Text { end };
    }
    StartTag::Tag { name: lower(&text[start + 1..name_end]), end, is_closed: rest == "/>" }
}

/// The name of an end tag whose name begins at `start`, and where the white space and slashes after it end.
pub(super) fn loose_name(text: &str, start: usize) -> Option<(String, usize)> {
    text.as_bytes().get(start).filter(|byte| byte.is_ascii_alphabetic())?;
    let end = name_end(text, start);
    Some((lower(&text[start..end]), skip_gap(text, end)))
}

/// `</name>` at `start`, with nothing but white space around the name: the name and the end.
pub(super) fn plain_end_tag(text: &str, start: usize) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    let name = skip_space(text, start + 2);
    bytes.get(name).filter(|byte| byte.is_ascii_alphabetic())?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'_');
    let end = name + bytes[name..].iter().take_while(|byte| is_name(byte)).count();
    let close = skip_space(text, end);
    (bytes.get(close) == Some(&b'>')).then(|| (lower(&text[name..end]), close + 1))
}

fn lower(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_lowercase() }
}

fn name_end(text: &str, start: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c' | b' ' | b'/' | b'>' | 0);
    text.as_bytes()[start..].iter().position(ends).map_or(text.len(), |length| start + length)
}

/// Where a whole start tag ends; `None` if it does not.
fn whole_tag(text: &str, start: usize, name_end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = name_end;
    while let Some(length) = space_at(text, at).or((bytes.get(at) == Some(&b'/')).then_some(1)) {
        at += length;
    }
    while let Some(next) = attribute(text, at, true) {
        at = skip_gap(text, next);
    }
    at = skip_space(text, at);
    match bytes.get(at)? {
        b'>' => Some(at + 1),
        b'/' if bytes.get(at + 1) == Some(&b'>') => Some(at + 2),
        b'/' | b'=' => None,
        byte if byte.is_ascii_alphabetic() => None,
        _ => Some(at.max(start + 1)),
    }
}

/// The end of the attribute at `at`, with its value. It must follow a quote, a slash or white space.
fn attribute(text: &str, at: usize, with_space: bool) -> Option<usize> {
    let before = text[..at].chars().next_back()?;
    if !matches!(before, '\'' | '"' | '/') && !scan::is_space(before) {
        return None;
    }
    let mut chars = text[at..].char_indices();
    let (_, first) = chars.next()?;
    if scan::is_space(first) || matches!(first, '/' | '>') {
        return None;
    }
    let ends = |c: char| scan::is_space(c) || matches!(c, '/' | '=' | '>');
    let end = chars.find(|&(_, c)| ends(c)).map_or(text.len(), |(length, _)| at + length);
    match value(text, end) {
        Some(after) if with_space => Some(skip_space(text, after)),
        Some(after) => Some(after),
        None => Some(end),
    }
}

/// The end of `= value` after an attribute's name, if there is one.
fn value(text: &str, name_end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let equals = skip_space(text, name_end);
    let n_equals = bytes[equals..].iter().take_while(|byte| **byte == b'=').count();
    if n_equals == 0 {
        return None;
    }
    let after_equals = equals + n_equals;
    let start = skip_space(text, after_equals);
    if let Some(&quote @ (b'\'' | b'"')) = bytes.get(start) {
        if let Some(length) = memchr::memchr(quote, &bytes[start + 1..]) {
            return Some(start + length + 2);
        }
        // The quote never ends: the value is what it would be if the last white space or `=` belonged to it.
        if start > after_equals {
            let last = text[..start].chars().next_back().map_or(1, char::len_utf8);
            return Some(bare_value(text, start - last));
        }
        return (n_equals > 1).then(|| bare_value(text, after_equals - 1));
    }
    Some(bare_value(text, start))
}

fn bare_value(text: &str, start: usize) -> usize {
    let ends = |c: char| c == '>' || scan::is_space(c);
    text[start..].find(ends).map_or(text.len(), |length| start + length)
}

/// The bytes of the white space character at `at`.
fn space_at(text: &str, at: usize) -> Option<usize> {
    let c = text[at..].chars().next()?;
    scan::is_space(c).then(|| c.len_utf8())
}

pub(super) fn skip_space(text: &str, mut at: usize) -> usize {
    while let Some(length) = space_at(text, at) {
        at += length;
    }
    at
}

/// Passes white space and slashes, but not the slash of `/>`.
fn skip_gap(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        at = skip_space(text, at);
        if bytes.get(at) != Some(&b'/') || bytes.get(at + 1) == Some(&b'>') {
            return at;
        }
        at += 1;
    }
}
