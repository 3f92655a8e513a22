//! Marker characters that many rules look for: `#`, `...`, `…`, `»`. The walk sees at little cost whether they occur, and
//! most documents need not be searched then.

use super::block::BLOCK;
use fearless_simd::prelude::*;
use fearless_simd::u8x64;

/// Which marker characters a document has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarkerChars {
    /// How often `#` occurs.
    pub n_hashes: usize,
    /// Whether three dots follow one another.
    has_dots: bool,
    /// Whether `…` or `»` may occur.
    may_have_wide: bool,
    /// The dots of the block read last.
    dots: u64,
}

impl MarkerChars {
    /// Whether a string may occur, as far as the signs in it tell.
    pub fn may_have(&self, string: &str) -> bool {
        (self.n_hashes > 0 || !string.contains('#'))
            && (self.has_dots || !string.contains("..."))
            && (self.may_have_wide || !string.contains(['…', '»']))
    }

    /// Looks at 64 bytes; `has_wide` if some of them are outside ASCII.
    #[inline(always)]
    pub(super) fn block<S: Simd>(&mut self, simd: S, block: &[u8; BLOCK], has_wide: bool) {
        let bytes = u8x64::from_slice(simd, block);
        let are = |byte: u8| bytes.simd_eq(byte).to_bitmask();
        self.n_hashes += are(b'#').count_ones() as usize;
        let dots = are(b'.');
        let third = dots & (dots << 1 | self.dots >> 63) & (dots << 2 | self.dots >> 62);
        self.has_dots |= third != 0;
        self.dots = dots;
        if has_wide {
            // The last two bytes of `…`, and those of `»`. What the block before ends in is not looked at.
            let wide = are(0xa6) & (are(0x80) << 1 | 1) | are(0xbb) & (are(0xc2) << 1 | 1);
            self.may_have_wide |= wide != 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MarkerChars;
    use crate::ops::doc::{Doc, Needs};

    fn signs_of(text: &str) -> MarkerChars {
        let mut doc = Doc::new();
        doc.read(text, Needs::SIGNS);
        *doc.marker_chars()
    }

    #[test]
    fn signs_are_found_wherever_they_stand() {
        for (sign, others) in [
            ("#", ["...", "…", "-»"]),
            ("...", ["#", "…", "-»"]),
            ("…", ["#", "...", "##"]),
            ("-»", ["#", "...", "##"]),
        ] {
            for n_before in 0..70 {
                let text = format!("{}{sign} and more. And ..", "x".repeat(n_before));
                let signs = signs_of(&text);
                assert!(signs.may_have(sign) && signs.may_have("x"), "{text:?}");
                for other in others {
                    assert!(!signs.may_have(other), "{text:?} {other}");
                }
                assert_eq!(signs.n_hashes, text.matches('#').count());
            }
        }
    }
}
