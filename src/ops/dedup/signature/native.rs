//! Our own family: Fast Similarity Sketching (Dahlgaard, Knudsen and Thorup, 2017).
//!
//! A signature has k bins. In round i each shingle falls into a bin with a value, and a bin keeps the least i + value.
//! Rounds go on until every bin is filled; from round k on, all shingles fall into bin i − k, so that 2k rounds are
//! always enough. A long document needs one round: each shingle is hashed once, not k times. Later rounds could not
//! lower a filled bin, so stopping early changes nothing, and two signatures compare bin by bin as those of k
//! permutations do, with much the same variance, for short documents too.

/// What makes the signatures.
#[derive(Debug, Clone)]
pub(super) struct Native {
    n_bins: usize,
    /// The hash function of each round.
    rounds: Vec<[u64; 2]>,
}

const UNFILLED: u64 = u64::MAX;

impl Native {
    pub(super) fn new(n_bins: usize, seed: u64) -> Self {
        let mut state = seed;
        let rounds = (0..2 * n_bins).map(|_| [next(&mut state), next(&mut state) | 1]).collect();
        Self { n_bins, rounds }
    }

    /// The round in the upper half, the value in the lower half of each bin.
    pub(super) fn signature(&self, shingles: &[u64], out: &mut Vec<u64>) -> bool {
        if shingles.is_empty() {
            return false;
        }
        out.resize(self.n_bins, UNFILLED);
        let mut n_unfilled = self.n_bins;
        let (spread, single) = self.rounds.split_at(self.n_bins);
        for (round, function) in (0u64..).zip(spread) {
            for shingle in shingles {
                let hash = hash(*shingle, *function);
                // The upper half chooses the bin and the lower half is the value: they are independent.
                let place = ((hash >> 32) * self.n_bins as u64) >> 32;
                if let Some(bin) = out.get_mut(place as usize) {
                    n_unfilled -= usize::from(*bin == UNFILLED);
                    *bin = (*bin).min(round << 32 | hash & 0xffff_ffff);
                }
            }
            if n_unfilled == 0 {
                return true;
            }
        }
        for ((round, function), bin) in (self.n_bins as u64..).zip(single).zip(out) {
            if *bin == UNFILLED {
                let least = shingles.iter().map(|shingle| hash(*shingle, *function) & 0xffff_ffff).min();
                *bin = round << 32 | least.unwrap_or(0);
            }
        }
        true
    }
}

#[inline(always)]
fn hash(shingle: u64, [add, multiply]: [u64; 2]) -> u64 {
    let product = u128::from(shingle ^ add) * u128::from(multiply);
    product as u64 ^ (product >> 64) as u64
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sets of `n_each` shingles that share `n_common`.
    fn pair(state: &mut u64, n_each: usize, n_common: usize) -> [Vec<u64>; 2] {
        let common: Vec<u64> = (0..n_common).map(|_| next(state)).collect();
        [0, 1].map(|_| common.iter().copied().chain((n_common..n_each).map(|_| next(state))).collect())
    }

    #[test]
    fn estimates_are_unbiased_and_vary_as_those_of_permutations() {
        const K: usize = 112;
        const N_TRIALS: usize = 3000;
        for (n_each, n_common) in [(3, 2), (20, 10), (20, 16), (20, 19), (150, 100), (2000, 1000), (2000, 1800)] {
            let similarity = n_common as f64 / (2 * n_each - n_common) as f64;
            let mut state = n_each as u64;
            let mut estimates = Vec::new();
            for trial in 0..N_TRIALS {
                let native = Native::new(K, trial as u64);
                let [a, b] = pair(&mut state, n_each, n_common).map(|set| {
                    let mut signature = vec![];
                    assert!(native.signature(&set, &mut signature));
                    signature
                });
                let n_equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
                estimates.push(n_equal as f64 / K as f64);
            }
            let mean = estimates.iter().sum::<f64>() / N_TRIALS as f64;
            let variance = estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (N_TRIALS - 1) as f64;
            let of_permutations = similarity * (1.0 - similarity) / K as f64;
            let bias = (mean - similarity) / (of_permutations / N_TRIALS as f64).sqrt();
            assert!(bias.abs() < 4.0, "{n_each} shingles: mean {mean}, similarity {similarity}");
            let ratio = variance / of_permutations;
            // Bins that are filled in one round draw without putting back, so a small set does better.
            assert!((0.4..1.1).contains(&ratio), "{n_each} shingles, similarity {similarity}: variance × {ratio}");
        }
    }

    #[test]
    fn signatures_do_not_depend_on_order_or_repeats() {
        let mut state = 7;
        let shingles: Vec<u64> = (0..50).map(|_| next(&mut state)).collect();
        let native = Native::new(64, 1);
        let of = |shingles: &[u64]| {
            let mut out = vec![];
            native.signature(shingles, &mut out);
            out
        };
        let mut turned = shingles.clone();
        turned.reverse();
        turned.extend_from_slice(&shingles[3..20]);
        assert_eq!(of(&shingles), of(&turned));
        let mut other = vec![];
        Native::new(64, 2).signature(&shingles, &mut other);
        assert!(of(&shingles).iter().zip(&other).filter(|(a, b)| a == b).count() < 8, "the seed chooses the functions");
    }
}
