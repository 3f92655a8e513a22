//! The thresholds of a sweep, and which of them a value passes.
//!
//! Invariant: thresholds are the numbers that a user would write, `0.3` and not `0.1 + 0.1 + 0.1`: they are computed
//! in decimals and rounded once. Values compare as they do in `WHERE`: not-a-number is above all numbers.

/// The most thresholds of one sweep: more say nothing more, and are most likely a slip.
pub const MOST_THRESHOLDS: usize = 1_000;

/// How a value must stand to the threshold to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `<=`
    AtMost,
    /// `<`
    Below,
}

impl Comparison {
    /// The comparison that a rule ends in: `words(text) >=`.
    pub fn at_end_of(rule: &str) -> Option<Self> {
        let rule = rule.trim_end();
        if rule.ends_with("=>") || rule.ends_with("<>") {
            return None;
        }
        let endings = [(">=", Self::AtLeast), ("<=", Self::AtMost), (">", Self::Above), ("<", Self::Below)];
        endings.into_iter().find(|(sign, _)| rule.ends_with(sign)).map(|(_, comparison)| comparison)
    }

    /// Whether what passes a threshold passes the lower ones too, and not the higher ones.
    pub fn keeps_before(self) -> bool {
        matches!(self, Comparison::AtLeast | Comparison::Above)
    }
}

/// Why there are no such thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// One of the three is not a finite number.
    NotFinite,
    /// The step is 0 or less.
    Step,
    /// The end comes before the beginning.
    Backwards,
    /// There would be more than [`MOST_THRESHOLDS`].
    TooMany,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::NotFinite => write!(f, "the thresholds of a sweep must be finite numbers"),
            Refusal::Step => write!(f, "the step of a sweep must be greater than 0"),
            Refusal::Backwards => write!(f, "a sweep goes upwards: its end must not be below its beginning"),
            Refusal::TooMany => write!(f, "a sweep has at most {MOST_THRESHOLDS} thresholds"),
        }
    }
}

/// `low`, `low + step`, … up to `high`, which is one of them if it is hit.
pub fn thresholds(low: f64, high: f64, step: f64) -> Result<Vec<f64>, Refusal> {
    if ![low, high, step].iter().all(|number| number.is_finite()) {
        return Err(Refusal::NotFinite);
    }
    if step <= 0.0 {
        return Err(Refusal::Step);
    }
    if high < low {
        return Err(Refusal::Backwards);
    }
    let decimals = Decimals::of([low, high, step]);
    let n_steps = match &decimals {
        Some(Decimals { digits: [low, high, step], .. }) => ((high - low) / step) as f64,
        None => ((high - low) / step).floor(),
    };
    if n_steps >= MOST_THRESHOLDS as f64 {
        return Err(Refusal::TooMany);
    }
    let at = |index: usize| match &decimals {
        Some(decimals) => decimals.threshold(index),
        None => low + index as f64 * step,
    };
    // `-0` is written `0`, and must not compare as the other zero.
    Ok((0..=n_steps as usize).map(|index| at(index) + 0.0).collect())
}

/// Where a value stands among the ascending thresholds: those before this place keep it and the others do not, or the
/// other way round, as [`Comparison::keeps_before`] says.
pub fn bucket(thresholds: &[f64], comparison: Comparison, value: f64) -> usize {
    match comparison {
        Comparison::Above | Comparison::AtMost => {
            thresholds.partition_point(|threshold| threshold.total_cmp(&value).is_lt())
        }
        Comparison::AtLeast | Comparison::Below => {
            thresholds.partition_point(|threshold| threshold.total_cmp(&value).is_le())
        }
    }
}

/// Beginning, end and step as whole numbers of one power of ten.
struct Decimals {
    digits: [i128; 3],
    exponent: i32,
}

impl Decimals {
    /// `None` where the numbers lie too far apart for that.
    fn of(numbers: [f64; 3]) -> Option<Self> {
        let parts = numbers.map(decimal);
        let exponent =
            parts.iter().flatten().filter(|(digits, _)| *digits != 0).map(|(_, exponent)| *exponent).min()?;
        let mut scaled = [0; 3];
        for (scaled, part) in scaled.iter_mut().zip(parts) {
            let (digits, own_exponent) = part?;
            if digits != 0 {
                // A number has at most 17 digits; with 20 zeros behind them, differences still fit.
                let n_zeros = u32::try_from(own_exponent - exponent).ok().filter(|n_zeros| *n_zeros <= 20)?;
                *scaled = digits * 10_i128.pow(n_zeros);
            }
        }
        Some(Self { digits: scaled, exponent })
    }

    fn threshold(&self, index: usize) -> f64 {
        let [low, _, step] = self.digits;
        let sum = low + index as i128 * step;
        format!("{sum}e{}", self.exponent).parse().unwrap_or(f64::NAN)
    }
}

/// The shortest decimal that reads back as the same number, which is what the user wrote: digits and exponent.
fn decimal(number: f64) -> Option<(i128, i32)> {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let n_places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let exponent: i32 = exponent.parse().ok()?;
    Some((mantissa.replace('.', "").parse().ok()?, exponent - i32::try_from(n_places).ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_the_numbers_one_would_write() {
        assert_eq!(thresholds(0.0, 1.0, 0.1).unwrap(), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        assert_eq!(thresholds(-1.0, 1.5, 1.0).unwrap(), [-1.0, 0.0, 1.0]);
        assert_eq!(thresholds(-0.0, 0.0, 1.0).unwrap()[0].to_bits(), 0);
        assert_eq!(thresholds(7.0, 7.0, 3.0).unwrap(), [7.0]);
        assert_eq!(thresholds(1e-300, 3e-300, 1e-300).unwrap().len(), 3);
        assert_eq!(thresholds(0.0, 1e300, 1e299).unwrap().len(), 11);
        assert_eq!(thresholds(0.0, 999.0, 1.0).unwrap().len(), MOST_THRESHOLDS);
    }

    #[test]
    fn ranges_that_make_no_sense_are_refused() {
        let cases = [
            (0.0, 1.0, 0.0, Refusal::Step),
            (0.0, 1.0, -0.1, Refusal::Step),
            (1.0, 0.0, 0.1, Refusal::Backwards),
            (0.0, 1000.0, 1.0, Refusal::TooMany),
            (-1.7e308, 1.7e308, 1.0, Refusal::TooMany),
            (0.0, 1.0, 5e-324, Refusal::TooMany),
            (0.0, f64::NAN, 1.0, Refusal::NotFinite),
        ];
        for (low, high, step, refusal) in cases {
            assert_eq!(thresholds(low, high, step), Err(refusal), "{low} {high} {step}");
        }
    }

    #[test]
    fn a_value_passes_the_thresholds_that_it_compares_with() {
        let thresholds = thresholds(0.0, 0.4, 0.1).unwrap();
        let kept = |comparison: Comparison, value: f64| {
            let place = bucket(&thresholds, comparison, value);
            if comparison.keeps_before() { 0..place } else { place..thresholds.len() }
        };
        type Holds = fn(&f64, &f64) -> bool;
        let compare: [(&str, Holds); 4] =
            [(">=", |a, b| a >= b), (">", |a, b| a > b), ("x <=", |a, b| a <= b), ("< ", |a, b| a < b)];
        for (rule, holds) in compare {
            let comparison = Comparison::at_end_of(rule).unwrap();
            for value in [-1.0, 0.0, 0.1, 0.15, 0.3, 0.1 + 0.2, 0.4, 9.0] {
                let expected: Vec<usize> = (0..5).filter(|at| holds(&value, &thresholds[*at])).collect();
                assert_eq!(kept(comparison, value).collect::<Vec<_>>(), expected, "{value} {rule}");
            }
        }
        assert_eq!(kept(Comparison::AtLeast, f64::NAN), 0..5);
        assert_eq!(kept(Comparison::AtMost, f64::NAN), 5..5);
        assert_eq!(["=", "x", "<>", "=>", ""].map(Comparison::at_end_of), [None; 5]);
    }
}
