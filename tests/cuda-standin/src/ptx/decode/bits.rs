//! Bits and bytes: logic, shifts, fields, counts, permutations.
//!
//! Invariant: a shift by the width or more gives zeros, or signs for `shr.s`.

use crate::ptx::lanes::{Compute, compute, integers};
use crate::ptx::source::Type;

/// The function of an instruction on bits, by its opcode's parts and type.
pub fn bits(parts: &[&str], kind: Type) -> Option<Compute> {
    let has = |part: &str| parts.contains(&part);
    match parts[0] {
        "and" => Some(compute!(|a, b| a & b)),
        "or" => Some(compute!(|a, b| a | b)),
        "xor" => Some(compute!(|a, b| a ^ b)),
        "not" => Some(compute!(|a| !a)),
        "cnot" => integers!(kind, |a| T::from(a == 0)),
        "shl" => Some(match kind.n_bytes() {
            2 => compute!(|a, b| if b as u32 > 15 { 0 } else { a << (b as u32) }),
            4 => compute!(|a, b| if b as u32 > 31 { 0 } else { a << (b as u32 & 31) }),
            _ => compute!(|a, b| if b as u32 > 63 { 0 } else { a << (b as u32 & 63) }),
        }),
        "shr" => shift_right(kind),
        "shf" => funnel(has("l"), has("wrap")),
        "popc" if kind.n_bytes() == 4 => Some(compute!(|a| u64::from((a as u32).count_ones()))),
        "popc" => Some(compute!(|a| u64::from(a.count_ones()))),
        "clz" if kind.n_bytes() == 4 => Some(compute!(|a| u64::from((a as u32).leading_zeros()))),
        "clz" => Some(compute!(|a| u64::from(a.leading_zeros()))),
        "brev" if kind.n_bytes() == 4 => Some(compute!(|a| u64::from((a as u32).reverse_bits()))),
        "brev" => Some(compute!(|a| a.reverse_bits())),
        "bfind" => find(kind, has("shiftamt")),
        "bfe" => Some(match kind {
            Type::U32 => compute!(|a, b, c| extract(a, b, c, 32, false)),
            Type::S32 => compute!(|a, b, c| extract(a, b, c, 32, true)),
            Type::U64 => compute!(|a, b, c| extract(a, b, c, 64, false)),
            Type::S64 => compute!(|a, b, c| extract(a, b, c, 64, true)),
            _ => return None,
        }),
        "bfi" if kind.n_bytes() == 4 => Some(compute!(|a, b, c, e| insert(a, b, c, e, 32))),
        "bfi" => Some(compute!(|a, b, c, e| insert(a, b, c, e, 64))),
        "fns" => Some(compute!(|a, b, c| find_nth_set(a as u32, b as u32, c as i32))),
        "prmt" => permute(parts),
        "lop3" => Some(compute!(|a, b, c, e| lookup3(a, b, c, e))),
        _ => None,
    }
}

fn shift_right(kind: Type) -> Option<Compute> {
    Some(match kind {
        Type::U16 | Type::B16 => compute!(|a, b| if b as u32 > 15 { 0 } else { u64::from(a as u16) >> (b as u32) }),
        Type::S16 => compute!(|a, b| ((a as i16) >> (b as u32).min(15)) as u64),
        Type::U32 | Type::B32 => {
            compute!(|a, b| if b as u32 > 31 { 0 } else { u64::from(a as u32) >> (b as u32 & 31) })
        }
        Type::S32 => compute!(|a, b| ((a as i32) >> (b as u32).min(31)) as u64),
        Type::U64 | Type::B64 => compute!(|a, b| if b as u32 > 63 { 0 } else { a >> (b as u32 & 63) }),
        Type::S64 => compute!(|a, b| ((a as i64) >> (b as u32).min(63)) as u64),
        _ => return None,
    })
}

/// `shf`: 32 bits out of two words; `a` is the low one.
fn funnel(left: bool, wrap: bool) -> Option<Compute> {
    fn both(a: u64, b: u64) -> u64 {
        u64::from(a as u32) | b << 32
    }
    Some(match (left, wrap) {
        (true, true) => compute!(|a, b, c| both(a, b) << (c & 31) >> 32),
        (true, false) => compute!(|a, b, c| both(a, b) << u64::from(c as u32).min(32) >> 32),
        (false, true) => compute!(|a, b, c| both(a, b) >> (c & 31)),
        (false, false) => compute!(|a, b, c| both(a, b) >> u64::from(c as u32).min(32)),
    })
}

/// The place of the highest set bit (of the highest bit that differs from the sign), or how far to shift it up.
fn find(kind: Type, shift_amount: bool) -> Option<Compute> {
    fn place(n_zeros: u32, width: u32, shift_amount: bool) -> u64 {
        if n_zeros == width {
            return 0xffff_ffff;
        }
        u64::from(if shift_amount { n_zeros } else { width - 1 - n_zeros })
    }
    fn of32(a: u64, signed: bool, shift_amount: bool) -> u64 {
        let a = a as u32;
        place(if signed && (a as i32) < 0 { !a } else { a }.leading_zeros(), 32, shift_amount)
    }
    fn of64(a: u64, signed: bool, shift_amount: bool) -> u64 {
        place(if signed && (a as i64) < 0 { !a } else { a }.leading_zeros(), 64, shift_amount)
    }
    Some(match (kind, shift_amount) {
        (Type::U32, false) => compute!(|a| of32(a, false, false)),
        (Type::U32, true) => compute!(|a| of32(a, false, true)),
        (Type::S32, false) => compute!(|a| of32(a, true, false)),
        (Type::S32, true) => compute!(|a| of32(a, true, true)),
        (Type::U64, false) => compute!(|a| of64(a, false, false)),
        (Type::U64, true) => compute!(|a| of64(a, false, true)),
        (Type::S64, false) => compute!(|a| of64(a, true, false)),
        (Type::S64, true) => compute!(|a| of64(a, true, true)),
        _ => return None,
    })
}

fn low_bits(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// `bfe`: the field of `length` bits from `start`; what lies beyond the word is zeros, or the field's sign.
fn extract(a: u64, start: u64, length: u64, width: u32, signed: bool) -> u64 {
    let a = a & low_bits(width);
    let (start, length) = (start as u32 & 0xff, length as u32 & 0xff);
    let n_there = length.min(width.saturating_sub(start));
    let field = if start >= 64 { 0 } else { a >> start } & low_bits(n_there);
    let is_negative = signed && length > 0 && a >> (start + length - 1).min(width - 1) & 1 == 1;
    if is_negative { field | !low_bits(n_there) } else { field }
}

/// `bfi`: `b` with the low `length` bits of `a` put in from `start`.
fn insert(a: u64, b: u64, start: u64, length: u64, width: u32) -> u64 {
    let (start, length) = (start as u32 & 0xff, length as u32 & 0xff);
    if start >= width {
        return b;
    }
    let mask = low_bits(length.min(width - start)) << start;
    (b & !mask) | (a << start & mask)
}

/// `fns`: the place of the n-th set bit, counted from `base` up (n > 0) or down (n < 0); n = 0 asks for `base` itself.
fn find_nth_set(mask: u32, base: u32, n: i32) -> u64 {
    let is_set = |at: &u32| mask >> at & 1 == 1;
    let base = base.min(32);
    let nth = n.unsigned_abs().saturating_sub(1) as usize;
    let found = match n {
        0 => Some(base).filter(|at| *at < 32 && is_set(at)),
        1.. => (base..32).filter(is_set).nth(nth),
        _ => (0..=base.min(31)).rev().filter(is_set).nth(nth),
    };
    u64::from(found.unwrap_or(u32::MAX))
}

/// `prmt`: four bytes chosen from the eight of `a` and `b`.
fn permute(parts: &[&str]) -> Option<Compute> {
    fn chosen(a: u64, b: u64, choice: [u64; 4]) -> u64 {
        let bytes = u64::from(a as u32) | b << 32;
        (0..4).fold(0, |word, i| {
            let byte = bytes >> (8 * (choice[i] & 7)) & 0xff;
            let byte = if choice[i] & 8 == 0 { byte } else { (byte >> 7) * 0xff };
            word | byte << (8 * i)
        })
    }
    Some(match *parts.get(2).unwrap_or(&"") {
        "" => compute!(|a, b, c| chosen(a, b, [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15])),
        "f4e" => compute!(|a, b, c| chosen(a, b, [c & 3, (c & 3) + 1, (c & 3) + 2, (c & 3) + 3])),
        "b4e" => compute!(|a, b, c| chosen(a, b, [c & 3, ((c & 3) + 7) & 7, ((c & 3) + 6) & 7, ((c & 3) + 5) & 7])),
        "rc8" => compute!(|a, b, c| chosen(a, b, [c & 3; 4])),
        "ecl" => compute!(|a, b, c| chosen(a, b, [c & 3, (c & 3).max(1), (c & 3).max(2), 3])),
        "ecr" => compute!(|a, b, c| chosen(a, b, [0, (c & 3).min(1), (c & 3).min(2), c & 3])),
        "rc16" => compute!(|a, b, c| chosen(a, b, [(c & 1) * 2, (c & 1) * 2 + 1, (c & 1) * 2, (c & 1) * 2 + 1])),
        _ => return None,
    })
}

/// `lop3`: any function of three bits, as its table of eight.
fn lookup3(a: u64, b: u64, c: u64, table: u64) -> u64 {
    (0..8).filter(|i| table >> i & 1 == 1).fold(0, |out, i| {
        let pick = |word: u64, bit: u64| if i >> bit & 1 == 1 { word } else { !word };
        out | (pick(a, 2) & pick(b, 1) & pick(c, 0))
    })
}
