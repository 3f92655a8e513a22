//! Web addresses.
//!
//! `http://`, `https://` or `ftp://` in any case and a host, or `www.` and a host with a full stop in it; then
//! everything up to white space, a quotation mark, `<>{}|\^` or a full-width mark. Marks at the end (`.,;:!?'*_~`) and
//! a closing bracket that the address did not open belong to the sentence.

use super::walk::{char_at, char_before, is_word};
use crate::ops::scan;

const MAX_HOST_BYTES: usize = 300;

/// The address whose `:` after the scheme is at `colon`.
pub(super) fn with_scheme(text: &str, colon: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    bytes[colon..].starts_with(b"://").then_some(())?;
    let before = &bytes[..colon];
    let is_scheme = |scheme: &&str| {
        before.len() >= scheme.len() && before[before.len() - scheme.len()..].eq_ignore_ascii_case(scheme.as_bytes())
    };
    let start = colon - ["https", "http", "ftp"].iter().find(|scheme| is_scheme(scheme))?.len();
    let host = colon + "://".len();
    let begins_well = char_at(text, host).is_some_and(|c| c.is_alphanumeric() || c == '[');
    (begins_well && !is_word(char_before(text, start))).then(|| (start, address_end(text, host)))
}

/// The address whose `www` ends at `dot`.
pub(super) fn with_www(text: &str, dot: usize) -> Option<(usize, usize)> {
    let start = dot.checked_sub("www".len())?;
    text.as_bytes()[start..dot].eq_ignore_ascii_case(b"www").then_some(())?;
    let host = text.get(dot + 1..)?;
    let host_end =
        host.char_indices().find(|(at, c)| !(c.is_alphanumeric() || "-.".contains(*c)) || *at > MAX_HOST_BYTES);
    let host = &host[..host_end.map_or(host.len(), |(at, _)| at)];
    let (name, top) = host.trim_end_matches('.').rsplit_once('.')?;
    let is_host = is_word(char_at(name, 0)) && top.chars().count() >= 2 && top.chars().all(char::is_alphabetic);
    let before = char_before(text, start);
    (is_host && !is_word(before) && before != Some('.')).then(|| (start, address_end(text, dot + 1)))
}

fn address_end(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let mut address = &rest[..rest.find(ends_address).unwrap_or(rest.len())];
    let count = |address: &str, bracket: u8| memchr::memchr_iter(bracket, address.as_bytes()).count();
    let mut unopened = [(b'(', b')'), (b'[', b']')]
        .map(|(open, close)| (close, count(address, close).saturating_sub(count(address, open))));
    while let Some(&last) = address.as_bytes().last() {
        let bracket = unopened.iter_mut().find(|(close, n)| *close == last && *n > 0);
        if bracket.is_none() && !b".,;:!?'*_~".contains(&last) {
            break;
        }
        if let Some((_, n)) = bracket {
            *n -= 1;
        }
        address = &address[..address.len() - 1];
    }
    from + address.len()
}

fn ends_address(c: char) -> bool {
    match c {
        '<' | '>' | '"' | '`' | '{' | '}' | '|' | '\\' | '^' => true,
        _ if c.is_ascii() => c.is_ascii_whitespace() || c.is_ascii_control(),
        '«' | '»' | '\u{2018}'..='\u{201f}' | '…' | '‹' | '›' => true,
        // Punctuation of East Asia and full-width forms of ASCII punctuation.
        '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' => true,
        _ => scan::is_space(c),
    }
}
