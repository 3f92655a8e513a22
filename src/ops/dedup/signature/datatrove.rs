//! datatrove's family: 64-bit xxHash h of each shingle, and for each permutation the least (a·h + b mod 2⁶⁴) mod
//! 2⁶¹ − 1, which is what numpy's 64-bit arithmetic gives it.

use super::least::Permutations61;
use super::permutations::datatrove_pairs;
use super::xxh64::xxh64;

/// What makes the signatures.
#[derive(Debug, Clone)]
pub(super) struct Datatrove {
    permutations: Permutations61,
}

impl Datatrove {
    pub(super) fn new(n_values: usize, seed: u32) -> Self {
        Self { permutations: Permutations61::new(&datatrove_pairs(n_values, seed)) }
    }

    /// The hash of a shingle: its words with a space between them.
    pub(super) fn hash(shingle: &[u8]) -> u64 {
        xxh64(shingle)
    }

    pub(super) fn signature(&self, hashes: &[u64], out: &mut Vec<u64>) -> bool {
        if hashes.is_empty() {
            return false;
        }
        self.permutations.least(hashes, out);
        true
    }
}
