//! Cuts a text into blocks of windows that share an anchor.
//!
//! A window is `n` units (bytes or tokens) in a row; its anchor is the piece of `w` units in it with the smallest hash,
//! the last of equal ones. Windows side by side mostly have the same anchor; as far as they do they are a block:
//!
//! ```text
//! window 0   [.....AAAA......]
//! window 1    [....AAAA.......]          block 0..=2, from the first unit of window 0 to the last of window 2
//! window 2     [...AAAA........]
//! window 3      [.......BBBB....]        the next block: BBBB has a smaller hash than AAAA
//! ```
//! Invariant: the anchor of a window depends on nothing but its content, so equal windows have equal anchors at equal
//! places, whatever is around them. A collision of anchors costs time and changes no result.

use super::tokens::token_hashes;
use crate::dedup::SpanLength;
use std::borrow::Cow;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_128;

/// The sizes that texts are looked at with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lens {
    /// Units in a window.
    pub window: usize,
    /// Units in an anchor.
    pub anchor: usize,
    /// Whether units are tokens; bytes otherwise.
    pub tokens: bool,
}

/// Windows `first..=last` with the same anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// The hash of the anchor.
    pub anchor: u64,
    /// The first window.
    pub first: usize,
    /// The last window.
    pub last: usize,
}

/// A text as a row of units.
pub(super) struct Document<'t> {
    bytes: Cow<'t, [u8]>,
    unit_bytes: usize,
}

impl Lens {
    pub(super) fn new(min_length: SpanLength) -> Self {
        let (window, tokens) = match min_length {
            SpanLength::Bytes(n) => (n.max(1), false),
            SpanLength::Tokens(n) => (n.max(1), true),
        };
        // Shorter anchors make longer blocks, but more of them repeat without their window repeating.
        Self { window, anchor: window.div_ceil(2), tokens }
    }

    /// Units in a block beyond the window, on average in text without repetition within a window.
    pub(super) fn mean_block(&self) -> u64 {
        (self.window - self.anchor + 2) as u64 / 2
    }

    pub(super) fn document<'t>(&self, text: &'t str) -> Document<'t> {
        match self.tokens {
            true => Document { bytes: Cow::Owned(token_hashes(text)), unit_bytes: 8 },
            false => Document { bytes: Cow::Borrowed(text.as_bytes()), unit_bytes: 1 },
        }
    }

    /// All blocks in order; every window is in one.
    pub(super) fn for_each_block(&self, document: &Document<'_>, f: impl FnMut(Block)) {
        let bytes = document.bytes.as_ref();
        match self.tokens {
            true => {
                let (units, _) = bytes.as_chunks::<8>();
                self.blocks_of(units.len(), |at| u64::from_le_bytes(units[at]), f);
            }
            false => self.blocks_of(bytes.len(), |at| u64::from(bytes[at]) + 1, f),
        }
    }

    fn blocks_of(&self, n_units: usize, unit: impl Fn(usize) -> u64, mut f: impl FnMut(Block)) {
        if n_units < self.window {
            return;
        }
        let n_anchors = self.window - self.anchor + 1;
        let mut ring = vec![0; n_anchors.next_power_of_two()];
        let mask = ring.len() - 1;
        let mut rolling = Rolling::new(self.anchor);
        (0..self.anchor - 1).for_each(|at| rolling.add(unit(at)));
        let (mut best, mut best_hash) = (0, u64::MAX);
        let mut block: Option<(usize, Block)> = None;
        for at in 0..=n_units - self.anchor {
            rolling.add(unit(at + self.anchor - 1));
            let hash = rolling.hash();
            rolling.remove(unit(at));
            ring[at & mask] = hash;
            let window = (at + 1).checked_sub(n_anchors);
            if hash <= best_hash {
                (best, best_hash) = (at, hash);
            } else if window.is_some_and(|window| best < window) {
                (best, best_hash) = (at, hash);
                for earlier in (at + 1 - n_anchors..at).rev() {
                    if ring[earlier & mask] < best_hash {
                        (best, best_hash) = (earlier, ring[earlier & mask]);
                    }
                }
            }
            let Some(window) = window else { continue };
            match &mut block {
                Some((anchor_at, block)) if *anchor_at == best => block.last = window,
                _ => {
                    let next = (best, Block { anchor: best_hash, first: window, last: window });
                    block.replace(next).into_iter().for_each(|(_, block)| f(block));
                }
            }
        }
        block.into_iter().for_each(|(_, block)| f(block));
    }
}

impl Document<'_> {
    pub(super) fn n_units(&self) -> usize {
        self.bytes.len() / self.unit_bytes
    }

    /// The hash of these units. xxh3 rather than a rolling hash: few windows are hashed, and it is fast and safe.
    pub(super) fn hash(&self, units: Range<usize>) -> u128 {
        xxh3_128(self.bytes.get(units.start * self.unit_bytes..units.end * self.unit_bytes).unwrap_or_default())
    }
}

/// The hash of the last units, as a polynomial in a fixed odd number modulo 2⁶⁴.
struct Rolling {
    sum: u64,
    /// What the oldest unit is multiplied by.
    oldest: u64,
}

impl Rolling {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(n_units: usize) -> Self {
        Self { sum: 0, oldest: (1..n_units).fold(1, |power: u64, _| power.wrapping_mul(Self::BASE)) }
    }

    fn add(&mut self, unit: u64) {
        self.sum = self.sum.wrapping_mul(Self::BASE).wrapping_add(unit);
    }

    fn remove(&mut self, unit: u64) {
        self.sum = self.sum.wrapping_sub(unit.wrapping_mul(self.oldest));
    }

    /// The low bits of the sum know only the low bits of the units: all are mixed.
    fn hash(&self) -> u64 {
        let mixed = (self.sum ^ self.sum >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ mixed >> 32
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(lens: Lens, text: &str) -> Vec<Block> {
        let mut found = vec![];
        lens.for_each_block(&lens.document(text), |block| found.push(block));
        found
    }

    proptest! {
        #[test]
        fn every_window_has_the_anchor_that_it_has_alone(text in "[ab ]{0,80}", n in 1usize..20) {
            for lens in [Lens::new(SpanLength::Bytes(n)), Lens::new(SpanLength::Tokens(n))] {
                let found = blocks(lens, &text);
                let n_windows = (lens.document(&text).n_units() + 1).saturating_sub(n);
                let starts: Vec<usize> = found.iter().map(|block| block.first).chain([n_windows]).collect();
                prop_assert_eq!(starts[0], 0);
                for (block, next) in found.iter().zip(&starts[1..]) {
                    prop_assert!(block.first <= block.last && block.last + 1 == *next);
                    if !lens.tokens {
                        for at in block.first..=block.last {
                            prop_assert_eq!(blocks(lens, &text[at..at + n])[0].anchor, block.anchor);
                        }
                    }
                }
            }
        }
    }
}
