//! Tokens of a text: runs of letters and digits, and every other character that is not white space.

use super::finder::is_space;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The tokens in order.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + end_of(text.get(at..)?, is_space);
        let rest = text.get(start..)?;
        at = start
            + match end_of(rest, char::is_alphanumeric) {
                0 => rest.chars().next()?.len_utf8(),
                run_bytes => run_bytes,
            };
        Some(start..at)
    })
}

/// The length of the characters at the beginning that are of this kind.
#[inline]
fn end_of(text: &str, is_of_kind: impl Fn(char) -> bool) -> usize {
    let is_other = |byte: &u8| !byte.is_ascii() || !is_of_kind(char::from(*byte));
    match text.bytes().position(|byte| is_other(&byte)) {
        None => text.len(),
        Some(at) if text.as_bytes()[at].is_ascii() => at,
        Some(at) => at + text[at..].find(|c: char| !is_of_kind(c)).unwrap_or(text.len() - at),
    }
}

/// A hash of 8 bytes for each token, one after the other.
pub(super) fn token_hashes(text: &str) -> Vec<u8> {
    let mut hashes = Vec::with_capacity(text.len() * 2);
    for token in tokens(text) {
        hashes.extend(xxh3_64(text.get(token).unwrap_or_default().as_bytes()).to_le_bytes());
    }
    hashes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_and_single_marks_are_tokens() {
        let text = " Don't  stop_2x!… 你好。";
        let found: Vec<&str> = tokens(text).map(|token| &text[token]).collect();
        assert_eq!(found, ["Don", "'", "t", "stop", "_", "2x", "!", "…", "你好", "。"]);
        assert_eq!(tokens("  ").count(), 0);
        assert_eq!(token_hashes(text).len(), 80);
    }
}
