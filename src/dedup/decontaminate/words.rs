//! Words as NeMo Curator's decontamination sees them: lower case, without ASCII punctuation; with their places.
//!
//! Difference: words end at white space of any kind; NeMo's end at U+0020 only, so that a line break hides a match.

use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// A word and where it stands, from its first to its last character that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) hash: u64,
}

/// Appends the words of `text[range]`.
pub(super) fn words(text: &str, range: Range<usize>, out: &mut Vec<Word>) {
    let bytes = &text.as_bytes()[..range.end];
    let kind_at = |at: usize| bytes.get(at).map_or(Kind::Space, |byte| KINDS[*byte as usize]);
    let mut lower = Vec::with_capacity(64);
    let mut at = range.start;
    while at < bytes.len() {
        let start = at;
        while kind_at(at) == Kind::Plain {
            at += 1;
        }
        if kind_at(at) == Kind::Space {
            // Most words are in lower case and stand alone.
            if at > start {
                out.push(Word { start, end: at, hash: xxh3_64(&bytes[start..at]) });
            }
            at += 1;
        } else {
            at = folded_word(text, start..range.end, &mut lower, out);
        }
    }
}

/// Appends the word that `text[range]` begins with, if any of its characters counts, and says where it ends.
fn folded_word(text: &str, range: Range<usize>, lower: &mut Vec<u8>, out: &mut Vec<Word>) -> usize {
    lower.clear();
    let (mut start, mut end) = (range.start, range.start);
    let mut chars = text[range.clone()].char_indices();
    let after = chars.find_map(|(at, c)| {
        let kind = if c.is_ascii() { KINDS[c as usize] } else { Kind::Foreign };
        if kind == Kind::Space || (kind == Kind::Foreign && c.is_whitespace()) {
            return Some(range.start + at + c.len_utf8());
        }
        if kind == Kind::Punctuation {
            return None;
        }
        if lower.is_empty() {
            start = range.start + at;
        }
        end = range.start + at + c.len_utf8();
        if c.is_ascii() {
            lower.push(c.to_ascii_lowercase() as u8);
        } else {
            c.to_lowercase().for_each(|c| lower.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()));
        }
        None
    });
    if !lower.is_empty() {
        out.push(Word { start, end, hash: xxh3_64(lower) });
    }
    after.unwrap_or(range.end)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Punctuation,
    Upper,
    /// Counts as it is.
    Plain,
    /// Part of a character that is not ASCII.
    Foreign,
}

static KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Foreign; 256];
    let mut byte = 0;
    while byte < 128u8 {
        kinds[byte as usize] = match byte {
            b'\t'..=b'\r' | 0x1c..=0x1f | b' ' => Kind::Space,
            b'A'..=b'Z' => Kind::Upper,
            _ if byte.is_ascii_punctuation() => Kind::Punctuation,
            _ => Kind::Plain,
        };
        byte += 1;
    }
    kinds
};

/// The hashes of the first 1, 2, … words, at most so many: a polynomial, so that order counts.
pub(super) fn prefixes(words: &[Word], most: usize) -> impl Iterator<Item = u64> + '_ {
    words.iter().take(most).scan(0u64, |sum, word| {
        *sum = (*sum).wrapping_mul(0x1319_8a2e_0370_7345).wrapping_add(word.hash);
        Some(*sum)
    })
}

/// The hash of all words.
pub(super) fn hash_of(words: &[Word]) -> u64 {
    prefixes(words, words.len()).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_case_without_punctuation_and_know_their_places() {
        let cases: [(&str, &[(&str, &str)]); 6] = [
            ("", &[]),
            (" - !\n", &[]),
            ("a bc", &[("a", "a"), ("bc", "bc")]),
            ("(The  end.Next)", &[("The", "the"), ("end.Next", "endnext")]),
            ("ÉTÉ\u{a0}l'été\u{1c}x", &[("ÉTÉ", "été"), ("l'été", "lété"), ("x", "x")]),
            ("_snake_case_ é", &[("snake_case", "snakecase"), ("é", "é")]),
        ];
        for (text, wanted) in cases {
            let mut found = Vec::new();
            words(text, 0..text.len(), &mut found);
            let found: Vec<_> = found.iter().map(|word| (&text[word.start..word.end], word.hash)).collect();
            let wanted: Vec<_> = wanted.iter().map(|(place, word)| (*place, xxh3_64(word.as_bytes()))).collect();
            assert_eq!(found, wanted, "{text:?}");
        }
    }
}
