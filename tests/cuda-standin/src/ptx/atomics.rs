//! The operations of `atom` and `red`: from the old value and the operands to the new value.

use super::code::Update;
use super::floats::{bits32, double, single};
use super::source::Type;

/// The update of that name and type.
pub fn update(name: &str, kind: Type) -> Option<Update> {
    Some(match (name, kind) {
        ("exch", _) => |_, b, _| b,
        // The comparison is of all bytes that are stored; `old` has no others.
        ("cas", Type::B16 | Type::U16) => |old, b, c| if old as u16 == b as u16 { c } else { old },
        ("cas", Type::B32 | Type::U32 | Type::S32) => |old, b, c| if old as u32 == b as u32 { c } else { old },
        ("cas", Type::B64 | Type::U64 | Type::S64) => |old, b, c| if old == b { c } else { old },
        ("and", _) => |old, b, _| old & b,
        ("or", _) => |old, b, _| old | b,
        ("xor", _) => |old, b, _| old ^ b,
        ("add", Type::F32) => |old, b, _| bits32(single(old) + single(b)),
        ("add", Type::F64) => |old, b, _| (double(old) + double(b)).to_bits(),
        ("add", Type::U32 | Type::S32 | Type::U64 | Type::S64) => |old, b, _| old.wrapping_add(b),
        ("inc", Type::U32) => |old, b, _| if old as u32 >= b as u32 { 0 } else { old + 1 },
        ("dec", Type::U32) => |old, b, _| if old as u32 == 0 || old as u32 > b as u32 { b } else { old - 1 },
        ("min", Type::U32) => |old, b, _| u64::from((old as u32).min(b as u32)),
        ("max", Type::U32) => |old, b, _| u64::from((old as u32).max(b as u32)),
        ("min", Type::S32) => |old, b, _| (old as i32).min(b as i32) as u64,
        ("max", Type::S32) => |old, b, _| (old as i32).max(b as i32) as u64,
        ("min", Type::U64) => |old, b, _| old.min(b),
        ("max", Type::U64) => |old, b, _| old.max(b),
        ("min", Type::S64) => |old, b, _| (old as i64).min(b as i64) as u64,
        ("max", Type::S64) => |old, b, _| (old as i64).max(b as i64) as u64,
        _ => return None,
    })
}
