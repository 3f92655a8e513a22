//! Floating-point arithmetic: singles, doubles, halves, and the approximate functions.
//!
//! The common forms (round to nearest, no flushing, no clamping) are loops of their own; the others go lane by lane
//! through a [`Form`]. Approximate functions are computed to full precision: the device may differ in the last bits.

use crate::ptx::code::{Form, Rounding, Scalar};
use crate::ptx::floats::{self, bits32, double, flush, single};
use crate::ptx::lanes::{Compute, compute};
use crate::ptx::source::Type;

/// How an instruction is done.
pub enum Way {
    Loop(Compute),
    Each(Scalar),
}

/// The function of a floating-point instruction, by its name, type and form.
pub fn float(parts: &[&str], kind: Type, form: Form) -> Option<Way> {
    let plain = form.rounding == Rounding::Nearest && !form.ftz && !form.saturate;
    if plain && let Some(quick) = quick(parts, kind) {
        return Some(Way::Loop(quick));
    }
    let scalar: Scalar = match kind {
        Type::F32 => rare_single(parts)?,
        Type::F64 => rare_double(parts)?,
        Type::F16 => half(parts)?,
        _ => return None,
    };
    Some(Way::Each(scalar))
}

fn quick(parts: &[&str], kind: Type) -> Option<Compute> {
    let approximate = parts.contains(&"approx") || parts.contains(&"full");
    Some(match (parts[0], kind) {
        ("add", Type::F32) => compute!(|a, b| bits32(single(a) + single(b))),
        ("sub", Type::F32) => compute!(|a, b| bits32(single(a) - single(b))),
        ("mul", Type::F32) => compute!(|a, b| bits32(single(a) * single(b))),
        ("div", Type::F32) if !approximate => compute!(|a, b| bits32(single(a) / single(b))),
        ("fma" | "mad", Type::F32) => compute!(|a, b, c| bits32(single(a).mul_add(single(b), single(c)))),
        ("abs", Type::F32) => compute!(|a| a & 0x7fff_ffff),
        ("neg", Type::F32) => compute!(|a| a ^ 0x8000_0000),
        ("copysign", Type::F32) => compute!(|a, b| (a & 0x8000_0000) | (b & 0x7fff_ffff)),
        ("add", Type::F64) => compute!(|a, b| (double(a) + double(b)).to_bits()),
        ("sub", Type::F64) => compute!(|a, b| (double(a) - double(b)).to_bits()),
        ("mul", Type::F64) => compute!(|a, b| (double(a) * double(b)).to_bits()),
        ("div", Type::F64) => compute!(|a, b| (double(a) / double(b)).to_bits()),
        ("fma" | "mad", Type::F64) => compute!(|a, b, c| double(a).mul_add(double(b), double(c)).to_bits()),
        ("abs", Type::F64) => compute!(|a| a & (u64::MAX >> 1)),
        ("neg", Type::F64) => compute!(|a| a ^ (1 << 63)),
        ("copysign", Type::F64) => compute!(|a, b| (a & (1 << 63)) | (b & (u64::MAX >> 1))),
        ("min", Type::F64) => compute!(|a, b| floats::min(double(a), double(b)).to_bits()),
        ("max", Type::F64) => compute!(|a, b| floats::max(double(a), double(b)).to_bits()),
        _ => return None,
    })
}

/// A single-precision result with the form's flushing and clamping.
fn finish(form: Form, value: f32) -> u64 {
    let value = if form.ftz { flush(value) } else { value };
    bits32(if !form.saturate {
        value
    } else if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 1.0) + 0.0
    })
}

fn taken(form: Form, bits: u64) -> f32 {
    if form.ftz { flush(single(bits)) } else { single(bits) }
}

fn by_double(form: Form, a: u64, f: fn(f64) -> f64) -> u64 {
    finish(form, f(f64::from(taken(form, a))) as f32)
}

fn rare_single(parts: &[&str]) -> Option<Scalar> {
    let nan = parts.contains(&"NaN");
    Some(match parts[0] {
        "add" => |form, a, b, _| finish(form, floats::fma32(taken(form, a), 1.0, taken(form, b), form.rounding)),
        "sub" => |form, a, b, _| finish(form, floats::fma32(taken(form, a), 1.0, -taken(form, b), form.rounding)),
        "mul" => |form, a, b, _| {
            let (a, b) = (taken(form, a), taken(form, b));
            // A product has no second part whose zero could change its sign.
            finish(form, floats::to_single(f64::from(a) * f64::from(b), form.rounding))
        },
        "fma" | "mad" => {
            |form, a, b, c| finish(form, floats::fma32(taken(form, a), taken(form, b), taken(form, c), form.rounding))
        }
        "div" => |form, a, b, _| finish(form, floats::div32(taken(form, a), taken(form, b), form.rounding)),
        "rcp" => |form, a, _, _| finish(form, floats::div32(1.0, taken(form, a), form.rounding)),
        "sqrt" => |form, a, _, _| finish(form, floats::sqrt32(taken(form, a), form.rounding)),
        "rsqrt" => |form, a, _, _| by_double(form, a, |a| 1.0 / a.sqrt()),
        "sin" => |form, a, _, _| by_double(form, a, f64::sin),
        "cos" => |form, a, _, _| by_double(form, a, f64::cos),
        "tanh" => |form, a, _, _| by_double(form, a, f64::tanh),
        "lg2" => |form, a, _, _| by_double(form, a, f64::log2),
        "ex2" => |form, a, _, _| by_double(form, a, f64::exp2),
        "abs" => |form, a, _, _| finish(form, taken(form, a).abs()),
        "neg" => |form, a, _, _| finish(form, -taken(form, a)),
        "min" if nan => |form, a, b, _| with_nan(form, a, b, floats::min),
        "max" if nan => |form, a, b, _| with_nan(form, a, b, floats::max),
        "min" => |form, a, b, _| finish(form, floats::min(taken(form, a).into(), taken(form, b).into()) as f32),
        "max" => |form, a, b, _| finish(form, floats::max(taken(form, a).into(), taken(form, b).into()) as f32),
        _ => return None,
    })
}

fn with_nan(form: Form, a: u64, b: u64, f: fn(f64, f64) -> f64) -> u64 {
    let (a, b) = (taken(form, a), taken(form, b));
    finish(form, if a.is_nan() || b.is_nan() { f32::NAN } else { f(a.into(), b.into()) as f32 })
}

fn rare_double(parts: &[&str]) -> Option<Scalar> {
    let approximate = parts.contains(&"approx");
    Some(match parts[0] {
        "add" => |form, a, b, _| floats::fma64(double(a), 1.0, double(b), form.rounding).to_bits(),
        "sub" => |form, a, b, _| floats::fma64(double(a), 1.0, -double(b), form.rounding).to_bits(),
        "mul" => |form, a, b, _| {
            let zero = 0f64.copysign(double(a) * double(b));
            floats::fma64(double(a), double(b), zero, form.rounding).to_bits()
        },
        "fma" | "mad" => |form, a, b, c| floats::fma64(double(a), double(b), double(c), form.rounding).to_bits(),
        "div" => |form, a, b, _| floats::div64(double(a), double(b), form.rounding).to_bits(),
        // The device's approximation is of the upper word only.
        "rcp" if approximate => |_, a, _, _| high_word(1.0 / coarse(a)),
        "rsqrt" if approximate => |_, a, _, _| high_word(1.0 / coarse(a).sqrt()),
        "rcp" => |form, a, _, _| floats::div64(1.0, double(a), form.rounding).to_bits(),
        "sqrt" => |form, a, _, _| floats::sqrt64(double(a), form.rounding).to_bits(),
        _ => return None,
    })
}

/// The upper word of a double, its subnormals as zero.
fn coarse(bits: u64) -> f64 {
    let value = double(bits & !0xffff_ffff);
    if value.is_subnormal() { 0f64.copysign(value) } else { value }
}

fn high_word(value: f64) -> u64 {
    if value.is_subnormal() { 0f64.copysign(value).to_bits() } else { value.to_bits() & !0xffff_ffff }
}

/// Halves: computed in double precision, which is exact enough to round once.
fn half(parts: &[&str]) -> Option<Scalar> {
    fn value(bits: u64) -> f64 {
        f64::from(floats::from_half(bits as u16))
    }
    fn finish(form: Form, value: f64) -> u64 {
        let clamped = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
        u64::from(floats::to_half(if form.saturate { clamped } else { value }, form.rounding))
    }
    Some(match parts[0] {
        "add" => |form, a, b, _| finish(form, value(a) + value(b)),
        "sub" => |form, a, b, _| finish(form, value(a) - value(b)),
        "mul" => |form, a, b, _| finish(form, value(a) * value(b)),
        "fma" => |form, a, b, c| finish(form, value(a).mul_add(value(b), value(c))),
        "abs" => |_, a, _, _| a & 0x7fff,
        "neg" => |_, a, _, _| a ^ 0x8000,
        "min" => |form, a, b, _| finish(form, floats::min(value(a), value(b))),
        "max" => |form, a, b, _| finish(form, floats::max(value(a), value(b))),
        _ => return None,
    })
}
