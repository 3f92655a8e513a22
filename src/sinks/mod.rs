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
//! on threads; nothing is visible under its final name before the run's commit; a sink dropped before that leaves
//! nothing behind. Not here: collecting rows in order (`exec/`), and the commit (`store`).

mod chunks;
mod columns;
mod csv;
mod encoding;
mod existing;
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
mod verify;

pub(crate) use existing::DROPPED;
pub(crate) use json::{json_values, write_json_lines};
pub use manifest::{ColumnType, InputFile, ModelOfRun, RejectsFolder, RuleCount, RunFacts, StagedOutput};
pub use options::{Compression, Format, SinkOptions};
pub(crate) use scratch::{Extent, Scratch};
pub use source_lines::{OutputColumn, SourceLines};
pub use spec::SinkSpec;
pub use verify::{OutputVerification, verify};
pub(crate) use verify::{check_complete, check_complete_list, is_of_output};

use crate::store::{self, Claim, Location, Outbox, settle_around};
use crate::{Error, Result, bug};
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use existing::Existing;
use file::{CompleteFile, Target};
use hive::HiveWriter;
use manifest::{Kind, Manifest, StagedPlace, manifest_of_file};
use parts::{OutputWriter, PartNames};
use spec::{Destination, Layout};
use std::path::{Path, PathBuf};
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
/// One thread calls `write` with the rows in their final order, then `stage` or `finish`. All block: encoding runs on
/// rayon's threads, and `write` waits when too much of it is in flight.
pub struct Sink {
    schema: SchemaRef,
    writer: Writer,
    place: Option<StagedPlace>,
    closed: Arc<AtomicBool>,
    /// Of a sink that is a run by itself.
    #[cfg(test)]
    own: Option<Outbox>,
}

/// Where rows go: into one sequence of parts, or into one per hive folder.
enum Writer {
    One(Box<OutputWriter>),
    Hive(Box<HiveWriter>),
}

impl Sink {
    /// Opens an output that is a run by itself: [`Sink::finish`] commits it. Fails, before anything is written, where
    /// [`SinkSpec::validate`] would.
    #[cfg(test)]
    pub fn create(spec: &SinkSpec, schema: SchemaRef) -> Result<Sink> {
        let outbox = Outbox::new("sink");
        let sink = Self::create_in(spec, schema, None, &outbox)?;
        Ok(Sink { own: Some(outbox), ..sink })
    }

    /// Opens an output of a run, with a limit to the memory that the whole run may take; a sink takes an eighth of it.
    pub fn create_in(
        spec: &SinkSpec,
        schema: SchemaRef,
        memory_limit_bytes: Option<usize>,
        outbox: &Outbox,
    ) -> Result<Sink> {
        let layout =
            spec.layout_for(&schema).map_err(|problem| Error::Data(problem.message))?.within(memory_limit_bytes);
        let claim = spec.claim(outbox)?;
        // Looked at once more, now that nobody else can change the place.
        spec.check_existing(&layout).map_err(|problem| Error::Data(problem.message))?;
        let mut place = None;
        if let Some(claim) = claim {
            let (file, found) = match &layout.place {
                Destination::File(path) => (Some(path.clone()), Existing::of_file(path)),
                _ => (None, Existing::of_folder(claim.root())),
            };
            let replaces = file.is_none() && spec.options.overwrite && !spec.appends;
            if let Some(problem) = replaces.then(|| existing::changed_file(claim.shown())).flatten() {
                return Err(Error::Data(problem));
            }
            let (format, compression) = (Some(layout.format.name()), Some(layout.compression.name()));
            let (old_files, rejects) = (found.into_files(), spec.options.rejects.clone());
            let earlier = spec.appends.then(|| Manifest::of_folder(claim.root())).flatten().map(Arc::new);
            let kind = Kind::Output;
            place = Some(StagedPlace { claim, kind, file, old_files, earlier, format, compression, rejects });
        }
        Self::open(layout, schema, &spec.options.partition_by, place, Path::new(""))
    }

    /// Opens the folder `below` a claimed one for files that somebody else lists.
    pub(crate) fn create_below(
        folder: &RejectsFolder,
        below: &Path,
        options: SinkOptions,
        schema: SchemaRef,
    ) -> Result<Sink> {
        let claim = Arc::clone(folder.claim());
        let location = format!("{}/", claim.shown().join(below).display());
        let spec = SinkSpec { options, ..SinkSpec::new(location) };
        let layout = spec.layout().map_err(|problem| Error::Data(problem.message))?;
        let place = folder.place_of_parts();
        Self::open(layout, schema, &[], Some(place), below)
    }

    fn open(
        layout: Layout,
        schema: SchemaRef,
        partition_by: &[String],
        place: Option<StagedPlace>,
        below: &Path,
    ) -> Result<Sink> {
        // Metadata of the whole schema says how the rows were made, not what they are; its order is not stable.
        let schema = Arc::new(Schema::new(schema.fields().clone()));
        let closed = Arc::new(AtomicBool::new(false));
        let claim = place.as_ref().map(|place| Arc::clone(&place.claim));
        let claimed = || claim.clone().ok_or_else(|| bug!("an output on disk without a claim"));
        let there = place.as_ref().map(StagedPlace::parts_there).unwrap_or_default();
        let writer = if partition_by.is_empty() {
            let names = match &layout.place {
                Destination::Stdout => PartNames::stdout(closed.clone()),
                Destination::Stream(path) => PartNames::stream(path.clone(), closed.clone()),
                Destination::File(path) => PartNames::file(claimed()?, path.clone()),
                Destination::Folder(_) => PartNames::folder(claimed()?, below.to_path_buf(), layout.ending(), &there),
            };
            Writer::One(Box::new(OutputWriter::create(&layout, schema.clone(), names)?))
        } else {
            Writer::Hive(Box::new(HiveWriter::create(layout, &schema, partition_by, (claimed()?, there))?))
        };
        Ok(Sink {
            schema,
            writer,
            place,
            closed,
            #[cfg(test)]
            own: None,
        })
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
            Writer::Hive(hive) => hive.write(&batch),
        }
    }

    /// Whether the reader at the other end of the pipe has gone, so that more rows would be wasted.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Completes all files; they wait for the commit of the run.
    pub fn stage(self) -> Result<StagedOutput> {
        let files = match self.writer {
            Writer::One(output) => output.finish()?,
            Writer::Hive(hive) => hive.finish()?,
        };
        Ok(StagedOutput::new(self.place, files))
    }

    /// Completes all files of a sink that is a run by itself, and gives them their names.
    #[cfg(test)]
    pub fn finish(mut self) -> Result<Vec<WrittenFile>> {
        let Some(outbox) = self.own.take() else { return Err(bug!("a sink of a run is committed by the run")) };
        let staged = self.stage()?;
        let written = staged.written();
        staged.prepare(&RunFacts::default())?;
        outbox.commit()?;
        Ok(written)
    }
}

impl SinkSpec {
    /// Takes the place for a run; nothing to take of standard output, pipes and devices.
    pub fn claim(&self, outbox: &Outbox) -> Result<Option<Arc<Claim>>> {
        self.place().map_err(|problem| Error::Data(problem.message))?;
        self.location_on_disk().map(|location| outbox.claim(&location)).transpose()
    }

    /// The place that a run changes; `None` for standard output, pipes and devices.
    pub fn location_on_disk(&self) -> Option<Location> {
        match self.place().ok()? {
            Destination::Stdout | Destination::Stream(_) => None,
            Destination::File(path) => Some(Location::file(&path)),
            Destination::Folder(path) => Some(Location::folder(&path)),
        }
    }

    /// What the run says of itself that has written what is there, if a run has and all of it is there.
    pub fn committed(&self) -> Result<Option<RunFacts>> {
        let Some(path) = self.path() else { return Ok(None) };
        settle_around(&path)?;
        let manifest = match self.is_folder() {
            true => Manifest::of_folder(&path),
            false => match Existing::of_file(&path) {
                Existing::Ours { .. } => {
                    store::read(&manifest_of_file(&path)).ok().and_then(|text| Manifest::parse(&text))
                }
                Existing::Nothing | Existing::Strangers { .. } => None,
            },
        };
        let Some(manifest) = manifest else { return Ok(None) };
        let is_there = |name: &String, n_bytes: u64| {
            let file = if self.is_folder() { path.join(name) } else { path.clone() };
            store::stat(&file).is_ok_and(|found| found.n_bytes == n_bytes)
        };
        let is_whole = manifest.files.iter().all(|file| is_there(&file.path, file.n_bytes));
        Ok(is_whole.then_some(manifest.facts))
    }
}

/// A file of its own that a run stages in a folder of rejects.
pub(crate) struct StagedFile {
    target: Target,
    folder: RejectsFolder,
    n_rows: u64,
}

impl StagedFile {
    /// The file that will be called `name`.
    pub fn create(folder: &RejectsFolder, name: &str) -> Result<Self> {
        let path = folder.claim().shown().join(name);
        let target = Target::create(folder.claim(), Path::new(name), path)?;
        Ok(Self { target, folder: folder.clone(), n_rows: 0 })
    }

    /// Appends one line.
    pub fn append(&mut self, line: &[u8]) -> Result<()> {
        self.n_rows += 1;
        self.target.append(line)
    }

    /// Makes sure that it is on the disk.
    pub fn stage(self) -> Result<StagedOutput> {
        let file: CompleteFile = self.target.complete(self.n_rows)?;
        let empty = self.folder.staged(vec![]);
        Ok(empty.with(file))
    }
}
