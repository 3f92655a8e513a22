//! Finds a string in a text, with A taken for a: 64 places at a time.
//!
//! Of the string's bytes the two rarest are chosen. A place can only begin a match if both are there, at their
//! distances; sixteen places are compared with two vector comparisons, and few remain to be checked byte by byte.
//!
//! ```text
//! needle  p r i v a c y            text    … t h e   p r i v a c y   p o l i c y …
//!         .     v   c .  rarest    == v?                   1
//!                                  == c?                   1 (two places on)          → check this place
//! ```
//! Not here: more than one string at once; a caller that has several gives each a finder.

use wide::u8x16;

/// Bytes of lower-cased text, the most frequent first. What is not here is rarer than all.
const BY_FREQUENCY: &[u8] = b" etaoinsrhldcumpfgwybv,.k-'x0q1jz2\n\"93/58467:();?&!#";

/// A string to look for, without regard to the case of A to Z.
#[derive(Debug, Clone)]
pub(crate) struct FoldedFinder {
    needle: Vec<u8>,
    /// Where its two rarest bytes are, the bytes, and the bit that makes a letter lower-case.
    rare: [usize; 2],
    rare_bytes: [u8; 2],
    case_bits: [u8; 2],
}

const BLOCK: usize = 64;

impl FoldedFinder {
    /// Looks for `needle`.
    pub(crate) fn new(needle: &str) -> Self {
        let needle = needle.to_ascii_lowercase().into_bytes();
        let rank = |at: &usize| BY_FREQUENCY.iter().position(|byte| *byte == needle[*at]).unwrap_or(usize::MAX);
        let first = (0..needle.len()).max_by_key(rank).unwrap_or(0);
        let second = (0..needle.len()).filter(|at| needle[*at] != needle[first]).max_by_key(rank).unwrap_or(first);
        let rare = [first, second];
        let rare_bytes = rare.map(|at| needle.get(at).copied().unwrap_or(0));
        let case_bits = rare_bytes.map(|byte| if byte.is_ascii_lowercase() { 0x20 } else { 0 });
        Self { needle, rare, rare_bytes, case_bits }
    }

    /// The first match that begins at byte `from` or later.
    pub(crate) fn find_at(&self, text: &str, from: usize) -> Option<usize> {
        let text = text.as_bytes();
        if self.needle.is_empty() {
            return (from <= text.len()).then_some(from);
        }
        let last_start = text.len().checked_sub(self.needle.len())?;
        let mut at = from;
        // The vectors of the last places would reach past the end; those places are checked one by one below.
        while at + BLOCK <= last_start + 1 {
            let mut candidates = self.candidates(text, at);
            while candidates != 0 {
                let place = at + candidates.trailing_zeros() as usize;
                if self.is_at(text, place) {
                    return Some(place);
                }
                candidates &= candidates - 1;
            }
            at += BLOCK;
        }
        (at..=last_start).find(|place| self.is_at(text, *place))
    }

    /// Which of the places from `at` on have both rare bytes, a bit each.
    #[inline(always)]
    fn candidates(&self, text: &[u8], at: usize) -> u64 {
        let block = |rare: usize| text.get(at + rare..).and_then(|rest| rest.first_chunk::<BLOCK>());
        let (Some(first), Some(second)) = (block(self.rare[0]), block(self.rare[1])) else { return 0 };
        let quarters = first.as_chunks::<16>().0.iter().zip(second.as_chunks::<16>().0).enumerate();
        quarters.fold(0, |candidates, (quarter, (first, second))| {
            let same = self.is_rare(0, *first) & self.is_rare(1, *second);
            candidates | u64::from(same.to_bitmask()) << (16 * quarter)
        })
    }

    #[inline(always)]
    fn is_rare(&self, which: usize, bytes: [u8; 16]) -> u8x16 {
        // The case bit is set in the text where the needle has a letter; elsewhere nothing changes.
        (u8x16::new(bytes) | u8x16::splat(self.case_bits[which])).simd_eq(u8x16::splat(self.rare_bytes[which]))
    }

    fn is_at(&self, text: &[u8], place: usize) -> bool {
        text.get(place..place + self.needle.len()).is_some_and(|here| here.eq_ignore_ascii_case(&self.needle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_lower_casing_both_finds(text in "[abAB \u{e9}]{0,200}", needle in "[abB\u{e9}]{0,4}", from in 0_usize..9) {
            let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            let expected = text[from..].to_ascii_lowercase().find(&needle.to_ascii_lowercase()).map(|at| at + from);
            prop_assert_eq!(FoldedFinder::new(&needle).find_at(&text, from), expected);
        }
    }
}
