//! `cvt`: between all widths and kinds of numbers.
//!
//! Invariant: as PTX says, floats become integers by clamping, NaN by becoming zero; integers become narrower by
//! wrapping, unless `.sat` is written.

use crate::ptx::code::{Form, Rounding};
use crate::ptx::floats::{self, bits32, double, flush, single};
use crate::ptx::lanes::{Compute, compute};
use crate::ptx::source::Type;

/// The loop of a conversion between integers, or of a common one with doubles; `None` for those that go by [`each`].
pub fn quick(form: Form) -> Option<Compute> {
    let (to, from) = (form.to, form.from);
    if form.saturate || form.ftz {
        return None;
    }
    if to.is_float() || from.is_float() {
        return match (to, from, form.rounding) {
            (Type::F64, Type::S32, Rounding::Nearest) => Some(compute!(|a| f64::from(a as i32).to_bits())),
            (Type::F64, Type::U32, Rounding::Nearest) => Some(compute!(|a| f64::from(a as u32).to_bits())),
            (Type::F64, Type::S64, Rounding::Nearest) => Some(compute!(|a| (a as i64 as f64).to_bits())),
            (Type::F64, Type::U64, Rounding::Nearest) => Some(compute!(|a| (a as f64).to_bits())),
            (Type::F64, Type::F32, _) if !form.to_integral => Some(compute!(|a| f64::from(single(a)).to_bits())),
            _ => None,
        };
    }
    // The narrower type decides: widening keeps the source's sign, narrowing takes the result's.
    let narrow = if from.n_bytes() <= to.n_bytes() { from } else { to };
    Some(match (narrow.n_bytes(), narrow.is_signed()) {
        (1, false) => compute!(|a| u64::from(a as u8)),
        (1, true) => compute!(|a| a as i8 as u64),
        (2, false) => compute!(|a| u64::from(a as u16)),
        (2, true) => compute!(|a| a as i16 as u64),
        (4, false) => compute!(|a| u64::from(a as u32)),
        (4, true) => compute!(|a| a as i32 as u64),
        _ => compute!(|a| a),
    })
}

/// Any conversion, of one lane.
pub fn each(form: Form, a: u64, _: u64, _: u64) -> u64 {
    match (form.from.is_float(), form.to.is_float()) {
        (false, false) => narrowed(integer_of(form.from, a), form.to, true),
        (false, true) => float_bits(form, Number::Integer(integer_of(form.from, a))),
        (true, true) => float_bits(form, Number::Float(float_of(form, a))),
        (true, false) => {
            let whole = floats::to_integral(float_of(form, a), form.rounding);
            // A cast from a float clamps, and makes zero of NaN.
            narrowed(if form.to == Type::U64 { i128::from(whole as u64) } else { whole as i128 }, form.to, true)
        }
    }
}

enum Number {
    Integer(i128),
    Float(f64),
}

fn integer_of(kind: Type, bits: u64) -> i128 {
    match (kind.n_bytes(), kind.is_signed()) {
        (1, false) => i128::from(bits as u8),
        (1, true) => i128::from(bits as i8),
        (2, false) => i128::from(bits as u16),
        (2, true) => i128::from(bits as i16),
        (4, false) => i128::from(bits as u32),
        (4, true) => i128::from(bits as i32),
        (_, false) => i128::from(bits),
        (_, true) => i128::from(bits as i64),
    }
}

fn narrowed(value: i128, kind: Type, clamp: bool) -> u64 {
    let n_bits = 8 * kind.n_bytes() as u32;
    let (least, most) = if kind.is_signed() {
        (-(1i128 << (n_bits - 1)), (1i128 << (n_bits - 1)) - 1)
    } else {
        (0, (1i128 << n_bits) - 1)
    };
    if clamp { value.clamp(least, most) as u64 } else { value as u64 }
}

fn float_of(form: Form, bits: u64) -> f64 {
    match form.from {
        Type::F16 => f64::from(floats::from_half(bits as u16)),
        Type::F32 if form.ftz => f64::from(flush(single(bits))),
        Type::F32 => f64::from(single(bits)),
        _ => double(bits),
    }
}

fn float_bits(form: Form, number: Number) -> u64 {
    let rounding = form.rounding;
    let value = match number {
        Number::Integer(value) => match form.to {
            Type::F32 => return bits32(clamped(form, f64::from(integer_to_single(value, rounding))) as f32),
            _ => integer_to_double(value, rounding),
        },
        Number::Float(value) if form.to_integral => floats::to_integral(value, rounding),
        Number::Float(value) => value,
    };
    let value = clamped(form, value);
    match form.to {
        Type::F16 => u64::from(floats::to_half(value, rounding)),
        Type::F32 => {
            let rounded = floats::to_single(value, rounding);
            bits32(if form.ftz { flush(rounded) } else { rounded })
        }
        _ => value.to_bits(),
    }
}

fn clamped(form: Form, value: f64) -> f64 {
    if !form.saturate {
        value
    } else if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 1.0)
    }
}

fn integer_to_single(value: i128, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    let over = (nearest as i128).cmp(&value);
    match rounding_for(rounding, value < 0) {
        Rounding::Down if over.is_gt() => nearest.next_down(),
        Rounding::Up if over.is_lt() => nearest.next_up(),
        _ => nearest,
    }
}

fn integer_to_double(value: i128, rounding: Rounding) -> f64 {
    let nearest = value as f64;
    let over = (nearest as i128).cmp(&value);
    match rounding_for(rounding, value < 0) {
        Rounding::Down if over.is_gt() => nearest.next_down(),
        Rounding::Up if over.is_lt() => nearest.next_up(),
        _ => nearest,
    }
}

fn rounding_for(rounding: Rounding, negative: bool) -> Rounding {
    match rounding {
        Rounding::Zero if negative => Rounding::Up,
        Rounding::Zero => Rounding::Down,
        other => other,
    }
}
