//! Comparisons: the tests of `setp` and `set`, and how they combine with a predicate.

use crate::ptx::code::Test;
use crate::ptx::floats::{double, flush, from_half, single};
use crate::ptx::lanes::{Lanes, test2};
use crate::ptx::source::Type;

/// A [`Test`] from an expression of one lane's operands.
macro_rules! test {
    (|$a:ident, $b:ident| $value:expr) => {{
        fn run(rows: &[Lanes], a: u32, b: u32) -> u32 {
            test2(rows, a, b, |$a, $b| $value)
        }
        run as Test
    }};
}

/// The tests of one type: `lt`, `le`, … with operands read by `$read`.
macro_rules! ordered {
    ($name:expr, $read:expr) => {
        match $name {
            "eq" => Some(test!(|a, b| $read(a) == $read(b))),
            "ne" => Some(test!(|a, b| $read(a) != $read(b))),
            "lt" | "lo" => Some(test!(|a, b| $read(a) < $read(b))),
            "le" | "ls" => Some(test!(|a, b| $read(a) <= $read(b))),
            "gt" | "hi" => Some(test!(|a, b| $read(a) > $read(b))),
            "ge" | "hs" => Some(test!(|a, b| $read(a) >= $read(b))),
            _ => None,
        }
    };
}

/// As [`ordered!`], with the forms that hold for NaN.
macro_rules! floating {
    ($name:expr, $read:expr) => {
        match $name {
            // Of two floats, `ne` is false if one is NaN; Rust's `!=` is true, which is `neu`.
            "ne" => Some(test!(|a, b| $read(a) < $read(b) || $read(a) > $read(b))),
            "equ" => Some(test!(|a, b| !($read(a) < $read(b) || $read(a) > $read(b)))),
            "neu" => Some(test!(|a, b| $read(a) != $read(b))),
            "ltu" => Some(test!(|a, b| !($read(a) >= $read(b)))),
            "leu" => Some(test!(|a, b| !($read(a) > $read(b)))),
            "gtu" => Some(test!(|a, b| !($read(a) <= $read(b)))),
            "geu" => Some(test!(|a, b| !($read(a) < $read(b)))),
            "num" => Some(test!(|a, b| !$read(a).is_nan() && !$read(b).is_nan())),
            "nan" => Some(test!(|a, b| $read(a).is_nan() || $read(b).is_nan())),
            name => ordered!(name, $read),
        }
    };
}

/// The test of that name for a type; `ftz` for singles whose subnormals count as zero.
#[allow(clippy::neg_cmp_op_on_partial_ord, clippy::nonminimal_bool)]
pub fn test(name: &str, kind: Type, ftz: bool) -> Option<Test> {
    match kind {
        Type::U16 | Type::B16 => ordered!(name, |a: u64| a as u16),
        Type::S16 => ordered!(name, |a: u64| a as i16),
        Type::U32 | Type::B32 => ordered!(name, |a: u64| a as u32),
        Type::S32 => ordered!(name, |a: u64| a as i32),
        Type::U64 | Type::B64 => ordered!(name, |a: u64| a),
        Type::S64 => ordered!(name, |a: u64| a as i64),
        Type::F32 if ftz => floating!(name, |a: u64| flush(single(a))),
        Type::F32 => floating!(name, single),
        Type::F64 => floating!(name, double),
        Type::F16 => floating!(name, |a: u64| from_half(a as u16)),
        _ => None,
    }
}

/// How `setp` joins its test with a predicate.
pub fn combine(name: &str) -> Option<fn(u32, u32) -> u32> {
    Some(match name {
        "and" => |a, b| a & b,
        "or" => |a, b| a | b,
        "xor" => |a, b| a ^ b,
        _ => return None,
    })
}

/// `testp`: a property of one float, as a test of its row with itself.
pub fn property(name: &str, kind: Type) -> Option<Test> {
    Some(match (name, kind) {
        ("finite", Type::F32) => test!(|a, _b| single(a).is_finite()),
        ("infinite", Type::F32) => test!(|a, _b| single(a).is_infinite()),
        ("number", Type::F32) => test!(|a, _b| !single(a).is_nan()),
        ("notanumber", Type::F32) => test!(|a, _b| single(a).is_nan()),
        ("normal", Type::F32) => test!(|a, _b| single(a).is_normal()),
        ("subnormal", Type::F32) => test!(|a, _b| single(a).is_subnormal()),
        ("finite", Type::F64) => test!(|a, _b| double(a).is_finite()),
        ("infinite", Type::F64) => test!(|a, _b| double(a).is_infinite()),
        ("number", Type::F64) => test!(|a, _b| !double(a).is_nan()),
        ("notanumber", Type::F64) => test!(|a, _b| double(a).is_nan()),
        ("normal", Type::F64) => test!(|a, _b| double(a).is_normal()),
        ("subnormal", Type::F64) => test!(|a, _b| double(a).is_subnormal()),
        _ => return None,
    })
}
