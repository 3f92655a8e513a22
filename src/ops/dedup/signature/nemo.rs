//! NeMo Curator's family, as libcudf computes it: 32-bit MurmurHash3 h of each shingle, and for each permutation the
//! least a·h + b mod 2³².

use super::super::shingler::Slices;
use super::least::Permutations32;
use super::murmur3::{murmur3_32, murmur3_32_windows};
use super::permutations::nemo_pairs;

/// What makes the signatures: [`Nemo::clear`], [`Nemo::add`] for all shingles, [`Nemo::signature`].
#[derive(Debug, Clone)]
pub(super) struct Nemo {
    permutations: Permutations32,
    n_values: usize,
    hash_seed: u32,
    hashes: Vec<u32>,
    scratch: Vec<u32>,
}

impl Nemo {
    pub(super) fn new(n_values: usize, seed: u32) -> Self {
        let pairs = nemo_pairs(n_values, seed);
        let hash_seed = pairs.first().map_or(0, |(a, _)| *a);
        Self { permutations: Permutations32::new(&pairs), n_values, hash_seed, hashes: vec![], scratch: vec![] }
    }

    pub(super) fn clear(&mut self) {
        self.hashes.clear();
    }

    pub(super) fn add(&mut self, shingles: Slices<'_>) {
        match shingles {
            Slices::One(shingle) => self.hashes.push(murmur3_32(shingle, self.hash_seed)),
            Slices::Windows(text, n_bytes) => {
                murmur3_32_windows(text, n_bytes, self.hash_seed, &mut self.scratch, &mut self.hashes);
            }
        }
    }

    /// The signature of the shingles added; without any it is all 0.
    pub(super) fn signature(&mut self, out: &mut Vec<u64>) -> bool {
        if self.hashes.is_empty() {
            out.resize(out.len() + self.n_values, 0);
            return false;
        }
        // libcudf reserves 0 for rows that have no value.
        self.hashes.iter_mut().for_each(|hash| *hash = (*hash).max(1));
        self.permutations.least(&self.hashes, out);
        true
    }
}
