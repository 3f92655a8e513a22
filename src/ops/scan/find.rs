//! Finds a string in a text, with A taken for a: 64 places at a time.
//!
//! Of the string's bytes the two rarest are chosen. A place can only begin a match if both are there, at their
//! distances; all places of a vector are compared with two comparisons, and few remain to be checked byte by byte.
//!
//! ```text
//! needle  p r i v a c y            text    … t h e   p r i v a c y   p o l i c y …
//!         .     v   c .  rarest    == v?                   1
//!                                  == c?                   1 (two places on)          → check this place
//! ```
//! Several strings are looked for at once only to learn whether one of them occurs at all: in most documents none does.

use crate::ops::simd;
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, u8x64};

/// Bytes of lower-cased text, the most frequent first. What is not here is rarer than all.
const BY_FREQUENCY: &[u8] = b" etaoinsrhldcumpfgwybv,.k-'x0q1jz2\n\"93/58467:();?&!#";

/// A string to look for, without regard to the case of A to Z.
#[derive(Debug, Clone)]
pub(crate) struct FoldedFinder {
    needle: Vec<u8>,
    /// Where its two rarest bytes are, in order, and the bytes with [`CASE_BIT`] set.
    rare: [usize; 2],
    rare_bytes: [u8; 2],
}

const BLOCK: usize = 64;

/// Makes a letter lower-case. Other bytes it makes equal to few others, which does no harm where candidates are chosen.
const CASE_BIT: u8 = 0x20;

impl FoldedFinder {
    /// Looks for `needle`.
    pub(crate) fn new(needle: &str) -> Self {
        let needle = needle.to_ascii_lowercase().into_bytes();
        let rank = |at: &usize| BY_FREQUENCY.iter().position(|byte| *byte == needle[*at]).unwrap_or(usize::MAX);
        let first = (0..needle.len()).max_by_key(rank).unwrap_or(0);
        let is_near = |at: &usize| at.abs_diff(first) < BLOCK && *at != first;
        // Two different bytes say more than the same twice, as in `...`.
        let second = (0..needle.len()).filter(is_near).max_by_key(|at| (needle[*at] != needle[first], rank(at)));
        let second = second.unwrap_or(first);
        let rare = [first.min(second), first.max(second)];
        let rare_bytes = rare.map(|at| needle.get(at).copied().unwrap_or(0) | CASE_BIT);
        Self { needle, rare, rare_bytes }
    }

    /// The first match that begins at byte `from` or later.
    pub(crate) fn find_at(&self, text: &str, from: usize) -> Option<usize> {
        let text = text.as_bytes();
        if self.needle.is_empty() {
            return (from <= text.len()).then_some(from);
        }
        let last_start = text.len().checked_sub(self.needle.len())?;
        dispatch!(simd::level(), simd => self.find_within(simd, text, from, last_start))
    }

    /// The first match that begins between `from` and `last_start`, both included.
    #[inline(always)]
    fn find_within<S: Simd>(&self, simd: S, text: &[u8], from: usize, last_start: usize) -> Option<usize> {
        let Some(last_block) = (last_start + 1).checked_sub(BLOCK) else {
            return (from..=last_start).find(|place| self.is_at(text, *place));
        };
        let mut at = from;
        while at <= last_start {
            // The last vector overlaps the one before, so that it does not reach past the end.
            let start = at.min(last_block);
            let mut candidates = self.candidates(simd, text, start) & u64::MAX << (at - start);
            while candidates != 0 {
                let place = start + candidates.trailing_zeros() as usize;
                if self.is_at(text, place) {
                    return Some(place);
                }
                candidates &= candidates - 1;
            }
            at = start + BLOCK;
        }
        None
    }

    /// Whether one of several strings occurs.
    pub(crate) fn any_occurs<const N: usize>(finders: &[&FoldedFinder; N], text: &str) -> bool {
        let text = text.as_bytes();
        dispatch!(simd::level(), simd => Self::any_within(simd, finders, text))
    }

    #[inline(always)]
    fn any_within<S: Simd, const N: usize>(simd: S, finders: &[&FoldedFinder; N], text: &[u8]) -> bool {
        // The later rare byte is less than a block behind the earlier one: a block is looked at together with the next.
        let mut at = 0;
        while let Some(two) = text[at..].first_chunk::<{ 2 * BLOCK }>() {
            if Self::any_in_block(simd, finders, two, text, at) {
                return true;
            }
            at += BLOCK;
        }
        let mut rest = [0; 3 * BLOCK];
        rest[..text.len() - at].copy_from_slice(&text[at..]);
        let (first, second) = (rest.first_chunk(), rest.last_chunk());
        first.is_some_and(|two| Self::any_in_block(simd, finders, two, text, at))
            || second.is_some_and(|two| Self::any_in_block(simd, finders, two, text, at + BLOCK))
            || finders.iter().any(|finder| finder.needle.is_empty())
    }

    /// Whether a string occurs whose earlier rare byte is in the first of two blocks, which begin at byte `at` of `text`.
    #[inline(always)]
    fn any_in_block<S: Simd, const N: usize>(
        simd: S,
        finders: &[&FoldedFinder; N],
        two: &[u8; 2 * BLOCK],
        text: &[u8],
        at: usize,
    ) -> bool {
        let here = u8x64::from_slice(simd, &two[..BLOCK]) | CASE_BIT;
        let mut places = [0; N];
        let mut any = 0;
        // Plain loops: what a closure does might be compiled for another processor.
        for which in 0..N {
            let finder = finders[which];
            let distance = (finder.rare[1] - finder.rare[0]) % BLOCK;
            let later = u8x64::from_slice(simd, &two[distance..distance + BLOCK]) | CASE_BIT;
            let both = here.simd_eq(finder.rare_bytes[0]) & later.simd_eq(finder.rare_bytes[1]);
            places[which] = both.to_bitmask();
            any |= places[which];
        }
        any != 0 && finders.iter().zip(places).any(|(finder, places)| finder.is_one_of(text, at, places))
    }

    /// Whether a match has its earlier rare byte at one of the places, a bit each from `at` on.
    fn is_one_of(&self, text: &[u8], at: usize, mut places: u64) -> bool {
        while places != 0 {
            let start = (at + places.trailing_zeros() as usize).checked_sub(self.rare[0]);
            if start.is_some_and(|start| self.is_at(text, start)) {
                return true;
            }
            places &= places - 1;
        }
        false
    }

    /// Which of the places from `at` on have both rare bytes, a bit each.
    #[inline(always)]
    fn candidates<S: Simd>(&self, simd: S, text: &[u8], at: usize) -> u64 {
        let is_rare = |which: usize| {
            let bytes = text.get(at + self.rare[which]..).and_then(|rest| rest.first_chunk::<BLOCK>())?;
            Some((u8x64::from_slice(simd, bytes) | CASE_BIT).simd_eq(self.rare_bytes[which]))
        };
        let (Some(first), Some(second)) = (is_rare(0), is_rare(1)) else { return 0 };
        (first & second).to_bitmask()
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
            let longer = format!("{needle}a\u{e9}b");
            let lower = text.to_ascii_lowercase();
            let occurs = [&needle, &longer].iter().any(|needle| lower.contains(&needle.to_ascii_lowercase()));
            let finders = [&FoldedFinder::new(&needle), &FoldedFinder::new(&longer)];
            prop_assert_eq!(FoldedFinder::any_occurs(&finders, &text), occurs);
            prop_assert_eq!(FoldedFinder::any_occurs(&[finders[1]], &text), lower.contains(&longer.to_ascii_lowercase()));
        }
    }
}
