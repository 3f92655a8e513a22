//! From measurements to the figures of a profile.
//!
//! Invariant: a figure that was not measured, or measured as nonsense, stays as it was; one outlier moves nothing.
//! Not here: measuring (`cli/calibrate.rs`).

use super::profile::Profile;

/// How long something took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// How much it was about: bytes of a copy, instructions of a kernel.
    pub amount: f64,
    /// How long it took.
    pub seconds: f64,
}

/// What is behind the times of several amounts: `fixed_s + amount / per_s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// What each costs, however small.
    pub fixed_s: f64,
    /// The rate.
    pub per_s: f64,
}

impl Line {
    /// The line through the samples: the median of the slopes of all pairs, then the median of what is left over.
    /// None without two amounts of which the larger takes longer.
    pub fn through(samples: &[Sample]) -> Option<Line> {
        let mut slopes = vec![];
        for (index, a) in samples.iter().enumerate() {
            for b in &samples[index + 1..] {
                if a.amount != b.amount {
                    slopes.push((b.seconds - a.seconds) / (b.amount - a.amount));
                }
            }
        }
        let slope = median(slopes).filter(|slope| *slope > 0.0)?;
        let fixed_s = median(samples.iter().map(|sample| sample.seconds - slope * sample.amount).collect())?;
        Some(Line { fixed_s: fixed_s.max(0.0), per_s: 1.0 / slope })
    }
}

/// The middle value; of two, the lower.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// Three digits: more would be noise.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// What was measured on a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// For operators on one core, how long they should take by their own declaration, and how long they took.
    pub operators: Vec<(f64, f64)>,
    /// Copies from and to pinned memory.
    pub pinned: Vec<Sample>,
    /// Copies from and to other memory.
    pub pageable: Vec<Sample>,
    /// Launches of kernels that have next to nothing to do.
    pub launches_s: Vec<f64>,
    /// Kernels over many rows, by their instructions.
    pub kernels: Vec<Sample>,
}

impl Profile {
    /// The same machine with the figures that were measured.
    pub fn calibrated(mut self, measured: &Measured) -> Profile {
        let speeds = measured.operators.iter().map(|(declared_s, took_s)| declared_s / took_s).collect();
        if let Some(speed) = median(speeds).filter(|speed| *speed > 0.0) {
            self.cpu.speed = rounded(speed);
        }
        if let Some(link) = &mut self.link {
            if let Some(line) = Line::through(&measured.pinned) {
                link.pinned_bytes_per_s = rounded(line.per_s);
                // Below what a clock tells apart there is no latency worth writing down.
                link.latency_s = rounded(line.fixed_s.max(1e-7));
            }
            if let Some(line) = Line::through(&measured.pageable) {
                link.pageable_bytes_per_s = rounded(line.per_s);
            }
        }
        if let Some(device) = &mut self.device {
            if let Some(launch_s) = median(measured.launches_s.clone()).filter(|seconds| *seconds > 0.0) {
                device.launch_s = rounded(launch_s);
            }
            let peak_per_s = device.instructions_per_s() / device.efficiency;
            let rates = measured.kernels.iter().map(|kernel| kernel.amount / kernel.seconds / peak_per_s).collect();
            if let Some(efficiency) = median(rates).filter(|efficiency| *efficiency > 0.0) {
                device.efficiency = rounded(efficiency.min(1.0));
            }
        }
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_in_spite_of_an_outlier() {
        let took = |amount: f64| Sample { amount, seconds: 1e-5 + amount / 12e9 };
        let mut samples: Vec<Sample> = [1e4, 1e6, 4e6, 16e6, 64e6].map(took).to_vec();
        samples.push(Sample { amount: 8e6, seconds: 0.5 });
        let line = Line::through(&samples).unwrap();
        assert!((line.per_s / 12e9 - 1.0).abs() < 0.01 && (line.fixed_s / 1e-5 - 1.0).abs() < 0.1, "{line:?}");
        assert_eq!(Line::through(&samples[..1]), None);
        assert_eq!(Line::through(&[Sample { amount: 1.0, seconds: 2.0 }, Sample { amount: 2.0, seconds: 1.0 }]), None);
    }

    #[test]
    fn measured_figures_replace_those_of_the_profile_and_others_stay() {
        let before = Profile::find("t4").unwrap();
        assert_eq!(before.clone().calibrated(&Measured::default()), before);
        let peak_per_s = 40.0 * 64.0 * 1.59e9;
        let measured = Measured {
            operators: vec![(1.0, 2.0), (1.0, 2.1), (1.0, 1.9)],
            pinned: vec![Sample { amount: 1e6, seconds: 0.0011 }, Sample { amount: 2e6, seconds: 0.0021 }],
            launches_s: vec![9e-6, 8e-6, 1.0],
            kernels: vec![Sample { amount: peak_per_s, seconds: 10.0 }],
            ..Measured::default()
        };
        let after = before.clone().calibrated(&measured);
        let (link, device) = (after.link.unwrap(), after.device.unwrap());
        assert_eq!(after.cpu.speed, 0.5);
        assert!((link.pinned_bytes_per_s - 1e9).abs() < 1e3 && (link.latency_s - 1e-4).abs() < 1e-9);
        assert_eq!(link.pageable_bytes_per_s, before.link.unwrap().pageable_bytes_per_s);
        assert!((device.efficiency - 0.1).abs() < 1e-12 && device.launch_s == 9e-6);
    }
}
