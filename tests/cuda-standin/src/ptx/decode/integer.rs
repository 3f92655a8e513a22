//! Integer arithmetic: `add` to `dp4a`, and the chains through the carry flag.
//!
//! Invariant: results wrap as the device's do; division by zero gives all ones and leaves the remainder's dividend.
//! Not here: single bits and bytes (`bits.rs`).

use crate::ptx::lanes::{Compute, compute, integers};
use crate::ptx::source::Type;

/// The function of an integer instruction, by its opcode's parts and type.
pub fn integer(parts: &[&str], kind: Type) -> Option<Compute> {
    let has = |part: &str| parts.contains(&part);
    let (name, saturate) = (parts[0], has("sat"));
    match name {
        "add" | "sub" if saturate => match (name, kind) {
            ("add", Type::S32) => Some(compute!(|a, b| (a as i32).saturating_add(b as i32) as u64)),
            ("sub", Type::S32) => Some(compute!(|a, b| (a as i32).saturating_sub(b as i32) as u64)),
            _ => None,
        },
        "add" => integers!(kind, |a, b| a.wrapping_add(b)),
        "sub" => integers!(kind, |a, b| a.wrapping_sub(b)),
        "mul" if has("lo") => integers!(kind, |a, b| a.wrapping_mul(b)),
        "mul" if has("hi") => high(kind),
        "mul" if has("wide") => wide(kind),
        "mad" if has("lo") => integers!(kind, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        "mad" if has("hi") && !saturate => high_add(kind),
        "mad" if has("wide") => wide_add(kind),
        "mul24" if has("lo") => match kind {
            Type::U32 => Some(compute!(|a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff))),
            Type::S32 => Some(compute!(|a, b| low24(a).wrapping_mul(low24(b)) as u64)),
            _ => None,
        },
        "mad24" if has("lo") => match kind {
            Type::U32 => Some(compute!(|a, b, c| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c))),
            Type::S32 => Some(compute!(|a, b, c| low24(a).wrapping_mul(low24(b)).wrapping_add(c as i64) as u64)),
            _ => None,
        },
        "div" => integers!(kind, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => integers!(kind, |a, b| if b == 0 { a } else { a.wrapping_rem(b) }),
        "min" => integers!(kind, |a, b| a.min(b)),
        "max" => integers!(kind, |a, b| a.max(b)),
        "abs" => match kind {
            Type::S16 => Some(compute!(|a| (a as i16).wrapping_abs() as u64)),
            Type::S32 => Some(compute!(|a| (a as i32).wrapping_abs() as u64)),
            Type::S64 => Some(compute!(|a| (a as i64).wrapping_abs() as u64)),
            _ => None,
        },
        "neg" => integers!(kind, |a| a.wrapping_neg()),
        "sad" => integers!(kind, |a, b, c| (a.abs_diff(b) as T).wrapping_add(c)),
        "dp4a" => dot4(parts),
        _ => None,
    }
}

fn low24(a: u64) -> i64 {
    i64::from((a as i32) << 8 >> 8)
}

fn high(kind: Type) -> Option<Compute> {
    Some(match kind {
        Type::U16 => compute!(|a, b| (u64::from(a as u16) * u64::from(b as u16)) >> 16),
        Type::S16 => compute!(|a, b| ((i64::from(a as i16) * i64::from(b as i16)) >> 16) as u64),
        Type::U32 => compute!(|a, b| (u64::from(a as u32) * u64::from(b as u32)) >> 32),
        Type::S32 => compute!(|a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64),
        Type::U64 => compute!(|a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        Type::S64 => compute!(|a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64),
        _ => return None,
    })
}

fn high_add(kind: Type) -> Option<Compute> {
    Some(match kind {
        Type::U16 => compute!(|a, b, c| ((u64::from(a as u16) * u64::from(b as u16)) >> 16).wrapping_add(c)),
        Type::S16 => {
            compute!(|a, b, c| ((i64::from(a as i16) * i64::from(b as i16)) >> 16).wrapping_add(c as i64) as u64)
        }
        Type::U32 => compute!(|a, b, c| ((u64::from(a as u32) * u64::from(b as u32)) >> 32).wrapping_add(c)),
        Type::S32 => {
            compute!(|a, b, c| ((i64::from(a as i32) * i64::from(b as i32)) >> 32).wrapping_add(c as i64) as u64)
        }
        Type::U64 => compute!(|a, b, c| (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c)),
        Type::S64 => compute!(|a, b, c| (((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64).wrapping_add(c)),
        _ => return None,
    })
}

fn wide(kind: Type) -> Option<Compute> {
    Some(match kind {
        Type::U16 => compute!(|a, b| u64::from(a as u16) * u64::from(b as u16)),
        Type::S16 => compute!(|a, b| (i64::from(a as i16) * i64::from(b as i16)) as u64),
        Type::U32 => compute!(|a, b| u64::from(a as u32) * u64::from(b as u32)),
        Type::S32 => compute!(|a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
        _ => return None,
    })
}

fn wide_add(kind: Type) -> Option<Compute> {
    Some(match kind {
        Type::U16 => compute!(|a, b, c| (u64::from(a as u16) * u64::from(b as u16)).wrapping_add(c)),
        Type::S16 => compute!(|a, b, c| (i64::from(a as i16) * i64::from(b as i16)).wrapping_add(c as i64) as u64),
        Type::U32 => compute!(|a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)),
        Type::S32 => compute!(|a, b, c| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64),
        _ => return None,
    })
}

/// `dp4a.atype.btype`: the sum of four products of bytes.
fn dot4(parts: &[&str]) -> Option<Compute> {
    fn dot(a: u64, b: u64, c: u64, signed: (bool, bool)) -> u64 {
        let byte = |word: u64, i: u32, signed: bool| {
            let byte = (word >> (8 * i)) as u8;
            if signed { i64::from(byte as i8) } else { i64::from(byte) }
        };
        (0..4).fold(c as i64, |sum, i| sum.wrapping_add(byte(a, i, signed.0) * byte(b, i, signed.1))) as u64
    }
    Some(match (parts.get(1)?, parts.get(2)?) {
        (&"u32", &"u32") => compute!(|a, b, c| dot(a, b, c, (false, false))),
        (&"u32", &"s32") => compute!(|a, b, c| dot(a, b, c, (false, true))),
        (&"s32", &"u32") => compute!(|a, b, c| dot(a, b, c, (true, false))),
        (&"s32", &"s32") => compute!(|a, b, c| dot(a, b, c, (true, true))),
        _ => return None,
    })
}

/// A step of a chain through the carry flag: `(a, b, c, carry in) → (value, carry out)`.
pub type CarryStep = fn(u64, u64, u64, bool) -> (u64, bool);

/// The step of `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
pub fn carry(parts: &[&str], kind: Type) -> Option<CarryStep> {
    let wide = kind.n_bytes() == 8;
    if kind.is_float() || kind.n_bytes() < 4 {
        return None;
    }
    Some(match (parts[0], wide) {
        ("add", false) => |a, b, _, _| add32(a, b, false),
        ("add", true) => |a, b, _, _| add64(a, b, false),
        ("addc", false) => |a, b, _, carry| add32(a, b, carry),
        ("addc", true) => |a, b, _, carry| add64(a, b, carry),
        ("sub", false) => |a, b, _, _| sub32(a, b, false),
        ("sub", true) => |a, b, _, _| sub64(a, b, false),
        ("subc", false) => |a, b, _, carry| sub32(a, b, carry),
        ("subc", true) => |a, b, _, carry| sub64(a, b, carry),
        ("mad" | "madc", _) => return multiply_carry(parts, kind),
        _ => return None,
    })
}

fn multiply_carry(parts: &[&str], kind: Type) -> Option<CarryStep> {
    let (high, with) = (parts.contains(&"hi"), parts[0] == "madc");
    Some(match (kind, high, with) {
        (Type::U32 | Type::S32, false, false) => |a, b, c, _| add32(a.wrapping_mul(b), c, false),
        (Type::U32 | Type::S32, false, true) => |a, b, c, carry| add32(a.wrapping_mul(b), c, carry),
        (Type::U32, true, false) => |a, b, c, _| add32(high32(a, b), c, false),
        (Type::U32, true, true) => |a, b, c, carry| add32(high32(a, b), c, carry),
        (Type::S32, true, false) => |a, b, c, _| add32(signed_high32(a, b), c, false),
        (Type::S32, true, true) => |a, b, c, carry| add32(signed_high32(a, b), c, carry),
        (Type::U64 | Type::S64, false, false) => |a, b, c, _| add64(a.wrapping_mul(b), c, false),
        (Type::U64 | Type::S64, false, true) => |a, b, c, carry| add64(a.wrapping_mul(b), c, carry),
        (Type::U64, true, false) => |a, b, c, _| add64(high64(a, b), c, false),
        (Type::U64, true, true) => |a, b, c, carry| add64(high64(a, b), c, carry),
        _ => return None,
    })
}

fn high32(a: u64, b: u64) -> u64 {
    (u64::from(a as u32) * u64::from(b as u32)) >> 32
}

fn signed_high32(a: u64, b: u64) -> u64 {
    ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64
}

fn high64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

fn add32(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u64::from(a as u32) + u64::from(b as u32) + u64::from(carry);
    (sum & 0xffff_ffff, sum >> 32 != 0)
}

fn add64(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64, sum >> 64 != 0)
}

fn sub32(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let wanted = u64::from(b as u32) + u64::from(borrow);
    let have = u64::from(a as u32);
    (have.wrapping_sub(wanted) & 0xffff_ffff, have < wanted)
}

fn sub64(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let wanted = u128::from(b) + u128::from(borrow);
    (u128::from(a).wrapping_sub(wanted) as u64, u128::from(a) < wanted)
}
