//! Counts the bytes of a text that are among some ASCII characters, 64 at a time.
//!
//! A set of ASCII characters is a table of sixteen bytes: character `c` is in it if the byte at `c`'s lower four bits has
//! the bit that `c`'s upper bits (0 to 7) say. Looking up 64 bytes in such a table is one vector instruction.

use crate::ops::simd;
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, u8x16, u8x64};

const BLOCK: usize = 64;

/// For the upper four bits of a byte, the bit that a set has for it; none outside ASCII.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// Some ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AsciiSet([u8; 16]);

impl AsciiSet {
    /// Those of `characters` that are ASCII.
    pub(crate) fn new(characters: &str) -> Self {
        let mut set = Self::default();
        for byte in characters.bytes().filter(u8::is_ascii) {
            set.0[usize::from(byte % 16)] |= 1 << (byte / 16);
        }
        set
    }

    fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte % 16)] & BITS[usize::from(byte / 16)] != 0
    }

    /// How many bytes of `text` are in the set.
    pub(crate) fn count(self, text: &[u8]) -> usize {
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        let n_in_blocks = dispatch!(simd::level(), simd => self.count_blocks(simd, blocks));
        n_in_blocks + rest.iter().filter(|byte| self.contains(**byte)).count()
    }

    #[inline(always)]
    fn count_blocks<S: Simd>(self, simd: S, blocks: &[[u8; BLOCK]]) -> usize {
        let set = u8x64::block_splat(u8x16::from_slice(simd, &self.0));
        let bits = u8x64::block_splat(u8x16::from_slice(simd, &BITS));
        let mut n = 0;
        for block in blocks {
            let bytes = u8x64::from_slice(simd, block);
            let found = set.swizzle_dyn_within_blocks(bytes & 0x0f) & bits.swizzle_dyn_within_blocks(bytes >> 4);
            n += found.simd_gt(0).to_bitmask().count_ones() as usize;
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_the_characters_of_the_set(text in any::<String>(), characters in any::<String>()) {
            let text = text.repeat(7);
            let expected = text.chars().filter(|c| c.is_ascii() && characters.contains(*c)).count();
            prop_assert_eq!(AsciiSet::new(&characters).count(text.as_bytes()), expected);
        }
    }
}
