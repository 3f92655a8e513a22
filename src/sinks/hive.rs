//! Spreads rows over hive folders: `lang=en/part-00000.parquet`.
//!
//! ```text
//! rows ──► the first few folders ───────────────────────────────► their parts
//!     └──► all others ──► in memory, then a scratch file ──end──► their parts, folder by folder
//! ```
//! Each combination of values has an output of its own, without the partition columns. Only [`MAX_OPEN`] of them are open
//! while rows come; rows of others are collected, and written when all are there. So a folder has one sequence of parts, and
//! neither memory nor open files grow with the number of folders.
//! Invariant: what is in a folder follows from its rows alone.

use super::file::CompleteFile;
use super::parts::{OutputWriter, PartNames, PartsThere};
use super::scratch::{Extent, Scratch};
use super::slices::{Slice, plain_schema};
use super::spec::Layout;
use crate::store::Claim;
use crate::{Error, Result, bug};
use arrow::array::{Array, RecordBatch, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Outputs that are written while rows come.
const MAX_OPEN: usize = 16;

/// Rows of other outputs that wait in memory.
const MAX_HELD_BYTES: usize = 128 << 20;

/// The folder for rows without a value, as Hive calls it.
const NULL_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// A partitioned output being written.
pub(super) struct HiveWriter {
    folders: Folders,
    /// `lang=`, and where the column is.
    partition_columns: Arc<[(String, usize)]>,
    file_columns: Vec<usize>,
    plain_schema: SchemaRef,
    partitions: HashMap<String, Partition>,
    n_open: usize,
    held_bytes: usize,
    max_held_bytes: usize,
    scratch: Option<Scratch>,
}

/// Opens the output of each folder.
struct Folders {
    layout: Layout,
    schema: SchemaRef,
    claim: Arc<Claim>,
    /// What earlier runs left in them.
    there: PartsThere,
}

impl Folders {
    fn open(&self, key: &str) -> Result<OutputWriter> {
        let (claim, ending) = (Arc::clone(&self.claim), self.layout.ending());
        let names = PartNames::folder(claim, PathBuf::from(key), ending, &self.there);
        OutputWriter::create(&self.layout, self.schema.clone(), names)
    }
}

/// The rows of one folder.
struct Partition {
    rows: FolderRows,
    /// Rows of the current batch that belong to it.
    picked: Vec<u32>,
}

enum FolderRows {
    Written(Box<OutputWriter>),
    Collected(Collected),
}

/// Rows that are written later: first those in the scratch file, then those in memory.
#[derive(Default)]
struct Collected {
    extents: Vec<Extent>,
    held: Vec<RecordBatch>,
}

impl HiveWriter {
    pub fn create(
        layout: Layout,
        schema: &Schema,
        partition_by: &[String],
        (claim, there): (Arc<Claim>, PartsThere),
    ) -> Result<HiveWriter> {
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
        let plain_schema = plain_schema(&file_schema);
        Ok(HiveWriter {
            folders: Folders { layout, schema: Arc::new(file_schema), claim, there },
            partition_columns,
            file_columns,
            plain_schema,
            partitions: HashMap::new(),
            n_open: 0,
            held_bytes: 0,
            max_held_bytes: MAX_HELD_BYTES,
            scratch: None,
        })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let options = FormatOptions::default();
        let partition_columns = self.partition_columns.clone();
        let columns = partition_columns
            .iter()
            .map(|(prefix, column)| PartitionValues::new(prefix, batch.column(*column), &options))
            .collect::<Result<Vec<_>>>()?;
        let rows = batch.project(&self.file_columns).map_err(|error| bug!("{error}"))?;
        let mut touched = Vec::new();
        let mut key = String::new();
        for row in 0..batch.num_rows() {
            key.clear();
            for column in &columns {
                column.append(row, &mut key)?;
            }
            if !self.partitions.contains_key(&key) {
                let rows = self.new_rows(&key)?;
                self.partitions.insert(key.clone(), Partition { rows, picked: Vec::new() });
            }
            if let Some(partition) = self.partitions.get_mut(&key) {
                if partition.picked.is_empty() {
                    touched.push(key.clone());
                }
                partition.picked.push(row as u32);
            }
        }
        for key in touched {
            if let Some(partition) = self.partitions.get_mut(&key) {
                self.held_bytes += partition.take_picked(&rows, &self.plain_schema)?;
            }
        }
        if self.held_bytes > self.max_held_bytes { self.spill() } else { Ok(()) }
    }

    /// What happens to the rows of a folder that was not seen before.
    fn new_rows(&mut self, key: &str) -> Result<FolderRows> {
        if self.n_open == MAX_OPEN {
            return Ok(FolderRows::Collected(Collected::default()));
        }
        self.n_open += 1;
        let output = self.folders.open(key)?;
        Ok(FolderRows::Written(Box::new(output)))
    }

    /// Moves the rows that wait in memory into the scratch file.
    fn spill(&mut self) -> Result<()> {
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(Scratch::create(self.folders.claim.staging())?),
        };
        for partition in self.partitions.values_mut() {
            if let FolderRows::Collected(collected) = &mut partition.rows
                && !collected.held.is_empty()
            {
                collected.extents.push(scratch.append(&self.plain_schema, &collected.held)?);
                collected.held.clear();
            }
        }
        self.held_bytes = 0;
        Ok(())
    }

    pub fn finish(self) -> Result<Vec<CompleteFile>> {
        let mut complete = Vec::new();
        let mut later = Vec::new();
        for (key, partition) in self.partitions {
            match partition.rows {
                FolderRows::Written(writer) => complete.extend(writer.finish()?),
                FolderRows::Collected(collected) => later.push((key, collected)),
            }
        }
        if later.is_empty() {
            return Ok(complete);
        }
        let (folders, scratch) = (&self.folders, self.scratch.as_ref());
        let write = |(key, collected): (String, Collected)| write_collected(folders.open(&key)?, collected, scratch);
        // While a folder's part waits for the disk, others are written.
        let n_threads = rayon::current_num_threads().max(MAX_OPEN).min(later.len());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
        let pool = pool.map_err(|error| Error::Data(format!("cannot start threads to write with: {error}")))?;
        let written: Result<Vec<Vec<CompleteFile>>> = pool.install(|| later.into_par_iter().map(write).collect());
        complete.extend(written?.into_iter().flatten());
        Ok(complete)
    }
}

/// Writes the parts of one folder, now that all its rows are there.
fn write_collected(
    mut writer: OutputWriter,
    collected: Collected,
    scratch: Option<&Scratch>,
) -> Result<Vec<CompleteFile>> {
    for extent in collected.extents {
        let scratch = scratch.ok_or_else(|| bug!("rows in a scratch file that is not there"))?;
        scratch.read(extent, |batch| writer.write(&batch))?;
    }
    collected.held.iter().try_for_each(|batch| writer.write(batch))?;
    writer.finish()
}

impl Partition {
    /// Takes the rows that were picked out of a batch; gives the memory that they hold from now on.
    fn take_picked(&mut self, rows: &RecordBatch, plain_schema: &SchemaRef) -> Result<usize> {
        let picked = UInt32Array::from(std::mem::take(&mut self.picked));
        let batch = take_record_batch(rows, &picked).map_err(|error| bug!("cannot pick rows: {error}"))?;
        match &mut self.rows {
            FolderRows::Written(writer) => {
                writer.write(&batch)?;
                Ok(0)
            }
            FolderRows::Collected(collected) => {
                // Without views, which would hold the whole batch.
                let plain =
                    Slice { n_rows: batch.num_rows(), n_bytes: 0, batches: vec![batch] }.to_plain(plain_schema)?;
                let n_bytes = plain.get_array_memory_size();
                collected.held.push(plain);
                Ok(n_bytes)
            }
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sinks::SinkSpec;
    use crate::store::{Location, Outbox};
    use arrow::array::{ArrayRef, Int64Array, StringArray};

    #[test]
    fn rows_come_back_from_the_scratch_file_in_their_order() {
        const N_FOLDERS: i64 = 50;
        let ids = Int64Array::from_iter_values(0..1000);
        let rows = RecordBatch::try_from_iter(vec![
            ("k", Arc::new(Int64Array::from_iter_values((0..1000).map(|id| id % N_FOLDERS))) as ArrayRef),
            ("id", Arc::new(ids)),
            ("text", Arc::new(StringArray::from_iter_values((0..1000).map(|id| format!("text {id}"))))),
        ])
        .unwrap();
        let root = tempfile::tempdir().unwrap();
        for format in ["jsonl", "parquet"] {
            let mut spec = SinkSpec::new(format!("{}/{format}/", root.path().display()));
            for (name, value) in [("format", format), ("compression", "none"), ("partition_by", "k")] {
                spec.options.set(name, value).unwrap();
            }
            let outbox = Outbox::new("test");
            let claim = outbox.claim(&Location::folder(&root.path().join(format))).unwrap();
            let layout = spec.layout().unwrap();
            let mut hive =
                HiveWriter::create(layout, &rows.schema(), &["k".to_string()], (claim.clone(), PartsThere::default()))
                    .unwrap();
            hive.max_held_bytes = 10_000;
            for start in (0..1000).step_by(30) {
                hive.write(&rows.slice(start, 30.min(1000 - start))).unwrap();
            }
            assert!(hive.scratch.is_some() && hive.n_open == MAX_OPEN);
            let files = hive.finish().unwrap();
            assert_eq!(files.len() as i64, N_FOLDERS);
            files.iter().for_each(|file| claim.publish(file.name.as_ref().unwrap()).unwrap());
            outbox.commit().unwrap();
            for written in files {
                assert_eq!(written.n_rows, 20);
                let key: i64 =
                    written.path.parent().unwrap().display().to_string().split('=').nth(1).unwrap().parse().unwrap();
                if format == "jsonl" {
                    let line = |id: i64| format!("{{\"id\":{id},\"text\":\"text {id}\"}}\n");
                    let expected: String = (0..20).map(|n| line(n * N_FOLDERS + key)).collect();
                    assert_eq!(std::fs::read_to_string(&written.path).unwrap(), expected);
                }
            }
        }
    }
}
