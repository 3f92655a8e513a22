//! NeMo Curator's family, as libcudf computes it: 32-bit MurmurHash3 h of each shingle, and for each permutation the
//! least a·h + b mod 2³².
//!
//! A document of n characters has n shingles and 260 permutations, so the products are the work. Most cannot be the
//! least, and the upper 16 bits, which take half the room in a vector, are enough to see it: blocks of shingles are
//! computed to the last bit only if their upper halves say that they may hold a new least.

use super::murmur3::murmur3_32;
use super::permutations::nemo_pairs;
use wide::u16x8;

const BLOCK: usize = 64;

/// What makes the signatures: [`Nemo::clear`], [`Nemo::add`] for each shingle, [`Nemo::signature`].
#[derive(Debug, Clone)]
pub(super) struct Nemo {
    pairs: Vec<(u32, u32)>,
    hash_seed: u32,
    hashes: Vec<u32>,
    blocks: Vec<Block>,
}

/// Hashes, whole and in halves.
#[derive(Debug, Clone)]
struct Block {
    whole: [u32; BLOCK],
    upper: [u16x8; BLOCK / 8],
    lower: [u16x8; BLOCK / 8],
}

impl Nemo {
    pub(super) fn new(n_values: usize, seed: u32) -> Self {
        let pairs = nemo_pairs(n_values, seed);
        let hash_seed = pairs.first().map_or(0, |(a, _)| *a);
        Self { pairs, hash_seed, hashes: vec![], blocks: vec![] }
    }

    pub(super) fn clear(&mut self) {
        self.hashes.clear();
    }

    #[inline]
    pub(super) fn add(&mut self, shingle: &[u8]) {
        // libcudf reserves 0 for rows that have no value.
        self.hashes.push(murmur3_32(shingle, self.hash_seed).max(1));
    }

    /// The signature of the shingles added; without any it is all 0.
    pub(super) fn signature(&mut self, out: &mut Vec<u64>) -> bool {
        self.blocks.clear();
        self.blocks.extend(self.hashes.chunks(BLOCK).map(Block::new));
        out.extend(self.pairs.iter().map(|(a, b)| {
            let mut blocks = self.blocks.iter();
            let mut least = blocks.next().map_or(0, |block| block.least(*a, *b));
            for block in blocks {
                if block.may_reach((least >> 16) as u16, *a, *b) {
                    least = least.min(block.least(*a, *b));
                }
            }
            u64::from(least)
        }));
        !self.hashes.is_empty()
    }
}

impl Block {
    /// Filled up with the last of the hashes, which changes no least.
    fn new(hashes: &[u32]) -> Self {
        let last = hashes.last().copied().unwrap_or(0);
        let whole: [u32; BLOCK] = std::array::from_fn(|i| hashes.get(i).copied().unwrap_or(last));
        let halves = |half: fn(u32) -> u16| {
            std::array::from_fn(|vector| u16x8::new(std::array::from_fn(|lane| half(whole[8 * vector + lane]))))
        };
        Self { whole, upper: halves(|hash| (hash >> 16) as u16), lower: halves(|hash| hash as u16) }
    }

    /// The least a·h + b.
    fn least(&self, a: u32, b: u32) -> u32 {
        // Comparing signed numbers is what vectors of the oldest processors can do.
        let least = self.whole.map(|hash| (hash.wrapping_mul(a).wrapping_add(b) ^ 1 << 31) as i32);
        least.into_iter().fold(i32::MAX, i32::min) as u32 ^ 1 << 31
    }

    /// Whether some a·h + b may have an upper half of at most `limit`.
    ///
    /// Left out is the carry of the lower halves. With 1 added in its place, each sum is exact or 1 too large, so that
    /// 65535 cannot pass for 0, which would hide a least.
    #[inline(always)]
    fn may_reach(&self, limit: u16, a: u32, b: u32) -> bool {
        let (a_upper, a_lower) = (u16x8::splat((a >> 16) as u16), u16x8::splat(a as u16));
        let b_upper = u16x8::splat(((b >> 16) as u16).wrapping_add(1));
        let mut least = u16x8::splat(u16::MAX);
        for (upper, lower) in self.upper.iter().zip(self.lower) {
            let carried = lower.mul_keep_high(a_lower);
            let sum = *upper * a_lower + lower * a_upper + (carried + b_upper);
            // x − max(x − y, 0) is the lesser, and the oldest processors have it in vectors.
            least -= least.saturating_sub(sum);
        }
        least.saturating_sub(u16x8::splat(limit.saturating_add(1))).simd_eq(u16x8::splat(0)).any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn skipping_blocks_loses_no_least(
            hashes in prop::collection::vec(any::<u32>(), 1..700), a in any::<u32>(), b in any::<u32>()
        ) {
            let mut nemo = Nemo::new(0, 1);
            nemo.pairs = vec![(a, b), (a, 0), (1, b), (1, u32::MAX), (1 << 16, 0xffff)];
            nemo.hashes = hashes.clone();
            let mut out = vec![];
            prop_assert!(nemo.signature(&mut out));
            for ((a, b), least) in nemo.pairs.iter().zip(out) {
                let expected = hashes.iter().map(|hash| hash.wrapping_mul(*a).wrapping_add(*b)).min();
                prop_assert_eq!(expected.map(u64::from), Some(least));
            }
        }
    }
}
