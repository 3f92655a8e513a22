//! Sixty-four bytes at a time: which of them are white space, letters, outside ASCII. A bit each.
//!
//! A class of bytes is a range or two, and comparing sixteen bytes with a range is three vector instructions. What the
//! walk does with the bits is in `walk.rs`.

use wide::u8x16;

/// The bytes of a block.
pub(super) const BLOCK: usize = 64;

/// What 64 bytes are; bit `i` speaks about byte `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Masks {
    /// ASCII white space, as Python has it: tab to carriage return, U+001C to U+001F, space.
    pub(super) space: u64,
    /// Line feeds.
    pub(super) feed: u64,
    /// The letters A to Z and a to z.
    pub(super) letter: u64,
    /// Those and the digits.
    pub(super) alphanumeric: u64,
    /// Bytes of characters outside ASCII.
    pub(super) wide: u64,
    /// Bytes of such characters that are not their first.
    pub(super) inner: u64,
}

impl Masks {
    /// Looks at 64 bytes.
    #[inline(always)]
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        let mut masks = Self::default();
        for (quarter, bytes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*bytes);
            let put = |lanes: u8x16| u64::from(lanes.to_bitmask()) << (16 * quarter);
            // 0x1c..=0x20 are the four separators and the space.
            masks.space |= put(within(bytes, b'\t', b'\r') | within(bytes, 0x1c, b' '));
            masks.feed |= put(bytes.simd_eq(u8x16::splat(b'\n')));
            let letter = within(bytes | u8x16::splat(0x20), b'a', b'z');
            masks.letter |= put(letter);
            masks.alphanumeric |= put(letter | within(bytes, b'0', b'9'));
            masks.wide |= put(bytes);
            masks.inner |= put(within(bytes, 0x80, 0xbf));
        }
        masks
    }
}

/// Which bytes lie between `first` and `last`, both included: all bits of the lane set.
#[inline(always)]
fn within(bytes: u8x16, first: u8, last: u8) -> u8x16 {
    // Subtraction wraps, so that what is below the range lands above its width.
    let offset = bytes - u8x16::splat(first);
    offset.min(u8x16::splat(last - first)).simd_eq(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_from_its_neighbours() {
        for first in [0_u8, 64, 128, 192] {
            let block: [u8; BLOCK] = std::array::from_fn(|i| first + i as u8);
            let masks = Masks::of(&block);
            let bits = |is: &dyn Fn(u8) -> bool| (0..64).filter(|i| is(block[*i])).fold(0, |bits, i| bits | 1_u64 << i);
            assert_eq!(masks.space, bits(&|b| matches!(b, 9..=13 | 28..=32)));
            assert_eq!(masks.letter, bits(&|b| b.is_ascii_alphabetic()));
            assert_eq!(masks.feed, bits(&|b| b == b'\n'));
            assert_eq!(masks.alphanumeric, bits(&|b| b.is_ascii_alphanumeric()));
            assert_eq!(masks.wide, bits(&|b| b >= 128));
            assert_eq!(masks.inner, bits(&|b| (128..192).contains(&b)));
        }
    }
}
