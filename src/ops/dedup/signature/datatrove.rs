//! datatrove's family: 64-bit xxHash h of each shingle, and for each permutation the least (a·h + b mod 2⁶⁴) mod
//! 2⁶¹ − 1, which is what numpy's 64-bit arithmetic gives it.

use super::least::Permutations61;
use super::permutations::datatrove_pairs;
use xxhash_rust::xxh64::xxh64;

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
        xxh64(shingle, 0)
    }

    pub(super) fn signature(&self, hashes: &[u64], out: &mut Vec<u64>) -> bool {
        if hashes.is_empty() {
            return false;
        }
        self.permutations.least(hashes, out);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_the_reference_implementation() {
        let text = "The quick brown fox jumps over the lazy dog, and then it does so again, and again: 0123456789";
        for (n_bytes, expected) in [
            (0, 0xef46_db37_51d8_e999),
            (1, 0x5b4d_6af2_47a3_cf7b),
            (3, 0x4108_f90b_5de1_4d15),
            (4, 0xcdf1_3a49_d263_200f),
            (7, 0xc6fc_e9d7_2e31_0949),
            (8, 0xd07b_38a7_8a15_3b0b),
            (12, 0xb2ed_3801_7844_f789),
            (31, 0x3f8d_95ab_32c1_27d9),
            (32, 0xe2bb_c913_6629_a4ee),
            (33, 0x6d92_fe2e_bab7_db31),
            (45, 0x2064_e849_8f5f_66e7),
            (64, 0x9a13_25f9_7f65_29a3),
            (93, 0xde0d_5160_f01e_bf69),
        ] {
            assert_eq!(Datatrove::hash(&text.as_bytes()[..n_bytes]), expected, "{n_bytes} bytes");
        }
    }
}
