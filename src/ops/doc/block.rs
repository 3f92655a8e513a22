//! Sixty-four bytes at a time: which of them are white space, letters, outside ASCII. A bit each.
//!
//! A class of bytes is a range or two, and comparing with a range is two vector instructions for as many bytes as a
//! register of this processor holds. What the walk does with the bits is in `walk.rs`.

use fearless_simd::prelude::*;
use fearless_simd::{mask8x64, u8x64};

/// The bytes of a block.
pub(super) const BLOCK: usize = 64;

/// What 64 bytes are; bit `i` speaks about byte `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Masks {
    /// ASCII white space, as Python has it: tab to carriage return, U+001C to U+001F, space.
    pub(super) space: u64,
    /// Of these tab to carriage return, and the space alone.
    pub(super) control: u64,
    pub(super) blank: u64,
    /// Line feeds.
    pub(super) feed: u64,
    /// What else ends a line for Python's `str.splitlines()`: VT, FF, CR, U+001C to U+001E.
    pub(super) rare_break: u64,
    /// ASCII letters, digits and punctuation.
    pub(super) graphic: u64,
    /// The letters A to Z and a to z; A to Z alone.
    pub(super) letter: u64,
    pub(super) capital: u64,
    /// Those and the digits.
    pub(super) alphanumeric: u64,
    /// Bytes of characters outside ASCII.
    pub(super) wide: u64,
    /// Bytes of such characters that are not their first.
    pub(super) inner: u64,
    /// First bytes of Chinese characters and Korean syllables, of which whole ranges are plain letters: U+6000 to U+9FFF
    /// and U+B000 to U+CFFF. (Below are 一, 上 and 士, which Data-Juicer lists as special.)
    pub(super) ideograph: u64,
}

impl Masks {
    /// Looks at 64 bytes.
    #[inline(always)]
    pub(super) fn of<S: Simd>(simd: S, block: &[u8; BLOCK]) -> Self {
        let bytes = u8x64::from_slice(simd, block);
        let letter = within(bytes | 0x20, b'a', b'z');
        let control = within(bytes, b'\t', b'\r');
        Self {
            // 0x1c..=0x20 are the four separators and the space.
            space: (control | within(bytes, 0x1c, b' ')).to_bitmask(),
            control: control.to_bitmask(),
            blank: bytes.simd_eq(b' ').to_bitmask(),
            feed: bytes.simd_eq(b'\n').to_bitmask(),
            rare_break: (within(bytes, 0x0b, b'\r') | within(bytes, 0x1c, 0x1e)).to_bitmask(),
            graphic: within(bytes, b'!', b'~').to_bitmask(),
            letter: letter.to_bitmask(),
            capital: within(bytes, b'A', b'Z').to_bitmask(),
            alphanumeric: (letter | within(bytes, b'0', b'9')).to_bitmask(),
            wide: bytes.simd_ge(0x80).to_bitmask(),
            inner: within(bytes, 0x80, 0xbf).to_bitmask(),
            ideograph: (within(bytes, 0xe6, 0xe9) | within(bytes, 0xeb, 0xec)).to_bitmask(),
        }
    }
}

/// Which bytes lie between `first` and `last`, both included.
#[inline(always)]
fn within<S: Simd>(bytes: u8x64<S>, first: u8, last: u8) -> mask8x64<S> {
    // Subtraction wraps, so that what is below the range lands above its width.
    (bytes - first).simd_le(last - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::scan::Classes;
    use crate::ops::simd;
    use fearless_simd::dispatch;

    #[test]
    fn every_byte_is_told_from_its_neighbours() {
        for first in [0_u8, 64, 128, 192] {
            let block: [u8; BLOCK] = std::array::from_fn(|i| first + i as u8);
            let masks = dispatch!(simd::level(), simd => Masks::of(simd, &block));
            let bits = |is: &dyn Fn(u8) -> bool| (0..64).filter(|i| is(block[*i])).fold(0, |bits, i| bits | 1_u64 << i);
            assert_eq!(masks.space, bits(&|b| matches!(b, 9..=13 | 28..=32)));
            assert_eq!(masks.control, bits(&|b| matches!(b, 9..=13)));
            assert_eq!(masks.blank, bits(&|b| b == b' '));
            assert_eq!(masks.rare_break, bits(&|b| matches!(b, 11..=13 | 28..=30)));
            assert_eq!(masks.graphic, bits(&|b| b.is_ascii_graphic()));
            assert_eq!(masks.capital, bits(&|b| b.is_ascii_uppercase()));
            assert_eq!(masks.letter, bits(&|b| b.is_ascii_alphabetic()));
            assert_eq!(masks.feed, bits(&|b| b == b'\n'));
            assert_eq!(masks.alphanumeric, bits(&|b| b.is_ascii_alphanumeric()));
            assert_eq!(masks.wide, bits(&|b| b >= 128));
            assert_eq!(masks.inner, bits(&|b| (128..192).contains(&b)));
            assert_eq!(masks.ideograph, bits(&|b| matches!(b, 0xe6..=0xe9 | 0xeb..=0xec)));
        }
    }

    #[test]
    fn ranges_of_ideographs_are_plain_letters() {
        for c in ('\u{6000}'..='\u{9fff}').chain('\u{b000}'..='\u{cfff}') {
            assert_eq!(Classes::get().class(u32::from(c)), Classes::LETTERS, "{c:?}");
        }
    }
}
