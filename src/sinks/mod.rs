//! Writes documents: files that appear complete or not at all.
//!
//! ```text
//!  batches ──► Sink ──► one output, or one per hive folder ──► slices of rows ──on all threads──► text, compressed ─┐
//!              (mod)    (hive.rs)                              (slices.rs,        (lines.rs, json csv text chunks) ├─► parts
//!                                                               encoding.rs)    ► row groups, Arrow batches        ─┘  (parts.rs, file.rs)
//!                                                                                 (columns.rs)
//! ```
//!
//! Invariants: the bytes written depend on the rows and their order only, never on how they were cut into batches or
//! on threads; nothing is visible under its final name before [`Sink::finish`]; a sink dropped before that leaves
//! nothing behind. Not here: collecting rows in order (`exec/`), and rejects, whose folder a sink only carries.

mod chunks;
mod columns;
mod csv;
mod encoding;
mod file;
mod hive;
mod json;
mod lines;
mod manifest;
mod options;
mod parts;
mod scratch;
mod slices;
mod source_lines;
mod spec;
#[cfg(test)]
mod tests;
mod text;
mod validate;

pub use file::remove_unfinished;
pub(crate) use json::{json_values, write_json_lines};
pub use options::{Compression, Format, SinkOption, SinkOptions};
pub(crate) use scratch::{Extent, Scratch};
pub use source_lines::{OutputColumn, SourceLines};
pub use spec::SinkSpec;
pub use validate::SinkProblem;

use crate::{Error, Result, bug};
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use file::CreatedFolders;
use hive::HiveWriter;
use manifest::FolderOutput;
use parts::{OutputWriter, PartNames};
use spec::Place;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One file that a sink wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// Where it is; `-` for standard output.
    pub path: PathBuf,
    /// Documents in it.
    pub n_rows: u64,
    /// Its size on disk.
    pub n_bytes: u64,
}

/// An output being written.
///
/// One thread calls `write` with the rows in their final order, then `finish`. Both block: encoding runs on rayon's
/// threads, and `write` waits when too much of it is in flight. Dropped before `finish`, a sink removes its temporary
/// files and the folders it created.
pub struct Sink {
    schema: SchemaRef,
    // Declared, and so dropped, before `folders`: a folder can only go once its temporary files are gone.
    writer: Writer,
    overwrite: bool,
    folder: Option<FolderOutput>,
    folders: CreatedFolders,
    closed: Arc<AtomicBool>,
}

/// Where rows go: into one sequence of parts, or into one per hive folder.
enum Writer {
    One(Box<OutputWriter>),
    Hive(Box<HiveWriter>),
}

impl Sink {
    /// Opens an output for rows of this schema. Fails, before anything is written, where [`SinkSpec::validate`] would.
    pub fn create(spec: &SinkSpec, schema: SchemaRef) -> Result<Sink> {
        Self::create_within(spec, schema, None)
    }

    /// The same, with a limit to the memory that the whole run may take; a sink takes an eighth of it.
    pub fn create_within(spec: &SinkSpec, schema: SchemaRef, memory_limit_bytes: Option<usize>) -> Result<Sink> {
        let mut layout = spec.checked_layout(&schema).map_err(|problem| Error::Data(problem.message))?;
        if let Some(limit) = memory_limit_bytes {
            layout.max_in_flight_bytes = layout.max_in_flight_bytes.min(limit / 8);
        }
        // Metadata of the whole schema says how the rows were made, not what they are; its order is not stable.
        let schema = Arc::new(Schema::new(schema.fields().clone()));
        let closed = Arc::new(AtomicBool::new(false));
        let mut folders = CreatedFolders::default();
        let mut folder = None;
        let names = match &layout.place {
            Place::Stdout => PartNames::stdout(closed.clone()),
            Place::Stream(path) => PartNames::stream(path.clone(), closed.clone()),
            Place::File(path) => {
                if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                    folders.create(parent)?;
                }
                PartNames::file(path.clone())
            }
            Place::Folder(path) => {
                folders.create(path)?;
                folder = Some(FolderOutput::open(path, &layout)?);
                PartNames::folder(path.clone(), layout.ending())
            }
        };
        let writer = if spec.options.partition_by.is_empty() {
            Writer::One(Box::new(OutputWriter::create(&layout, schema.clone(), names)?))
        } else {
            Writer::Hive(Box::new(HiveWriter::create(layout, &schema, &spec.options.partition_by)?))
        };
        Ok(Sink { schema, writer, overwrite: spec.options.overwrite, folder, folders, closed })
    }

    /// Appends rows. Once the reader of a pipe has gone this does nothing; ask [`Sink::is_closed`].
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 || self.is_closed() {
            return Ok(());
        }
        // DataFusion's batches may differ from the plan's schema in metadata and in what may be null.
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), batch.columns().to_vec(), &options)
            .map_err(|error| bug!("a batch does not fit the output: {error}"))?;
        match &mut self.writer {
            Writer::One(output) => output.write(&batch),
            Writer::Hive(hive) => hive.write(&batch, &mut self.folders),
        }
    }

    /// Whether the reader at the other end of the pipe has gone, so that more rows would be wasted.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Completes all files and gives them their names. In a folder, what an earlier run wrote goes only now.
    pub fn finish(self) -> Result<Vec<WrittenFile>> {
        let Sink { writer, overwrite, folder, mut folders, .. } = self;
        let mut complete = match writer {
            Writer::One(output) => output.finish()?,
            Writer::Hive(hive) => hive.finish(&mut folders)?,
        };
        complete.sort_by(|a, b| a.path().cmp(b.path()));
        let written = match folder {
            Some(folder) => folder.publish(complete)?,
            None => {
                let written = complete.into_iter().map(|file| file.publish(overwrite)).collect::<Result<Vec<_>>>()?;
                file::sync_folders_of(&written);
                written
            }
        };
        folders.keep();
        Ok(written)
    }
}
