//! The least value of each permutation over the hashes of a document: where NeMo's and datatrove's signatures spend their
//! time.
//!
//! Constants lie side by side, so that a vector takes as many permutations as it has lanes: a hash goes to all of them,
//! and the least ones stay in registers until all hashes went by. Plain loops, which the compiler turns into vectors for
//! each level of instructions (`crate::ops::simd`).

use super::permutations::MERSENNE_61;
use crate::ops::simd::level;
use fearless_simd::dispatch;

/// Permutations of 32 bits that are computed side by side: constants and results fill twelve registers of AVX2.
const LANES_32: usize = 32;
/// Those that are left are computed by so many.
const REST_32: usize = 8;
/// Permutations of 64 bits.
const LANES_64: usize = 8;

/// The firsts and the seconds of pairs, each filled up to whole vectors.
fn side_by_side<T: Copy + Default>(pairs: &[(T, T)], lanes: usize) -> (Vec<T>, Vec<T>) {
    let (mut firsts, mut seconds): (Vec<T>, Vec<T>) = pairs.iter().copied().unzip();
    let n_padded = pairs.len().next_multiple_of(lanes);
    firsts.resize(n_padded, T::default());
    seconds.resize(n_padded, T::default());
    (firsts, seconds)
}

/// a·h + b mod 2³², for each of several pairs.
#[derive(Debug, Clone)]
pub(super) struct Permutations32 {
    a: Vec<u32>,
    b: Vec<u32>,
    n: usize,
}

impl Permutations32 {
    pub(super) fn new(pairs: &[(u32, u32)]) -> Self {
        let (a, b) = side_by_side(pairs, REST_32);
        Self { a, b, n: pairs.len() }
    }

    /// Appends the least value of each; without hashes, the greatest number.
    pub(super) fn least(&self, hashes: &[u32], out: &mut Vec<u64>) {
        let mut least = vec![u32::MAX; self.a.len()];
        dispatch!(level(), _simd => least_32(hashes, &self.a, &self.b, &mut least));
        out.extend(least[..self.n].iter().map(|least| u64::from(*least)));
    }
}

#[inline(always)]
fn least_32(hashes: &[u32], a: &[u32], b: &[u32], least: &mut [u32]) {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES_32>(), b.as_chunks::<LANES_32>());
    let (least, least_rest) = least.as_chunks_mut::<LANES_32>();
    for ((a, b), least) in a.iter().zip(b).zip(least) {
        lanes_32(hashes, a, b, least);
    }
    let (a, b, least) =
        (a_rest.as_chunks::<REST_32>().0, b_rest.as_chunks::<REST_32>().0, least_rest.as_chunks_mut::<REST_32>().0);
    for ((a, b), least) in a.iter().zip(b).zip(least) {
        lanes_32(hashes, a, b, least);
    }
}

#[inline(always)]
fn lanes_32<const N: usize>(hashes: &[u32], a: &[u32; N], b: &[u32; N], least: &mut [u32; N]) {
    let mut held = *least;
    for hash in hashes {
        for ((held, a), b) in held.iter_mut().zip(a).zip(b) {
            *held = (*held).min(hash.wrapping_mul(*a).wrapping_add(*b));
        }
    }
    *least = held;
}

/// (a·h + b mod 2⁶⁴) mod 2⁶¹ − 1, for each of several pairs.
#[derive(Debug, Clone)]
pub(super) struct Permutations61 {
    a: Vec<u64>,
    b: Vec<u64>,
    n: usize,
}

impl Permutations61 {
    pub(super) fn new(pairs: &[(u64, u64)]) -> Self {
        let (a, b) = side_by_side(pairs, LANES_64);
        Self { a, b, n: pairs.len() }
    }

    /// Appends the least value of each; without hashes, a number that is no remainder.
    pub(super) fn least(&self, hashes: &[u64], out: &mut Vec<u64>) {
        let start = out.len();
        out.resize(start + self.a.len(), MERSENNE_61);
        dispatch!(level(), _simd => least_61(hashes, &self.a, &self.b, &mut out[start..]));
        out.truncate(start + self.n);
    }
}

#[inline(always)]
fn least_61(hashes: &[u64], a: &[u64], b: &[u64], least: &mut [u64]) {
    let (a, b, least) = (a.as_chunks::<LANES_64>().0, b.as_chunks::<LANES_64>().0, least.as_chunks_mut::<LANES_64>().0);
    for ((a, b), least) in a.iter().zip(b).zip(least) {
        // All are below 2⁶², so signed numbers compare alike, and more processors can do that in vectors.
        let mut held = least.map(|least| least as i64);
        for hash in hashes {
            for ((held, a), b) in held.iter_mut().zip(a).zip(b) {
                *held = (*held).min(reduce(hash.wrapping_mul(*a).wrapping_add(*b)));
            }
        }
        *least = held.map(|held| held as u64);
    }
}

/// x mod 2⁶¹ − 1.
#[inline(always)]
fn reduce(x: u64) -> i64 {
    // 2⁶¹ is 1, so the upper bits can be added to the lower ones.
    let sum = ((x & MERSENNE_61) + (x >> 61)) as i64;
    let less = sum - MERSENNE_61 as i64;
    if less < 0 { sum } else { less }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_of_each_permutation_is_found(
            hashes in prop::collection::vec(any::<u64>(), 1..300),
            pairs in prop::collection::vec(any::<(u64, u64)>(), 0..80),
        ) {
            // Small hashes near a multiple of the prime carry over.
            let near = (0..40).map(|near| (1, 5 * MERSENNE_61 - near));
            let pairs: Vec<(u64, u64)> = pairs.into_iter().chain(near).collect();
            let small: Vec<u64> = hashes.iter().map(|hash| hash % 40).collect();
            for hashes in [&hashes, &small] {
                let mut found = vec![7];
                Permutations61::new(&pairs).least(hashes, &mut found);
                let of = |(a, b): &(u64, u64)| {
                    hashes.iter().map(|hash| hash.wrapping_mul(*a).wrapping_add(*b) % MERSENNE_61).min()
                };
                prop_assert_eq!(&found[1..], pairs.iter().filter_map(of).collect::<Vec<_>>());
            }
            let narrow: Vec<(u32, u32)> = pairs.iter().map(|(a, b)| (*a as u32, (b >> 9) as u32)).collect();
            let hashes: Vec<u32> = hashes.iter().map(|hash| *hash as u32).collect();
            let mut found = vec![7];
            Permutations32::new(&narrow).least(&hashes, &mut found);
            let of = |(a, b): &(u32, u32)| hashes.iter().map(|hash| hash.wrapping_mul(*a).wrapping_add(*b)).min();
            prop_assert_eq!(&found[1..], narrow.iter().filter_map(of).map(u64::from).collect::<Vec<_>>());
        }
    }

    #[test]
    fn reduces_modulo_the_prime() {
        for x in [0, 1, MERSENNE_61 - 1, MERSENNE_61, MERSENNE_61 + 1, 2 * MERSENNE_61, u64::MAX, u64::MAX - 7] {
            assert_eq!(reduce(x) as u64, x % MERSENNE_61, "{x}");
        }
    }
}
