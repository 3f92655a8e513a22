//! Floating-point arithmetic beyond what the host's instructions do: halves, directed rounding, PTX's NaN and zero rules.
//!
//! Singles are rounded once, from an exact or odd-rounded double. Doubles are rounded from the nearest result and the
//! sign of its error, which is exact unless the error itself underflows.
//! Invariant: nothing here depends on the host's rounding mode.

use super::code::Rounding;

/// The one NaN that single-precision instructions give.
pub const NAN_32: u32 = 0x7fff_ffff;

/// The value of a half.
pub fn from_half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// The half nearest to a value, in the given direction.
pub fn to_half(value: f64, rounding: Rounding) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.is_nan() {
        return 0x7fff;
    }
    let magnitude = value.abs();
    // The direction as seen from zero.
    let rounding = match rounding {
        Rounding::Down | Rounding::Up if (rounding == Rounding::Down) == (sign != 0) => Rounding::Up,
        Rounding::Down | Rounding::Up => Rounding::Zero,
        other => other,
    };
    if magnitude.is_infinite() {
        return sign | 0x7c00;
    }
    // The step between halves of this size is a power of two, so that dividing by it is exact.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).clamp(-14, 16);
    let n_steps = to_integral(magnitude / 2f64.powi(exponent - 10), rounding);
    // Carrying over into the next exponent is what the encoding does by itself.
    let bits = if n_steps < 1024.0 { n_steps } else { n_steps + f64::from(exponent + 14) * 1024.0 };
    if exponent <= 15 && bits < 31744.0 {
        return sign | bits as u16;
    }
    sign | if rounding == Rounding::Zero { 0x7bff } else { 0x7c00 }
}

/// The whole number next to a value, in the given direction.
pub fn to_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::Away => value.round(),
    }
}

/// A double as a single, in the given direction.
pub fn to_single(value: f64, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    if value.is_infinite() {
        return nearest;
    }
    let error = value - f64::from(nearest);
    directed32(nearest, error, rounding)
}

fn directed32(nearest: f32, error: f64, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::Down | Rounding::Zero if error < 0.0 && (rounding == Rounding::Down || nearest > 0.0) => {
            nearest.next_down()
        }
        Rounding::Up | Rounding::Zero if error > 0.0 && (rounding == Rounding::Up || nearest < 0.0) => {
            nearest.next_up()
        }
        _ => nearest,
    }
}

fn directed64(nearest: f64, error: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Down | Rounding::Zero if error < 0.0 && (rounding == Rounding::Down || nearest > 0.0) => {
            nearest.next_down()
        }
        Rounding::Up | Rounding::Zero if error > 0.0 && (rounding == Rounding::Up || nearest < 0.0) => {
            nearest.next_up()
        }
        _ => nearest,
    }
}

/// `a + b` as its nearest value and the rest.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let (of_a, of_b) = (sum - b, sum - (sum - b));
    (sum, (a - of_a) + (b - of_b))
}

/// The double with an odd last bit that encloses an inexact value: keeps enough to round once more.
fn to_odd(nearest: f64, error: f64) -> f64 {
    if error == 0.0 || !nearest.is_finite() || error.is_nan() || nearest.to_bits() & 1 == 1 {
        nearest
    } else if error > 0.0 {
        nearest.next_up()
    } else {
        nearest.next_down()
    }
}

/// `a * b + c`, rounded once.
pub fn fma32(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    let (sum, error) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    if rounding != Rounding::Nearest && sum == 0.0 && error == 0.0 {
        return zero_sum(f64::from(a) * f64::from(b), f64::from(c), rounding) as f32;
    }
    to_single(to_odd(sum, error), rounding)
}

/// The sign of an exact zero: minus when rounding down, unless both parts are plus zero.
fn zero_sum(a: f64, b: f64, rounding: Rounding) -> f64 {
    let both_positive = a == 0.0 && b == 0.0 && a.is_sign_positive() && b.is_sign_positive();
    if rounding == Rounding::Down && !both_positive { -0.0 } else { a + b }
}

/// `a / b`, rounded once.
pub fn div32(a: f32, b: f32, rounding: Rounding) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    let error = (-quotient).mul_add(b, a) * b.signum();
    to_single(to_odd(quotient, error), rounding)
}

/// The square root, rounded once.
pub fn sqrt32(a: f32, rounding: Rounding) -> f32 {
    let root = f64::from(a).sqrt();
    to_single(to_odd(root, (-root).mul_add(root, f64::from(a))), rounding)
}

/// `a * b + c`, rounded once.
pub fn fma64(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    let nearest = a.mul_add(b, c);
    if rounding == Rounding::Nearest || nearest.is_nan() {
        return nearest;
    }
    if nearest.is_infinite() {
        return overflowed(nearest, a.is_finite() && b.is_finite() && c.is_finite(), rounding);
    }
    let product = a * b;
    let (alpha1, alpha2) = two_sum(c, a.mul_add(b, -product));
    let (beta1, beta2) = two_sum(product, alpha1);
    let error = (beta1 - nearest + beta2) + alpha2;
    if nearest == 0.0 && error == 0.0 {
        return zero_sum(product, c, rounding);
    }
    directed64(nearest, error, rounding)
}

/// `a / b`, rounded once.
pub fn div64(a: f64, b: f64, rounding: Rounding) -> f64 {
    let nearest = a / b;
    if rounding == Rounding::Nearest || nearest.is_nan() {
        return nearest;
    }
    if nearest.is_infinite() {
        return overflowed(nearest, a.is_finite() && b != 0.0, rounding);
    }
    directed64(nearest, (-nearest).mul_add(b, a) * b.signum(), rounding)
}

/// The square root, rounded once.
pub fn sqrt64(a: f64, rounding: Rounding) -> f64 {
    let nearest = a.sqrt();
    if rounding == Rounding::Nearest || !nearest.is_finite() {
        return nearest;
    }
    directed64(nearest, (-nearest).mul_add(nearest, a), rounding)
}

/// What becomes of a result that is too large: the largest number, where the direction points away from infinity.
fn overflowed(infinite: f64, from_finite: bool, rounding: Rounding) -> f64 {
    let inward = match rounding {
        Rounding::Zero => true,
        Rounding::Down => infinite > 0.0,
        Rounding::Up => infinite < 0.0,
        Rounding::Nearest | Rounding::Away => false,
    };
    if inward && from_finite { f64::MAX.copysign(infinite) } else { infinite }
}

/// A subnormal as zero of its sign.
pub fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// The bits of a single-precision result.
#[inline(always)]
pub fn bits32(value: f32) -> u64 {
    u64::from(if value.is_nan() { NAN_32 } else { value.to_bits() })
}

/// The single in the low bits.
#[inline(always)]
pub fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The double.
#[inline(always)]
pub fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The smaller of two: a number beats NaN, minus zero is below plus zero.
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}

/// The larger of two: a number beats NaN, plus zero is above minus zero.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    -min(-a, -b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_there_and_back() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7c00 != 0x7c00 || bits & 0x3ff == 0) {
            for rounding in [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up] {
                assert_eq!(to_half(f64::from(from_half(bits)), rounding), bits, "{bits:x} {rounding:?}");
            }
        }
        assert!(from_half(to_half(f64::NAN, Rounding::Nearest)).is_nan());
    }

    #[test]
    fn halves_round_in_each_direction() {
        let between = 1.0 + 2f64.powi(-11);
        let above = between + 1e-9;
        for (value, rounding, bits) in [
            (between, Rounding::Nearest, 0x3c00),
            (above, Rounding::Nearest, 0x3c01),
            (above, Rounding::Zero, 0x3c00),
            (-above, Rounding::Down, 0xbc01),
            (-above, Rounding::Up, 0xbc00),
            (65519.9, Rounding::Nearest, 0x7bff),
            (65520.0, Rounding::Nearest, 0x7c00),
            (1e9, Rounding::Zero, 0x7bff),
            (1e9, Rounding::Down, 0x7bff),
            (-1e9, Rounding::Down, 0xfc00),
            (2f64.powi(-25), Rounding::Nearest, 0),
            (2f64.powi(-25), Rounding::Up, 1),
            (2f64.powi(-14) * 0.9999, Rounding::Nearest, 0x0400),
        ] {
            assert_eq!(to_half(value, rounding), bits, "{value} {rounding:?}");
        }
    }

    #[test]
    fn directed_results_enclose_the_exact_one() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as f64 - 8e6) * 2f64.powi((state >> 33 & 31) as i32 - 16)
        };
        for _ in 0..20_000 {
            let (a, b, c) = (next() as f32, next() as f32, next() as f32);
            let (down, up) = (fma32(a, b, c, Rounding::Down), fma32(a, b, c, Rounding::Up));
            let nearest = fma32(a, b, c, Rounding::Nearest);
            assert_eq!(nearest, a.mul_add(b, c));
            assert!(down == up || down.next_up() == up, "{a} {b} {c}");
            assert!(nearest == down || nearest == up);
            let (a, b, c) = (f64::from(a) / 3.0, f64::from(b) / 7.0, f64::from(c) / 11.0);
            let (down, up) = (fma64(a, b, c, Rounding::Down), fma64(a, b, c, Rounding::Up));
            assert!(down == up || down.next_up() == up, "{a} {b} {c}");
            assert!(a.mul_add(b, c) == down || a.mul_add(b, c) == up);
            if b != 0.0 {
                let (down, up) = (div64(a, b, Rounding::Down), div64(a, b, Rounding::Up));
                assert!(down == up || down.next_up() == up, "{a} / {b}");
            }
        }
        assert_eq!(fma64(f64::MAX, 2.0, 0.0, Rounding::Zero), f64::MAX);
        assert_eq!(fma64(f64::MAX, 2.0, 0.0, Rounding::Up), f64::INFINITY);
        assert!(fma64(1.0, 1.0, -1.0, Rounding::Down).is_sign_negative());
    }
}
