//! The 64-bit hashes of units and of runs of them.
//!
//! Not made to withstand an attacker; equal on every machine and in every version, because indexes keep what is made of
//! them.

use xxhash_rust::xxh3::xxh3_64;

/// Odd, with its ones spread out: the golden ratio and digits of pi.
const K: [u64; 4] = [0x9e37_79b9_7f4a_7c15, 0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1];

/// Keeps the first so many bytes of a little-endian word.
const KEEP: [u64; 9] =
    [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, 0xff_ffff_ffff_ffff, u64::MAX];

/// Both halves of the product, in one word.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of `text[start..end]`. At least 16 bytes follow each unit in `text`, so that nearly all need no loop.
#[inline(always)]
pub(super) fn of_unit(text: &[u8], start: usize, end: usize) -> u64 {
    let n_bytes = end - start;
    match text.get(start..).and_then(<[u8]>::first_chunk::<16>) {
        Some(bytes) if n_bytes <= 16 => {
            let bytes = u128::from_le_bytes(*bytes);
            let low = bytes as u64 & KEEP[n_bytes.min(8)];
            let high = (bytes >> 64) as u64 & KEEP[n_bytes.saturating_sub(8)];
            fold(low ^ K[0], high ^ K[1].wrapping_add(n_bytes as u64))
        }
        _ => xxh3_64(&text[start..end]),
    }
}

/// The hash of a character.
#[inline(always)]
pub(super) fn of_char(c: char) -> u64 {
    fold(u64::from(c) ^ K[0], K[1])
}

/// The hash of each run of `n` units: Σ unit · K^place, which rolls on with two multiplications, and then a bijection
/// that spreads it.
pub(super) fn roll(units: &[u64], n: usize, out: &mut Vec<u64>) {
    let Some((first, rest)) = units.split_at_checked(n) else { return };
    let leaving = (0..n).fold(1u64, |power, _| power.wrapping_mul(K[2]));
    let mut sum = first.iter().fold(0u64, |sum, unit| sum.wrapping_mul(K[2]).wrapping_add(*unit));
    out.reserve(rest.len() + 1);
    out.push(spread(sum));
    out.extend(units.iter().zip(rest).map(|(old, new)| {
        let change = new.wrapping_sub(old.wrapping_mul(leaving));
        sum = sum.wrapping_mul(K[2]).wrapping_add(change);
        spread(sum)
    }));
}

#[inline(always)]
fn spread(sum: u64) -> u64 {
    let sum = (sum ^ sum >> 32).wrapping_mul(K[3]);
    sum ^ sum >> 29
}
