//! What Parquet and Arrow files share: one schema for files whose columns differ, and batches made to fit it.
//!
//! Columns are matched by name; one that a file does not have is null there. Text is plain `Utf8` whatever layout the
//! file uses (views, dictionaries, large offsets), so that operators see one kind of text. Types that differ from file to
//! file become the one that holds the values of all (`widen.rs`).

use super::split::Extent;
use super::table::free_column_name;
use super::widen::{fit, widened};
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// The columns of several files, together.
#[derive(Debug, Default)]
pub(crate) struct UnionSchema {
    /// Each column, its name in the files, and the file that had it first.
    columns: Vec<(Field, String, String)>,
}

impl UnionSchema {
    /// Adds the columns of a file; an error if no type holds the values of one and those that came before.
    pub fn add(&mut self, file: &str, schema: &Schema) -> Result<()> {
        for field in schema.fields() {
            let data_type = plain(field.data_type());
            match self.columns.iter_mut().find(|(_, name, _)| name == field.name()) {
                None => {
                    let column = Field::new(free_column_name(field.name()), data_type, true);
                    self.columns.push((column, field.name().clone(), file.to_string()));
                }
                Some((known, name, first_file)) => match widened(known.data_type(), &data_type) {
                    Some(data_type) => known.set_data_type(data_type),
                    None => {
                        return Err(Error::Data(format!(
                            "column `{name}` is {} in '{first_file}' and {data_type} in '{file}'; \
                             read the files in two sources and join them with UNION and a CAST",
                            known.data_type()
                        )));
                    }
                },
            }
        }
        Ok(())
    }

    /// The schema, and the name of each column in the files.
    pub fn finish(self) -> (SchemaRef, Vec<String>) {
        let (fields, names): (Vec<_>, Vec<_>) = self.columns.into_iter().map(|(field, name, _)| (field, name)).unzip();
        (Arc::new(Schema::new(fields)), names)
    }
}

/// The type without special layouts of text and bytes.
fn plain(data_type: &DataType) -> DataType {
    let plain_field = |field: &Field| Arc::new(field.clone().with_data_type(plain(field.data_type())));
    match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        DataType::Dictionary(_, value) => plain(value),
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| plain_field(field)).collect()),
        other => other.clone(),
    }
}

/// The wanted columns of a batch, cast and filled with nulls. `wanted` has name in the file and type.
pub(crate) fn conform(batch: &RecordBatch, wanted: &[(String, DataType)]) -> Result<Vec<ArrayRef>, String> {
    wanted
        .iter()
        .map(|(name, data_type)| match batch.column_by_name(name) {
            Some(column) => fit(column, data_type).map_err(|error| format!("column `{name}`: {error}")),
            None => Ok(new_null_array(data_type, batch.num_rows())),
        })
        .collect()
}

/// How many rows of this width make a batch.
pub(crate) fn rows_per_batch(n_bytes: usize, n_rows: usize, batch_rows: usize, batch_bytes: usize) -> usize {
    let row_bytes = n_bytes.div_ceil(n_rows.max(1)).max(1);
    (batch_bytes / row_bytes).clamp(1, batch_rows)
}
/// A row group of a Parquet file, or a batch of an Arrow file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupSize {
    pub n_rows: u64,
    /// On disk.
    pub n_bytes: u64,
}

/// Cuts a file into whole groups, as many as make a block.
pub(crate) fn cut_groups(groups: &[GroupSize], block_bytes: u64) -> Vec<Extent> {
    let mut extents = Vec::new();
    let (mut start, mut first_row, mut n_rows, mut n_bytes) = (0, 0, 0, 0);
    for (group, size) in groups.iter().enumerate() {
        if group > start && size.n_bytes.saturating_add(n_bytes) > block_bytes {
            extents.push(Extent::Groups { start, end: group, first_row });
            (start, first_row, n_bytes) = (group, n_rows, 0);
        }
        n_bytes = size.n_bytes.saturating_add(n_bytes);
        n_rows = size.n_rows.saturating_add(n_rows);
    }
    // The last one goes on to the end, and a file that could not be read is rejected as a whole.
    extents.push(if start == 0 { Extent::Whole } else { Extent::Groups { start, end: usize::MAX, first_row } });
    extents
}
