//! The constants of others' permutations: drawn from numpy's `RandomState`, a Mersenne Twister (MT19937).

/// 2⁶¹ − 1.
pub(super) const MERSENNE_61: u64 = (1 << 61) - 1;
const MERSENNE_31: u32 = (1 << 31) - 1;

/// NeMo's pairs: a from 1, b from 0, both below 2³¹ − 1, drawn in turn.
pub(super) fn nemo_pairs(n_pairs: usize, seed: u32) -> Vec<(u32, u32)> {
    let mut random = MersenneTwister::new(seed);
    let mut draw = |least: u32| least + random.below(u64::from(MERSENNE_31 - least)) as u32;
    (0..n_pairs).map(|_| (draw(1), draw(0))).collect()
}

/// datatrove's pairs: all a from 1, then all b from 0, below 2⁶¹ − 1.
pub(super) fn datatrove_pairs(n_pairs: usize, seed: u32) -> Vec<(u64, u64)> {
    let mut random = MersenneTwister::new(seed);
    let mut draw =
        |least: u64| -> Vec<u64> { (0..n_pairs).map(|_| least + random.below(MERSENNE_61 - least)).collect() };
    let (a, b) = (draw(1), draw(0));
    a.into_iter().zip(b).collect()
}

const N: usize = 624;

struct MersenneTwister {
    state: [u32; N],
    next: usize,
}

impl MersenneTwister {
    fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        let mut last = seed;
        for (place, word) in (1u32..).zip(state.iter_mut().skip(1)) {
            last = (last ^ last >> 30).wrapping_mul(1_812_433_253).wrapping_add(place);
            *word = last;
        }
        Self { state, next: N }
    }

    fn next_u32(&mut self) -> u32 {
        if self.next == N {
            for i in 0..N {
                let joined = self.state[i] & 1 << 31 | self.state[(i + 1) % N] & MERSENNE_31;
                let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % N] ^ joined >> 1 ^ twist;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }

    /// A number below `limit` as `randint` draws it: as many bits as the greatest has, again while it is too large.
    fn below(&mut self, limit: u64) -> u64 {
        let greatest = limit - 1;
        let mask = u64::MAX >> greatest.leading_zeros();
        loop {
            let mut drawn = u64::from(self.next_u32());
            if greatest > u64::from(u32::MAX) {
                drawn = drawn << 32 | u64::from(self.next_u32());
            }
            if drawn & mask <= greatest {
                return drawn & mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_what_numpy_draws() {
        assert_eq!(
            nemo_pairs(3, 42),
            [(1_608_637_543, 1_273_642_419), (1_935_803_229, 787_846_414), (996_406_379, 1_201_263_687)]
        );
    }
}
