//! Looking for ASCII phrases in text of any case, fast.
//!
//! Case is Python's `lower()`: besides A to Z, the Kelvin sign (U+212A) becomes a `k`. Phrases are lower-case ASCII.

use memchr::{memchr2_iter, memmem};

/// A phrase and the byte by which it is looked for: its rarest letter in English.
pub(super) struct Phrase {
    text: &'static str,
    rare_at: usize,
}

/// Letters from rare to common; a phrase is found faster by a rare one.
const RARE_FIRST: &[u8] = b"zqjxkvbpygfwmucldrhsnioate";

impl Phrase {
    pub(super) const fn new(text: &'static str) -> Self {
        let bytes = text.as_bytes();
        let (mut rare_at, mut best, mut at) = (0, RARE_FIRST.len(), 0);
        while at < bytes.len() {
            let mut rank = 0;
            while rank < RARE_FIRST.len() && RARE_FIRST[rank] != bytes[at] {
                rank += 1;
            }
            if rank < best {
                (rare_at, best) = (at, rank);
            }
            at += 1;
        }
        Self { text, rare_at }
    }

    /// Whether `text` holds the phrase, A taken for a.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let (text, phrase) = (text.as_bytes(), self.text.as_bytes());
        let Some(&rare) = phrase.get(self.rare_at) else { return true };
        memchr2_iter(rare, rare.to_ascii_uppercase(), text).any(|at| {
            at.checked_sub(self.rare_at)
                .and_then(|start| text.get(start..start + phrase.len()))
                .is_some_and(|found| found.eq_ignore_ascii_case(phrase))
        })
    }
}

/// Whether `lower()` may turn a character outside ASCII into a letter of a phrase.
pub(super) fn has_kelvin_sign(text: &str) -> bool {
    memmem::find(text.as_bytes(), "\u{212a}".as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_any_case_and_at_the_ends() {
        static PHRASE: Phrase = Phrase::new("use cookies");
        for (text, expected) in [
            ("use cookies", true),
            ("We USE Cookies!", true),
            ("kkuse cookies", true),
            ("use cookie", false),
            ("cookies", false),
            ("", false),
        ] {
            assert_eq!(PHRASE.is_in(text), expected, "{text:?}");
        }
    }
}
