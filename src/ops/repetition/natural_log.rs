//! The natural logarithm of a share, by operations that round the same everywhere.
//!
//! The logarithms of C libraries and of devices differ in the last digit. This one is a few additions, multiplications and
//! divisions in a fixed order, and `kernels/lib/natural_log.cuh` has the same ones: CPU and GPU agree bit for bit.

/// ln 2 in two parts: the first ends with zeros, so that small multiples of it are exact.
const LN_2: (f64, f64) = (f64::from_bits(0x3fe6_2e42_fefa_0000), f64::from_bits(0x3d7c_f79a_bc9e_3b3a));
const MANTISSA_BITS: u32 = 52;
/// What an exponent of 0 is written as.
const EXPONENT_ZERO: u64 = 1023;

/// Within one unit in the last place, for normal numbers above 0.
pub(super) fn natural_log(x: f64) -> f64 {
    // x = 2^exponent × (1 + above), with 1 + above around 1: from √½ to √2.
    let mut exponent = (x.to_bits() >> MANTISSA_BITS) as f64 - EXPONENT_ZERO as f64;
    let mantissa = x.to_bits() & ((1 << MANTISSA_BITS) - 1);
    let mut around_one = f64::from_bits(mantissa | EXPONENT_ZERO << MANTISSA_BITS);
    if around_one > std::f64::consts::SQRT_2 {
        around_one *= 0.5;
        exponent += 1.0;
    }
    let above = around_one - 1.0;
    // ln (1 + above) = 2 artanh s = 2 s + s × rest, and 2 s = above − s × above: what is rounded stays small.
    let s = above / (2.0 + above);
    let square = s * s;
    let mut rest = 0.0;
    for i in (1..=12_u32).rev() {
        rest = square * (2.0 / f64::from(2 * i + 1) + rest);
    }
    exponent * LN_2.0 - ((s * (above - rest) - exponent * LN_2.1) - above)
}

#[cfg(test)]
mod tests {
    use super::natural_log;

    #[test]
    fn it_is_within_a_unit_of_the_libraries() {
        for n_words in 1..800_u32 {
            for count in 1..=n_words {
                let share = f64::from(count) / f64::from(n_words);
                let (ours, theirs) = (natural_log(share), share.ln());
                assert!(ours.to_bits().abs_diff(theirs.to_bits()) <= 1, "ln {count}/{n_words}: {ours:?} {theirs:?}");
            }
        }
    }
}
