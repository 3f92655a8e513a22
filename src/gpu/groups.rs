//! Rows grouped by key on a device, after a program has computed its results: only groups come back.
//!
//! ```text
//! segment(columns) → results, failed → groups_begin → groups(results, failed) → table of groups
//! ```
//! Keys are whole numbers and truth values, which may be null. What is counted, added up, least and greatest does not
//! depend on the order of rows, so a group has the bits that the CPU gives it ([`Grouping::of_rows`]).
//!
//! Invariant: a table has [`MOST_GROUPS`] slots; more groups than that are told, never lost.
//! Not here: where the table is in the slab (`layout.rs`), and what is made of the groups.

use super::flatten;
use super::program::{Program, Type};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use std::collections::BTreeMap;

/// Groups of a batch that a device tells apart: their table is copied back as a whole, and should be small.
pub const MOST_GROUPS: usize = 1024;

/// Words of `Grouping` in `kernels/lib/groups.cuh`.
pub(super) const GROUPING_WORDS: usize = 10;
const NO_ROW: u64 = u64::MAX;
const IS_BOOL: u64 = 1 << 32;
const IS_FLOAT: u64 = 1 << 33;
const ADDS: u64 = 1 << 34;
const ORDERS: u64 = 1 << 35;

/// The kernels, by entry point, in the order in which they run.
pub(super) fn group_kernels() -> [(String, String); 2] {
    let kernel = |name: &str, source: &str| (name.to_string(), flatten([source]));
    [
        kernel("run_groups_begin", include_str!("../../kernels/rows/groups_begin.cu")),
        kernel("run_groups", include_str!("../../kernels/rows/groups.cu")),
    ]
}

/// By what rows are grouped, and what of their values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grouping {
    /// Outputs of the program; none: all rows are one group.
    pub keys: Vec<usize>,
    /// What becomes of outputs.
    pub folds: Vec<Fold>,
}

/// What becomes of the values of an output; they are always counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// The output.
    pub output: usize,
    /// Whether whole numbers are added up.
    pub adds: bool,
    /// Whether the least and the greatest are found.
    pub orders: bool,
}

/// Rows with the same keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The keys; truth values are 0 and 1.
    pub keys: Vec<Option<i64>>,
    /// Rows.
    pub n_rows: u64,
    /// What their values come to, in the order of [`Grouping::folds`].
    pub folded: Vec<Folded>,
}

/// What the values of a group come to. Floats stand as whole numbers that are ordered like them ([`ordered`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folded {
    /// Values that are not null.
    pub n_values: u64,
    /// The sum, wrapping around.
    pub sum: i64,
    /// The sum as floats are added; the same where it is a whole number that a float can hold.
    pub float_sum: f64,
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub greatest: i64,
}

impl Folded {
    const NOTHING: Folded = Folded { n_values: 0, sum: 0, float_sum: 0.0, least: i64::MAX, greatest: i64::MIN };
}

/// The groups of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Groups {
    /// By key.
    All(Vec<Group>),
    /// There are more than a device tells apart.
    TooMany,
}

/// A float as a whole number: they compare as `f64::total_cmp` does. Its own inverse.
pub fn ordered(bits: i64) -> i64 {
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

impl Grouping {
    /// Whether it can be done to the outputs of a program. The error says what does not fit.
    pub(super) fn check(&self, program: &Program) -> Result<(), String> {
        let ty = |output: usize| {
            let id = program.outputs().get(output).ok_or(format!("there is no output {output}"))?;
            program.type_of(*id).ok_or("an output without a type".to_string())
        };
        for key in &self.keys {
            if !matches!(ty(*key)?, Type::Int | Type::Bool) {
                return Err("keys are whole numbers or truth values".to_string());
            }
        }
        for fold in &self.folds {
            let fits = match ty(fold.output)? {
                Type::Int => true,
                Type::Float => !fold.adds,
                Type::Bool => !fold.adds && !fold.orders,
                _ => false,
            };
            if !fits {
                return Err(format!("{fold:?} is not for its type"));
            }
        }
        Ok(())
    }

    pub(super) fn n_slots(&self) -> usize {
        if self.keys.is_empty() { 1 } else { MOST_GROUPS }
    }

    pub(super) fn slot_words(&self) -> usize {
        2 + 2 * self.keys.len() + 4 * self.folds.len()
    }

    /// Bytes of the table, with the word that says whether it was full.
    pub fn table_bytes(&self) -> usize {
        8 * (1 + self.n_slots() * self.slot_words())
    }

    /// The words that describe keys and folds to the kernel.
    pub(super) fn described(&self, types: &[Type]) -> Vec<u64> {
        let described = |output: usize| {
            let kind = match types.get(output) {
                Some(Type::Bool) => IS_BOOL,
                Some(Type::Float) => IS_FLOAT,
                _ => 0,
            };
            output as u64 | kind
        };
        let flags = |fold: &Fold| if fold.adds { ADDS } else { 0 } | if fold.orders { ORDERS } else { 0 };
        let folds = self.folds.iter().map(|fold| described(fold.output) | flags(fold));
        self.keys.iter().map(|key| described(*key)).chain(folds).collect()
    }

    /// The groups in a table that was copied back.
    pub(super) fn read(&self, table: &[u8]) -> Groups {
        let words: Vec<u64> = table.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let Some((0, slots)) = words.split_first().map(|(is_full, slots)| (*is_full, slots)) else {
            return Groups::TooMany;
        };
        let mut groups: Vec<Group> = vec![];
        for slot in slots.chunks_exact(self.slot_words()).filter(|slot| slot[0] != NO_ROW) {
            let (keys, folds) = slot[2..].split_at(2 * self.keys.len());
            let keys = keys.as_chunks::<2>().0.iter().map(|[there, bits]| (*there != 0).then_some(*bits as i64));
            let folded = folds.as_chunks::<4>().0.iter().map(|[n_values, sum, least, greatest]| Folded {
                n_values: *n_values,
                sum: *sum as i64,
                float_sum: *sum as i64 as f64,
                least: *least as i64,
                greatest: *greatest as i64,
            });
            groups.push(Group { keys: keys.collect(), n_rows: slot[1], folded: folded.collect() });
        }
        groups.sort_unstable_by(|a, b| a.keys.cmp(&b.keys));
        Groups::All(groups)
    }

    /// The same of rows on the host: `outputs` are the values of the program's outputs.
    pub fn of_rows(&self, outputs: &[ArrayRef], n_rows: usize) -> Result<Vec<Group>, String> {
        let columns: Vec<Vec<Option<i64>>> = outputs.iter().map(values).collect::<Result<_, _>>()?;
        let value = |output: usize, row: usize| columns[output][row];
        let mut groups: BTreeMap<Vec<Option<i64>>, Group> = BTreeMap::new();
        for row in 0..n_rows {
            let keys: Vec<Option<i64>> = self.keys.iter().map(|key| value(*key, row)).collect();
            let group = groups.entry(keys).or_insert_with_key(|keys| Group {
                keys: keys.clone(),
                n_rows: 0,
                folded: vec![Folded::NOTHING; self.folds.len()],
            });
            group.n_rows += 1;
            for (fold, folded) in self.folds.iter().zip(&mut group.folded) {
                let Some(value) = value(fold.output, row) else { continue };
                folded.n_values += 1;
                folded.sum = folded.sum.wrapping_add(value);
                folded.float_sum += value as f64;
                folded.least = folded.least.min(value);
                folded.greatest = folded.greatest.max(value);
            }
        }
        Ok(groups.into_values().collect())
    }
}

/// A column as the kernel reads it.
fn values(column: &ArrayRef) -> Result<Vec<Option<i64>>, String> {
    let cast = |to: &DataType| arrow::compute::cast(column, to).map_err(|error| error.to_string());
    Ok(match Type::of(column.data_type()) {
        Some(Type::Float) => {
            let column = cast(&DataType::Float64)?;
            let floats = column.as_primitive::<Float64Type>();
            floats.iter().map(|value| value.map(|value| ordered(value.to_bits() as i64))).collect()
        }
        Some(Type::Int | Type::Bool) => cast(&DataType::Int64)?.as_primitive::<Int64Type>().iter().collect(),
        _ => return Err(format!("a column of type {} is not put together by a device", column.data_type())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_whole_numbers_are_ordered_like_floats() {
        let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, f64::MIN_POSITIVE, 2.0, f64::INFINITY, f64::NAN];
        for (a, b) in floats.iter().zip(&floats[1..]) {
            assert!(ordered(a.to_bits() as i64) < ordered(b.to_bits() as i64), "{a} {b}");
            assert_eq!(ordered(ordered(a.to_bits() as i64)), a.to_bits() as i64);
        }
    }

    #[test]
    fn more_groups_than_slots_are_told() {
        let grouping = Grouping { keys: vec![0], folds: vec![] };
        let mut table = vec![0xff; grouping.table_bytes()];
        assert_eq!(grouping.read(&table), Groups::TooMany);
        table[..8].fill(0);
        assert_eq!(grouping.read(&table), Groups::All(vec![]));
    }
}
