//! What kernels cost on the device of a profile, and guesses where statistics are missing.
//!
//! ```text
//! seconds   max(instructions / instructions a second, bytes touched / bytes of memory a second)
//! ```
//! Invariant: every estimate is finite and not negative.
//! Not here: copies and launches, which are costs of a segment and not of an operator (`physical/place`), and the CPU,
//! for which operators say themselves what they cost.

use super::profile::Device;
use crate::ops::PassStage;

/// The bytes of a document of which nothing is known.
pub const TEXT_BYTES_PER_ROW: f64 = 2_000.0;
/// The part of the rows that passes a rule of which nothing is known, if it is the first.
const SELECTIVITY: f64 = 0.5;
/// Estimate of the instructions that a walk costs for each row, however short: sums over the lanes, results.
const WALK_INSTRUCTIONS_PER_ROW: f64 = 32.0 * 100.0;
/// Estimate of those of a comparison or an addition; all lanes do it.
const OPERATION_INSTRUCTIONS_PER_ROW: f64 = 32.0 * 4.0;

/// How many documents there are, and how long they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowEstimate {
    /// How many.
    pub n_rows: f64,
    /// Bytes of the document, or of the column that is read.
    pub text_bytes_per_row: f64,
    /// The rules that they passed.
    pub n_rules: i32,
}

impl RowEstimate {
    /// From what is known of a source: its rows, the bytes of all its texts. What is not known is guessed from the rest.
    pub fn guess(n_rows: Option<f64>, text_bytes: Option<f64>) -> Self {
        let (n_rows, text_bytes) = match (n_rows, text_bytes) {
            (Some(n_rows), Some(text_bytes)) => (n_rows, text_bytes),
            (Some(n_rows), None) => (n_rows, n_rows * TEXT_BYTES_PER_ROW),
            (None, Some(text_bytes)) => ((text_bytes / TEXT_BYTES_PER_ROW).ceil(), text_bytes),
            // As if a query was about a file of the size that people try things on.
            (None, None) => (100_000.0, 100_000.0 * TEXT_BYTES_PER_ROW),
        };
        let text_bytes_per_row = if n_rows > 0.0 { text_bytes / n_rows } else { TEXT_BYTES_PER_ROW };
        Self { n_rows, text_bytes_per_row, n_rules: 0 }
    }

    /// Those that pass one more rule. Rules of a corpus drop the same documents over and over, so each is taken to be worth
    /// half of the one before (its selectivity's square root): of any number of them a quarter of the rows is left.
    pub fn after_rule(self) -> Self {
        let selectivity = SELECTIVITY.powf(0.5_f64.powi(self.n_rules));
        Self { n_rows: self.n_rows * selectivity, n_rules: self.n_rules + 1, ..self }
    }

    /// All of their texts.
    pub fn text_bytes(&self) -> f64 {
        self.n_rows * self.text_bytes_per_row
    }
}

/// What a kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GpuWork {
    /// Instructions of single threads for each byte of the document.
    pub instructions_per_byte: f64,
    /// The same for each document.
    pub instructions_per_row: f64,
    /// Bytes of memory that are read or written for each byte of the document.
    pub memory_bytes_per_byte: f64,
    /// The same for each document.
    pub memory_bytes_per_row: f64,
}

impl GpuWork {
    /// A walk over a document, together with everything that is read off it: `instructions_per_byte` are those besides
    /// the walk's, `scratch_bytes_per_byte` is the memory that its tables take. No stage: the text is read without a walk.
    pub fn walk(stage: Option<PassStage>, instructions_per_byte: f64, scratch_bytes_per_byte: f64) -> Self {
        Self {
            instructions_per_byte: stage.map_or(0.0, walk_instructions_per_byte) + instructions_per_byte,
            instructions_per_row: WALK_INSTRUCTIONS_PER_ROW,
            // The text once; tables are cleared, filled and read.
            memory_bytes_per_byte: 1.0 + 3.0 * scratch_bytes_per_byte,
            memory_bytes_per_row: 16.0,
        }
    }

    /// So many comparisons, additions and the like on numbers.
    pub fn of_numbers(n_operations: usize) -> Self {
        let instructions_per_row = OPERATION_INSTRUCTIONS_PER_ROW * n_operations as f64;
        Self { instructions_per_row, memory_bytes_per_row: 16.0, ..Self::default() }
    }
}

/// Instructions of single threads for each byte that a walk takes. A warp takes 32 of them at a time, whether or not all
/// of its lanes have work. Counted by running the kernels' PTX over web pages of 3 kB: `words` 68, `lines` 103 | repeated
/// lines 150 | words 220, pairs of words 241.
pub fn walk_instructions_per_byte(stage: PassStage) -> f64 {
    match stage {
        PassStage::Scan => 100.0,
        PassStage::Tables => 150.0,
        PassStage::Grams => 240.0,
    }
}

/// Seconds of a kernel over `rows` on a device that has enough of them at a time, without copies and launches.
pub fn gpu_seconds(device: &Device, work: &GpuWork, rows: &RowEstimate) -> f64 {
    let instructions = work.instructions_per_row * rows.n_rows + work.instructions_per_byte * rows.text_bytes();
    let memory_bytes = work.memory_bytes_per_row * rows.n_rows + work.memory_bytes_per_byte * rows.text_bytes();
    (instructions / device.instructions_per_s()).max(memory_bytes / device.memory_bytes_per_s)
}

/// A time for people: `41.3 ms`.
pub fn format_seconds(seconds: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)];
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| seconds >= 0.9995 * scale).unwrap_or(("ns", 1e-9));
    let value = seconds / scale;
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cost::Profile;

    #[test]
    fn a_kernel_is_bound_by_instructions_or_by_memory() {
        let device = Profile::find("a100-40gb").unwrap().device.unwrap();
        let rows = RowEstimate { n_rows: 1e6, text_bytes_per_row: 2_000.0, n_rules: 0 };
        let walk = gpu_seconds(&device, &GpuWork::walk(Some(PassStage::Scan), 0.0, 0.0), &rows);
        assert!((walk - (100.0 * 2e9 + WALK_INSTRUCTIONS_PER_ROW * 1e6) / device.instructions_per_s()).abs() < 1e-9);
        let copying = GpuWork { memory_bytes_per_byte: 1e4, ..GpuWork::default() };
        assert!((gpu_seconds(&device, &copying, &rows) - 2e13 / device.memory_bytes_per_s).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_known_of_a_source_is_guessed_from_what_is() {
        let of_bytes = RowEstimate::guess(None, Some(1e6));
        assert_eq!((of_bytes.n_rows, of_bytes.text_bytes_per_row), (500.0, 2_000.0));
        assert_eq!(RowEstimate::guess(Some(10.0), Some(50.0)).text_bytes_per_row, 5.0);
        assert_eq!(RowEstimate::guess(Some(0.0), Some(0.0)).text_bytes(), 0.0);
        let passed = |n: usize| (0..n).fold(of_bytes, |rows, _| rows.after_rule()).n_rows;
        assert_eq!([0, 1, 2, 100].map(|n| passed(n).round()), [500.0, 250.0, 177.0, 125.0]);
    }

    #[test]
    fn times_are_written_with_the_unit_that_fits() {
        for (seconds, text) in [
            (1.5, "1.5 s"),
            (0.99999, "1.0 s"),
            (0.0413, "41.3 ms"),
            (0.12, "120 ms"),
            (7e-6, "7.0 µs"),
            (0.0, "0.0 ns"),
        ] {
            assert_eq!(format_seconds(seconds), text);
        }
    }
}
