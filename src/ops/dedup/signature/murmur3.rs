//! MurmurHash3_x86_32 (Austin Appleby, public domain).

use crate::ops::simd::level;
use fearless_simd::dispatch;

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

/// The hash of `bytes`.
#[inline]
pub(super) fn murmur3_32(bytes: &[u8], seed: u32) -> u32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = seed;
    for block in blocks {
        hash = stir(hash, scramble(u32::from_le_bytes(*block)));
    }
    finish(hash ^ scramble(last(tail)) ^ bytes.len() as u32)
}

/// Appends the hash of each run of `n_bytes` bytes. A word of four bytes is in several runs, and is scrambled once;
/// neighbouring runs are hashed side by side.
pub(super) fn murmur3_32_windows(bytes: &[u8], n_bytes: usize, seed: u32, words: &mut Vec<u32>, out: &mut Vec<u32>) {
    let Some(n_windows) = (bytes.len() + 1).checked_sub(n_bytes).filter(|_| n_bytes > 0) else { return };
    words.clear();
    words.resize((bytes.len() + 1).saturating_sub(4), 0);
    let start = out.len();
    out.resize(start + n_windows, seed);
    dispatch!(level(), _simd => windows(bytes, n_bytes, words, &mut out[start..]));
}

#[inline(always)]
fn windows(bytes: &[u8], n_bytes: usize, words: &mut [u32], hashes: &mut [u32]) {
    for (word, bytes) in words.iter_mut().zip(bytes.windows(4)) {
        *word = scramble(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    }
    let tail_start = n_bytes / 4 * 4;
    for place in (0..tail_start).step_by(4) {
        for (hash, word) in hashes.iter_mut().zip(&words[place..]) {
            *hash = stir(*hash, *word);
        }
    }
    if tail_start < n_bytes {
        for (hash, run) in hashes.iter_mut().zip(bytes.windows(n_bytes)) {
            *hash ^= scramble(last(&run[tail_start..]));
        }
    }
    for hash in hashes {
        *hash = finish(*hash ^ n_bytes as u32);
    }
}

#[inline(always)]
fn stir(hash: u32, word: u32) -> u32 {
    (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// The bytes that make no whole word.
#[inline(always)]
fn last(tail: &[u8]) -> u32 {
    tail.iter().rev().fold(0, |last, byte| last << 8 | u32::from(*byte))
}

#[inline(always)]
fn finish(mut hash: u32) -> u32 {
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[inline(always)]
fn scramble(block: u32) -> u32 {
    block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_hashes() {
        for (text, seed, expected) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("a", 0x9747_b28c, 0x7fa0_9ea6),
            ("aaaa", 0x9747_b28c, 0x5a97_808a),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
            ("The quick brown fox jumps over the lazy dog", 0x9747_b28c, 0x2fa8_26cd),
        ] {
            assert_eq!(murmur3_32(text.as_bytes(), seed), expected, "{text:?}");
        }
    }
    #[test]
    fn runs_side_by_side_have_the_hashes_of_each_alone() {
        let text: Vec<u8> = (0..200_u32).map(|n| (n * n % 251) as u8).collect();
        for n_bytes in [1, 2, 3, 4, 5, 7, 8, 23, 24, 31, 199, 200, 201] {
            for n_text in [0, 1, 3, 4, 24, 25, 200] {
                let text = &text[..n_text];
                let mut found = vec![9];
                murmur3_32_windows(text, n_bytes, 77, &mut vec![5], &mut found);
                let alone: Vec<u32> = text.windows(n_bytes).map(|run| murmur3_32(run, 77)).collect();
                assert_eq!(found[1..], alone, "{n_bytes} of {n_text}");
            }
        }
    }
}
