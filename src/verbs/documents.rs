//! The documents of a partition, kept to be gone through again in the same order: in memory, past the budget in a
//! temporary file; or not kept past it, where they can be had again from elsewhere (`replay.rs`).
//!
//! Invariant: every replay gives the batches as they came, so rows keep their numbers.

use super::budget::PoolBudget;
use super::replay::{Again, Batches};
use crate::dedup::Budget;
use crate::exec::slice_bytes;
use crate::store::ScratchFile;
use crate::{Error, Result, bug};
use arrow::array::{AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow::ipc::{CompressionType, MetadataVersion};
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;

/// Batches on their way to the file are written in pieces of this size.
const BUFFER_BYTES: usize = 128 << 10;

/// All rows of the input.
pub(super) struct Documents {
    schema: SchemaRef,
    budget: Arc<PoolBudget>,
    held: Vec<RecordBatch>,
    held_bytes: usize,
    spool: Option<Spooled>,
    /// Gives the rows of a partition again, and the partition that these are of.
    again: Option<(Again, usize)>,
    n_rows: u64,
}

/// Batches on their way into a temporary file.
pub(super) struct Spool(Box<StreamWriter<BufWriter<ScratchFile>>>);

/// Where the documents that do not fit in memory are.
enum Spooled {
    Writing(Spool),
    Written(ScratchFile),
    /// They come again from elsewhere.
    Elsewhere,
}

impl Documents {
    pub fn new(schema: SchemaRef, budget: Arc<PoolBudget>) -> Self {
        Self { schema, budget, held: vec![], held_bytes: 0, spool: None, again: None, n_rows: 0 }
    }

    /// The same for rows of this partition, which need not be spooled if they can be had again.
    pub fn of_partition(mut self, again: Option<&Again>, partition: usize) -> Self {
        self.again = again.map(|again| (Arc::clone(again), partition));
        self
    }

    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Adds the next rows.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.n_rows += batch.num_rows() as u64;
        match &mut self.spool {
            Some(Spooled::Writing(spool)) => return spool.write(&batch),
            Some(Spooled::Elsewhere) => return Ok(()),
            Some(Spooled::Written(_)) => return Err(bug!("a document came after the last")),
            None => {}
        }
        let n_bytes = slice_bytes(&batch);
        if self.budget.try_grow(n_bytes) {
            self.held_bytes += n_bytes;
            self.held.push(batch);
            return Ok(());
        }
        if self.again.is_some() {
            self.held.clear();
            self.budget.shrink(std::mem::take(&mut self.held_bytes));
            self.spool = Some(Spooled::Elsewhere);
            return Ok(());
        }
        let mut spool = Spool::begin(&self.schema, self.budget.temp_file()?)?;
        for held in self.held.drain(..) {
            spool.write(&held)?;
        }
        spool.write(&batch)?;
        self.budget.shrink(std::mem::take(&mut self.held_bytes));
        self.spool = Some(Spooled::Writing(spool));
        Ok(())
    }

    /// No more rows will come.
    pub fn finish(&mut self) -> Result<()> {
        self.spool = match self.spool.take() {
            Some(Spooled::Writing(spool)) => Some(Spooled::Written(spool.finish(self.budget.as_ref())?)),
            other => other,
        };
        Ok(())
    }

    /// The batches from the first, each with the number of its first row.
    pub fn replay(&self) -> Result<impl Iterator<Item = Result<(u64, RecordBatch)>>> {
        let beyond_memory: Option<Batches> = match (&self.spool, &self.again) {
            (None, _) => None,
            (Some(Spooled::Written(file)), _) => Some(Box::new(Spool::read(file)?)),
            (Some(Spooled::Elsewhere), Some((again, partition))) => Some(again(*partition)?),
            _ => return Err(bug!("documents are replayed before they are complete")),
        };
        let held = self.held.iter().cloned().map(Ok);
        let mut batches = held.chain(beyond_memory.into_iter().flatten());
        let (mut n_rows, mut is_over) = (0, false);
        Ok(std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let Some(batch) = batches.next() else {
                is_over = true;
                return (n_rows != self.n_rows).then(|| Err(self.changed(n_rows)));
            };
            Some(batch.and_then(|batch| {
                let first_row = n_rows;
                n_rows += batch.num_rows() as u64;
                // Before anything is decided by them: later rows would get decisions about others.
                if n_rows > self.n_rows { Err(self.changed(n_rows)) } else { Ok((first_row, batch)) }
            }))
        }))
    }

    fn changed(&self, n_rows: u64) -> Error {
        let n_before = self.n_rows;
        Error::Data(format!(
            "{n_before} documents were read, and {n_rows} when they were read again: an input has changed"
        ))
    }
}

/// The texts of a column, whatever way Arrow holds them.
pub(super) fn texts(batch: &RecordBatch, column: usize) -> Result<StringArray> {
    let texts = cast(batch.column(column), &DataType::Utf8);
    let texts =
        texts.map_err(|error| Error::Data(format!("a text of type {}: {error}", batch.column(column).data_type())))?;
    Ok(texts.as_string::<i32>().clone())
}

const SPOOL: &str = "documents could not be kept in a temporary file";

impl Spool {
    pub fn begin(schema: &SchemaRef, file: ScratchFile) -> Result<Self> {
        let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5)
            .and_then(|options| options.try_with_compression(Some(CompressionType::LZ4_FRAME)))
            .map_err(failed)?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self(Box::new(StreamWriter::try_new_with_options(file, schema, options).map_err(failed)?)))
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(failed)
    }

    /// The file, once nothing more is to come.
    pub fn finish(mut self, budget: &dyn Budget) -> Result<ScratchFile> {
        self.0.finish().map_err(failed)?;
        let mut file = self.0.into_inner().map_err(failed)?;
        file.flush().map_err(failed)?;
        let file = file.into_inner().map_err(failed)?;
        budget.note_spilled(file.n_bytes());
        Ok(file)
    }

    /// The batches of a file, from the first.
    pub fn read(file: &ScratchFile) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let mut file = file.try_clone().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let batches = StreamReader::try_new(BufReader::with_capacity(BUFFER_BYTES, file), None).map_err(failed)?;
        Ok(batches.map(|batch| batch.map_err(failed)))
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Data(format!("{SPOOL}: {error}"))
}

impl Drop for Documents {
    fn drop(&mut self) {
        self.budget.shrink(self.held_bytes);
    }
}
