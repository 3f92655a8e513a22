//! What came back from the device as Arrow columns.
//!
//! Invariant: only rows that pass all rules are looked at; of the others nothing but `failed` was written.

use super::groups::Groups;
use super::layout::{Layout, OutputPlace};
use super::program::Type;
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, StringBuilder};
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use std::fmt::Write;
use std::sync::Arc;

/// The results of a batch.
#[derive(Debug, Clone)]
pub struct Results {
    /// For each row the first rule that it fails, or −1; `None` if there are no rules.
    pub failed: Option<Vec<i32>>,
    /// For each output its values, in the order of the rows that pass; none if rows were grouped.
    pub outputs: Vec<ArrayRef>,
    /// The groups, if rows were grouped.
    pub groups: Option<Groups>,
}

impl Layout {
    /// The results, from the bytes of [`Layout::output_range`].
    pub fn read_outputs(&self, bytes: &[u8]) -> Result<Results, String> {
        let range = self.output_range();
        if bytes.len() != range.len() {
            return Err(format!("{} bytes of results, expected {}", bytes.len(), range.len()));
        }
        let slab = Slab { bytes, start: range.start };
        let failed: Option<Vec<i32>> =
            self.failed.map(|place| (0..self.n_rows).map(|row| slab.u32(place + 4 * row) as i32).collect());
        if let Some(groups) = &self.groups {
            let table = slab.bytes.get(groups.table - slab.start..).filter(|_| self.n_rows > 0);
            let groups = table.map_or(Groups::All(vec![]), |table| groups.grouping.read(table));
            return Ok(Results { failed, outputs: vec![], groups: Some(groups) });
        }
        let rows: Vec<usize> = match &failed {
            Some(failed) => (0..self.n_rows).filter(|row| failed[*row] < 0).collect(),
            None => (0..self.n_rows).collect(),
        };
        let outputs = self.outputs.iter().map(|output| slab.column(output, &rows)).collect::<Result<_, _>>()?;
        Ok(Results { failed, outputs, groups: None })
    }
}

struct Slab<'a> {
    bytes: &'a [u8],
    /// The place of its first byte in the slab.
    start: usize,
}

impl Slab<'_> {
    fn u8(&self, place: usize) -> u8 {
        self.bytes[place - self.start]
    }

    fn u32(&self, place: usize) -> u32 {
        (0..4).rev().fold(0, |number, byte| number << 8 | u32::from(self.u8(place + byte)))
    }

    fn u64(&self, place: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[place - self.start..place - self.start + 8]);
        u64::from_le_bytes(word)
    }

    fn column(&self, output: &OutputPlace, rows: &[usize]) -> Result<ArrayRef, String> {
        let is_valid = |row: &usize| self.u8(output.validity + row) != 0;
        let has_nulls = !rows.iter().all(is_valid);
        let nulls = has_nulls.then(|| NullBuffer::new(rows.iter().map(is_valid).collect::<BooleanBuffer>()));
        let width = output.ty.value_bytes();
        let place = |row: &usize| output.values + width * row;
        Ok(match output.ty {
            Type::Bool => {
                let values: BooleanBuffer = rows.iter().map(|row| self.u8(place(row)) != 0).collect();
                Arc::new(BooleanArray::new(values, nulls))
            }
            Type::Int => {
                let values: Vec<i64> = rows.iter().map(|row| self.u64(place(row)) as i64).collect();
                Arc::new(Int64Array::new(values.into(), nulls))
            }
            Type::Float => {
                let values: Vec<f64> = rows.iter().map(|row| f64::from_bits(self.u64(place(row)))).collect();
                Arc::new(Float64Array::new(values.into(), nulls))
            }
            Type::Hex(n_words) => {
                let mut texts = StringBuilder::new();
                for row in rows {
                    if is_valid(row) {
                        for word in 0..n_words {
                            write!(texts, "{:016x}", self.u64(place(row) + 8 * word)).map_err(|e| e.to_string())?;
                        }
                        texts.append_value("");
                    } else {
                        texts.append_null();
                    }
                }
                Arc::new(texts.finish())
            }
            Type::Words(n_words) => {
                let length = |row: &usize| match output.lengths {
                    Some(lengths) if is_valid(row) => (self.u32(lengths + 4 * row) as usize).min(n_words),
                    _ => 0,
                };
                let offsets = OffsetBuffer::from_lengths(rows.iter().map(length));
                let words = rows.iter().flat_map(|row| (0..length(row)).map(move |word| place(row) + 8 * word));
                let words: Vec<i64> = words.map(|place| self.u64(place) as i64).collect();
                let field = Arc::new(Field::new_list_field(DataType::Int64, true));
                let list = ListArray::try_new(field, offsets, Arc::new(Int64Array::new(words.into(), None)), nulls);
                Arc::new(list.map_err(|error| error.to_string())?)
            }
            Type::Text => return Err("texts do not come back from a device".to_string()),
        })
    }
}
