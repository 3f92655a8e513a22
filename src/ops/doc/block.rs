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
    /// Of these tab to carriage return and the space.
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
}

impl Masks {
    /// Looks at 64 bytes.
    #[inline(always)]
    pub(super) fn of<S: Simd>(simd: S, block: &[u8; BLOCK]) -> Self {
        let bytes = u8x64::from_slice(simd, block);
        let letter = within(bytes | 0x20, b'a', b'z');
        let feed = bytes.simd_eq(b'\n').to_bitmask();
        let wide = bytes.simd_ge(0x80).to_bitmask();
        let mut masks = Self {
            space: feed | bytes.simd_eq(b' ').to_bitmask(),
            blank: 0,
            feed,
            rare_break: 0,
            graphic: within(bytes, b'!', b'~').to_bitmask(),
            letter: letter.to_bitmask(),
            capital: within(bytes, b'A', b'Z').to_bitmask(),
            alphanumeric: (letter | within(bytes, b'0', b'9')).to_bitmask(),
            wide,
            inner: 0,
        };
        masks.blank = masks.space;
        // Most texts have no control characters but line feeds, and many nothing outside ASCII.
        if bytes.simd_lt(b' ').to_bitmask() != feed {
            let control = within(bytes, b'\t', b'\r').to_bitmask();
            masks.blank |= control;
            masks.space |= control | within(bytes, 0x1c, 0x1f).to_bitmask();
            masks.rare_break = (within(bytes, 0x0b, b'\r') | within(bytes, 0x1c, 0x1e)).to_bitmask();
        }
        if wide != 0 {
            masks.inner = within(bytes, 0x80, 0xbf).to_bitmask();
        }
        masks
    }
}

/// The first bytes of characters outside ASCII that are known to be plain letters by their first two or three bytes: small
/// Cyrillic and Western European ones, kana, Hangul syllables and most Chinese characters. What begins in this block and
/// ends in the next is not among them.
#[inline(always)]
pub(super) fn common_letters<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    let bytes = u8x64::from_slice(simd, block);
    let first = |first: u8, last: u8| within(bytes, first, last).to_bitmask();
    // Bits of a later byte are moved to where its character begins.
    let second = |first: u8, last: u8| within(bytes, first, last).to_bitmask() >> 1;
    let third = |first: u8, last: u8| within(bytes, first, last).to_bitmask() >> 2;
    // ß to ÿ; U+0430 to U+045F. Here and below, Data-Juicer lists some letters as special: ø, シ, ッ, ツ, ン, 一, 上, 士.
    let latin = first(0xc3, 0xc3) & second(0x9f, 0xbf) & !second(0xb7, 0xb8);
    let cyrillic = first(0xd0, 0xd0) & second(0xb0, 0xbf) | first(0xd1, 0xd1) & second(0x80, 0x9f);
    // U+3041 to U+30FF, without what is no letter.
    let no_kana = second(0x81, 0x81) & third(0x80, 0x80)
        | second(0x82, 0x82) & (third(0x97, 0x9c) | third(0xa0, 0xa0) | third(0xb7, 0xb7))
        | second(0x83, 0x83) & (third(0x83, 0x84) | third(0xb3, 0xb3) | third(0xbb, 0xbc));
    let kana = first(0xe3, 0xe3) & second(0x81, 0x83) & third(0x80, 0xbf) & !no_kana;
    // From U+4E40 on, without U+58C0 to U+58FF.
    let chinese = first(0xe4, 0xe4) & second(0xb9, 0xbf) | first(0xe5, 0xe5) & second(0x80, 0xbf) & !second(0xa3, 0xa3);
    // U+AC00 to U+AFFF and U+D000 to U+D77F; what is between, and U+6000 to U+9FFF, needs no second look.
    let hangul = first(0xea, 0xea) & second(0xb0, 0xbf) | first(0xed, 0xed) & second(0x80, 0x9d);
    latin | cyrillic | kana | chinese | hangul | first(0xe6, 0xe9) | first(0xeb, 0xec)
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
            assert_eq!(masks.blank, bits(&|b| matches!(b, 9..=13 | 32)));
            assert_eq!(masks.rare_break, bits(&|b| matches!(b, 11..=13 | 28..=30)));
            assert_eq!(masks.graphic, bits(&|b| b.is_ascii_graphic()));
            assert_eq!(masks.capital, bits(&|b| b.is_ascii_uppercase()));
            assert_eq!(masks.letter, bits(&|b| b.is_ascii_alphabetic()));
            assert_eq!(masks.feed, bits(&|b| b == b'\n'));
            assert_eq!(masks.alphanumeric, bits(&|b| b.is_ascii_alphanumeric()));
            assert_eq!(masks.wide, bits(&|b| b >= 128));
            assert_eq!(masks.inner, bits(&|b| (128..192).contains(&b)));
        }
    }

    #[test]
    fn common_letters_are_plain_letters_and_found_wherever_they_stand() {
        let mut n_common = 0;
        for c in '\u{80}'..=char::MAX {
            let mut text = [b' '; BLOCK];
            let n_bytes = c.encode_utf8(&mut text).len();
            let found = dispatch!(simd::level(), simd => common_letters(simd, &text));
            assert!(found == 0 || found == 1 && Classes::get().class(u32::from(c)) == Classes::LETTERS, "{c:?}");
            n_common += found;
            // At the end of a block, and beyond it.
            let mut at_end = [b' '; BLOCK];
            at_end[BLOCK - n_bytes..].copy_from_slice(&text[..n_bytes]);
            let at_end = dispatch!(simd::level(), simd => common_letters(simd, &at_end));
            assert_eq!(at_end, found << (BLOCK - n_bytes), "{c:?}");
        }
        // Latin, Cyrillic, kana, Chinese, Hangul.
        assert_eq!(n_common, 31 + 48 + 178 + (448 + 4032 + 16_384) + (1024 + 8192 + 1920));
        for c in "éяのカ語가힣".chars() {
            let mut text = [b' '; BLOCK];
            c.encode_utf8(&mut text);
            assert_eq!(dispatch!(simd::level(), simd => common_letters(simd, &text)), u64::from(c != '힣'), "{c:?}");
        }
    }
}
