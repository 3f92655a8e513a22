//! Spreads rows over hive folders: `lang=en/part-00000.parquet`.
//!
//! Each combination of values has an output of its own, without the partition columns. At most [`MAX_OPEN`] are open:
//! when one more is needed, the one whose last row is longest ago is completed; if rows for it come later, they go
//! into its next part. Invariant: which outputs are completed when follows from the rows alone, because outputs are
//! touched row by row, never batch by batch.

use super::file::{CompleteFile, CreatedFolders};
use super::parts::{OutputWriter, PartNames};
use super::spec::{Layout, Place};
use crate::{Error, Result, bug};
use arrow::array::{Array, RecordBatch, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Outputs open at once.
const MAX_OPEN: usize = 64;

/// The folder for rows without a value, as Hive calls it.
const NULL_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// A partitioned output being written.
pub(super) struct HiveWriter {
    layout: Layout,
    root: PathBuf,
    /// `lang=`, and where the column is.
    partition_columns: Arc<[(String, usize)]>,
    file_columns: Vec<usize>,
    file_schema: SchemaRef,
    open: HashMap<String, Partition>,
    /// How many parts each folder has already.
    n_parts: HashMap<String, usize>,
    complete: Vec<CompleteFile>,
    rows_seen: u64,
}

/// An open output.
struct Partition {
    writer: OutputWriter,
    /// Rows of the current batch that are to be written.
    pending: Vec<u32>,
    last_row: u64,
}

impl HiveWriter {
    pub fn create(layout: Layout, schema: &Schema, partition_by: &[String]) -> Result<HiveWriter> {
        let Place::Folder(root) = &layout.place else { return Err(bug!("partitions outside of a folder")) };
        let root = root.clone();
        let index_of = |name: &String| schema.index_of(name).map_err(|error| bug!("{error}"));
        let partition_columns = partition_by
            .iter()
            .map(|name| {
                let mut prefix = String::new();
                escape_into(name, &mut prefix);
                prefix.push('=');
                Ok((prefix, index_of(name)?))
            })
            .collect::<Result<Arc<[_]>>>()?;
        let is_partition = |column: &usize| partition_columns.iter().any(|(_, other)| other == column);
        let file_columns: Vec<usize> = (0..schema.fields().len()).filter(|column| !is_partition(column)).collect();
        let file_schema = schema.project(&file_columns).map_err(|error| bug!("{error}"))?;
        Ok(HiveWriter {
            layout,
            root,
            partition_columns,
            file_columns,
            file_schema: Arc::new(file_schema),
            open: HashMap::new(),
            n_parts: HashMap::new(),
            complete: Vec::new(),
            rows_seen: 0,
        })
    }

    pub fn write(&mut self, batch: &RecordBatch, folders: &mut CreatedFolders) -> Result<()> {
        let options = FormatOptions::default();
        let partition_columns = self.partition_columns.clone();
        let columns = partition_columns
            .iter()
            .map(|(prefix, column)| PartitionValues::new(prefix, batch.column(*column), &options))
            .collect::<Result<Vec<_>>>()?;
        let rows = batch.project(&self.file_columns).map_err(|error| bug!("{error}"))?;
        let mut key = String::new();
        for row in 0..batch.num_rows() {
            key.clear();
            for column in &columns {
                column.append(row, &mut key)?;
            }
            if !self.open.contains_key(&key) {
                self.make_room(&rows)?;
                let partition = self.open_partition(&key, folders)?;
                self.open.insert(key.clone(), partition);
            }
            if let Some(partition) = self.open.get_mut(&key) {
                partition.pending.push(row as u32);
                partition.last_row = self.rows_seen;
            }
            self.rows_seen += 1;
        }
        self.open.values_mut().try_for_each(|partition| partition.write_pending(&rows))
    }

    fn open_partition(&self, key: &str, folders: &mut CreatedFolders) -> Result<Partition> {
        let folder = self.root.join(key);
        folders.create(&folder)?;
        let n_parts = self.n_parts.get(key).copied().unwrap_or(0);
        let names = PartNames::folder(folder, self.layout.ending()).after(n_parts);
        let writer = OutputWriter::create(&self.layout, self.file_schema.clone(), names)?;
        Ok(Partition { writer, pending: Vec::new(), last_row: 0 })
    }

    /// Completes the output whose last row is longest ago, if too many are open.
    fn make_room(&mut self, rows: &RecordBatch) -> Result<()> {
        if self.open.len() < MAX_OPEN {
            return Ok(());
        }
        let oldest = self.open.iter().min_by_key(|(_, partition)| partition.last_row).map(|(key, _)| key.clone());
        if let Some(key) = oldest
            && let Some(mut partition) = self.open.remove(&key)
        {
            partition.write_pending(rows)?;
            let parts = partition.writer.finish()?;
            *self.n_parts.entry(key).or_default() += parts.len();
            self.complete.extend(parts);
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<Vec<CompleteFile>> {
        for partition in self.open.into_values() {
            self.complete.extend(partition.writer.finish()?);
        }
        Ok(self.complete)
    }
}

impl Partition {
    fn write_pending(&mut self, rows: &RecordBatch) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let picked = UInt32Array::from(std::mem::take(&mut self.pending));
        let batch = take_record_batch(rows, &picked).map_err(|error| bug!("cannot pick rows: {error}"))?;
        self.writer.write(&batch)
    }
}

/// The values of one partition column in a batch.
struct PartitionValues<'a> {
    prefix: &'a str,
    nulls: Option<NullBuffer>,
    formatter: ArrayFormatter<'a>,
}

impl<'a> PartitionValues<'a> {
    fn new(prefix: &'a str, column: &'a Arc<dyn Array>, options: &FormatOptions<'a>) -> Result<PartitionValues<'a>> {
        let formatter = ArrayFormatter::try_new(column.as_ref(), options)
            .map_err(|error| Error::Data(format!("`{prefix}` cannot name folders: {error}")))?;
        Ok(PartitionValues { prefix, nulls: column.logical_nulls(), formatter })
    }

    /// Appends `name=value`, after a `/` if something is there already.
    fn append(&self, row: usize, key: &mut String) -> Result<()> {
        if !key.is_empty() {
            key.push('/');
        }
        key.push_str(self.prefix);
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            key.push_str(NULL_VALUE);
            return Ok(());
        }
        let value = self.formatter.value(row).try_to_string().map_err(|error| bug!("{error}"))?;
        if value == NULL_VALUE {
            // The text that looks like no value at all.
            key.push_str("%5F");
            key.push_str(&value[1..]);
        } else {
            escape_into(&value, key);
        }
        Ok(())
    }
}

/// Percent-encodes what a folder name cannot hold, or what a glob or a hive reader would take for its own.
fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        if character.is_control() || "\"#%'*/:<=>?[\\]^{|}".contains(character) {
            let mut utf8 = [0; 4];
            for byte in character.encode_utf8(&mut utf8).bytes() {
                // Writing into a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(character);
        }
    }
}
