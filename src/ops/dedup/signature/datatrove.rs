//! datatrove's family: 64-bit xxHash h of each shingle, and for each permutation the least (a·h + b mod 2⁶⁴) mod
//! 2⁶¹ − 1, which is what numpy's 64-bit arithmetic gives it.

use super::permutations::{MERSENNE_61, datatrove_pairs};
use super::xxh64::xxh64;

/// What makes the signatures.
#[derive(Debug, Clone)]
pub(super) struct Datatrove {
    pairs: Vec<(u64, u64)>,
}

impl Datatrove {
    pub(super) fn new(n_values: usize, seed: u32) -> Self {
        Self { pairs: datatrove_pairs(n_values, seed) }
    }

    /// The hash of a shingle: its words with a space between them.
    pub(super) fn hash(shingle: &[u8]) -> u64 {
        xxh64(shingle)
    }

    pub(super) fn signature(&self, hashes: &[u64], out: &mut Vec<u64>) -> bool {
        if hashes.is_empty() {
            return false;
        }
        out.extend(self.pairs.iter().map(|(a, b)| least(hashes, *a, *b)));
        true
    }
}

/// The least (a·h + b mod 2⁶⁴) mod 2⁶¹ − 1.
///
/// Most products cannot be it, and their lower 61 bits say so: they are the value or less, unless they are among the
/// last 8 before the prime, which the upper bits may carry over. Eight times the product has these bits alone, and with
/// 64 added those last ones wrap around to the least, so that one comparison finds both.
fn least(hashes: &[u64], a: u64, b: u64) -> u64 {
    let (a_lower, b_lower) = (a << 3, (b << 3).wrapping_add(64));
    let (mut least, mut limit) = (u64::MAX, u64::MAX);
    for hash in hashes {
        if hash.wrapping_mul(a_lower).wrapping_add(b_lower) <= limit {
            (least, limit) = lowered(least, hash.wrapping_mul(a).wrapping_add(b));
        }
    }
    least
}

/// The lesser of `least` and a product, and what the next one's lower bits must not exceed. Seldom called; apart, so
/// that the loop is short.
#[cold]
#[inline(never)]
fn lowered(least: u64, product: u64) -> (u64, u64) {
    let least = least.min(reduce(product));
    (least, (least << 3).saturating_add(64))
}

/// x mod 2⁶¹ − 1.
#[inline(always)]
fn reduce(x: u64) -> u64 {
    // 2⁶¹ is 1, so the upper bits can be added to the lower ones. What was less than the prime wraps around and is large.
    let sum = (x & MERSENNE_61) + (x >> 61);
    sum.min(sum.wrapping_sub(MERSENNE_61))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_short_comparison_loses_no_least(
            hashes in prop::collection::vec(any::<u64>(), 1..300), a in any::<u64>(), b in any::<u64>(), near in 0u64..40
        ) {
            // With a = 1, b near a multiple of the prime and small hashes, many products carry over.
            let small: Vec<u64> = hashes.iter().map(|hash| hash % 40).collect();
            let carrying = 5 * MERSENNE_61 - near;
            for (hashes, a, b) in [(&hashes, a, b), (&small, 1, carrying), (&small, a, b)] {
                let expected = hashes.iter().map(|hash| hash.wrapping_mul(a).wrapping_add(b) % MERSENNE_61).min();
                prop_assert_eq!(Some(least(hashes, a, b)), expected);
            }
        }
    }

    #[test]
    fn reduces_modulo_the_prime() {
        for x in [0, 1, MERSENNE_61 - 1, MERSENNE_61, MERSENNE_61 + 1, 2 * MERSENNE_61, u64::MAX, u64::MAX - 7] {
            assert_eq!(reduce(x), x % MERSENNE_61, "{x}");
        }
    }
}
