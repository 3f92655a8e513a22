//! Seeded random numbers: the same for a seed on every machine.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// SplitMix64.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub(super) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `wanted` of the numbers below `n`, ascending; each set is as likely as any other.
    pub(super) fn choose(&mut self, wanted: usize, n: usize) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(wanted.min(n));
        for at in 0..n {
            let missing = wanted - chosen.len();
            if missing == 0 {
                break;
            }
            if self.unit() * ((n - at) as f64) < missing as f64 {
                chosen.push(at);
            }
        }
        chosen
    }
}

/// A row's place in a shuffle; it does not depend on which other rows there are.
pub(super) fn shuffle_key(seed: u64, row: u32) -> u64 {
    xxh3_64_with_seed(&row.to_le_bytes(), seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_as_many_as_wanted_in_order() {
        for (wanted, n) in [(0, 5), (5, 5), (9, 5), (3, 100), (99, 100)] {
            let chosen = Random::new(7).choose(wanted, n);
            assert_eq!(chosen.len(), wanted.min(n));
            assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.iter().all(|&at| at < n));
        }
        assert_ne!(Random::new(7).choose(10, 100), Random::new(8).choose(10, 100));
    }
}
