//! Adding documents: written beside the index while the run goes on, part of it when the run has ended well.
//!
//! ```text
//! IndexWriter::open (lock) ──appender──► Appender (records or vectors, names) ──stage──► StagedAppend ──commit──► the index
//! ```
//! Whatever is dropped before `commit` leaves the index as it was.
//! Memory: less than 1 MB, and 48 bytes for each 4096 records or each block of vectors.

use super::maintain::compact_locked;
use super::manifest::{FileEntry, Manifest, SegmentEntry, centres_file, names_file, records_file};
use super::names::NameWriter;
use super::parameters::IndexParameters;
use super::publish::{NewFiles, WriterLock, is_free, remove_leftovers};
use super::reader::Index;
use super::records::{RecordWriter, WrittenRecords, key_of};
use super::vectors::{IndexCentres, VectorWriter};
use crate::store::{Location, Outbox, is_folder, settle};
use crate::{Error, Result, bug};
use std::path::Path;
use std::sync::Arc;

/// An append to an index of so many segments makes them one first: each is two open files, and a search in every lookup.
const MAX_SEGMENTS: usize = 128;

/// An index that nobody else can change while this exists.
#[derive(Debug)]
pub struct IndexWriter {
    pub(super) index: Arc<Index>,
    pub(super) lock: WriterLock,
    /// The run that writes; none for what is done by hand.
    run: Option<String>,
    /// The run has added its documents before; the index is that of before.
    is_repeated: bool,
}

impl IndexWriter {
    /// Opens the index in a folder, which must have been made with these parameters, or begins one there.
    #[cfg(test)]
    pub fn open(folder: &Path, parameters: &IndexParameters) -> Result<Self> {
        let writer = Self::open_or_else(folder, || Ok(parameters.clone()))?;
        writer.index.parameters().check(parameters, &folder.display().to_string())?;
        if writer.index.n_segments() < MAX_SEGMENTS {
            return Ok(writer);
        }
        compact_locked(&writer, |_| ())?;
        let index = Arc::new(Index::open(folder)?);
        Ok(Self { index, ..writer })
    }

    /// Opens the index in a folder, or begins one there, for a run that adds to it when it commits. A run that has added
    /// its documents before sees the index as it was then, and adds nothing.
    pub fn open_for_run(folder: &Path, parameters: &IndexParameters, outbox: &Outbox) -> Result<Self> {
        let claim = outbox.claim(&Location::index(folder))?;
        let found = Manifest::read(folder)?;
        if found.is_none() && !is_free(folder)? {
            return Err(not_an_index(folder));
        }
        let run = outbox.run().to_string();
        let mut manifest = found.unwrap_or_else(|| Manifest::empty(parameters));
        let lock = WriterLock::OfRun(claim);
        remove_leftovers(folder, &manifest, &lock)?;
        manifest.parameters()?.check(parameters, &folder.display().to_string())?;
        let before = manifest.before_run(&run);
        let before = before.map_err(|problem| Error::Data(format!("{}: {problem}", folder.display())))?;
        let is_repeated = before.is_some();
        if !is_repeated && manifest.segments.len() >= MAX_SEGMENTS {
            let index = Arc::new(Index::of_manifest(folder, manifest)?);
            let writer = Self { index, lock: WriterLock::Held, run: None, is_repeated };
            compact_locked(&writer, |_| ())?;
            manifest = super::reader::existing(folder)?;
        }
        let index = Arc::new(Index::of_manifest(folder, before.unwrap_or(manifest))?);
        Ok(Self { index, lock, run: Some(run), is_repeated })
    }

    /// Opens the index in a folder; `parameters` are asked for if there is none.
    pub(super) fn open_or_else(folder: &Path, parameters: impl FnOnce() -> Result<IndexParameters>) -> Result<Self> {
        settle(&Location::index(folder))?;
        let found = Manifest::read(folder)?;
        if found.is_none() && is_folder(folder) && !is_free(folder)? {
            return Err(not_an_index(folder));
        }
        let begun = if found.is_none() { Some(Manifest::empty(&parameters()?)) } else { None };
        let lock = WriterLock::take(folder)?;
        // What counts is what the folder holds now that nobody else writes.
        let manifest = match Manifest::read(folder)?.or(begun) {
            Some(manifest) => manifest,
            None => return Err(Error::Data(format!("{}: the index has just been removed", folder.display()))),
        };
        remove_leftovers(folder, &manifest, &lock)?;
        Ok(Self { index: Arc::new(Index::of_manifest(folder, manifest)?), lock, run: None, is_repeated: false })
    }

    /// What the index holds before the append.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Whether the run has added its documents before, so that there is nothing to add.
    pub fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Begins to add documents.
    pub fn appender(self) -> Result<Appender> {
        if self.is_repeated {
            return Err(bug!("a run adds its documents to {} once more", self.index.folder().display()));
        }
        let mut files = NewFiles::under(self.index.folder(), &self.lock);
        let segment = NewSegment::create(self.index.manifest().next_segment, self.index.parameters(), &mut files)?;
        Ok(Appender { writer: self, files, segment, centres: None, greatest_ordinal: None })
    }
}

/// Takes the keys and names of new documents.
pub struct Appender {
    writer: IndexWriter,
    files: NewFiles,
    segment: NewSegment,
    centres: Option<FileEntry>,
    greatest_ordinal: Option<u64>,
}

impl Appender {
    /// The ordinal of the first new document; the others follow.
    pub fn first_ordinal(&self) -> u64 {
        self.writer.index.n_docs()
    }

    /// What the index held before.
    #[cfg(test)]
    pub fn index(&self) -> &Arc<Index> {
        self.writer.index()
    }

    /// Adds a key of a document, new or old. Keys ascend; of equal ones the least ordinal counts. A key that the index
    /// has already need not be added: its ordinal is less than any new one.
    pub fn push_record<const K: usize>(&mut self, key: [u64; K], ordinal: u64) -> Result<()> {
        if K != self.writer.index.parameters().key_words() {
            return Err(bug!("keys of {K} words for the index {}", self.writer.index.folder().display()));
        }
        self.greatest_ordinal = self.greatest_ordinal.max(Some(ordinal));
        self.segment.push_key(key_of(key), ordinal)
    }

    /// The centres of the clusters, of an index that has none yet: every later append goes by them.
    pub fn set_centres(&mut self, centres: &IndexCentres) -> Result<()> {
        let place = self.writer.index.folder().display();
        if !self.writer.index.parameters().has_vectors() || self.writer.index.centres()?.is_some() {
            return Err(bug!("{place} takes no centres"));
        }
        let name = centres_file(self.writer.index.manifest().next_segment);
        self.centres = Some(centres.write(self.files.add(&name), name)?);
        Ok(())
    }

    /// Adds the vector of a new document to the cluster of its nearest centre. Clusters ascend, and ordinals in each.
    pub fn push_vector(&mut self, cluster: u32, ordinal: u64, vector: &[f32]) -> Result<()> {
        self.greatest_ordinal = self.greatest_ordinal.max(Some(ordinal));
        self.segment.push_vector(cluster, ordinal, vector)
    }

    /// Names the next new document, in the order of ordinals: all of them are named, or none.
    pub fn push_name(&mut self, name: Option<&str>) -> Result<()> {
        self.segment.names(&mut self.files)?.push(name.unwrap_or_default())
    }

    /// Ends the writing: `n_docs` documents are new. All is on disk then, and nothing is part of the index yet.
    pub fn stage(self, n_docs: u64) -> Result<StagedAppend> {
        let Self { writer, mut files, segment, centres, greatest_ordinal } = self;
        let mut manifest = writer.index.manifest().clone();
        let first_ordinal = manifest.n_docs;
        manifest.n_docs = first_ordinal.checked_add(n_docs).ok_or_else(|| bug!("{n_docs} new documents"))?;
        if greatest_ordinal >= Some(manifest.n_docs) {
            return Err(bug!("a key of document {greatest_ordinal:?} in an index of {}", manifest.n_docs));
        }
        let n_names = segment.n_names();
        if n_names.is_some_and(|n_names| n_names != n_docs) {
            return Err(bug!("{n_names:?} names for {n_docs} documents"));
        }
        if n_docs > 0 || greatest_ordinal.is_some() {
            let run = writer.run.clone();
            manifest.segments.push(SegmentEntry { run, ..segment.finish(first_ordinal, n_docs)? });
            manifest.centres = manifest.centres.or(centres);
            manifest.next_segment += 1;
        } else {
            files = NewFiles::under(writer.index.folder(), &writer.lock);
        }
        Ok(StagedAppend { files, manifest, lock: writer.lock })
    }
}

/// New content that is written and not yet part of the index. Dropped, it is gone.
pub struct StagedAppend {
    pub(super) files: NewFiles,
    pub(super) manifest: Manifest,
    pub(super) lock: WriterLock,
}

impl StagedAppend {
    /// Makes it part of the index: at once, or with everything else that a run commits.
    pub fn commit(self) -> Result<()> {
        match &self.lock {
            WriterLock::OfRun(claim) => self.files.stage(&self.manifest, claim),
            _ => self.commit_and_tell(|_| ()),
        }
    }

    /// The same; `after` is told of each step.
    pub(super) fn commit_and_tell(self, after: impl FnMut(&str)) -> Result<()> {
        self.files.publish(&self.manifest, after)
    }
}

fn not_an_index(folder: &Path) -> Error {
    Error::Data(format!(
        "{}: not an index: the folder holds other files; name an empty or a new folder",
        folder.display()
    ))
}

/// A segment that is being written.
pub(super) struct NewSegment {
    number: u64,
    name: String,
    records: Records,
    names: Option<NameWriter>,
}

/// What documents are found by.
enum Records {
    Keys(RecordWriter),
    Vectors(VectorWriter),
}

impl NewSegment {
    /// Files for the segment of this number.
    pub fn create(number: u64, parameters: &IndexParameters, files: &mut NewFiles) -> Result<Self> {
        let name = records_file(number, parameters);
        let path = files.add(&name);
        let records = match parameters.has_vectors() {
            true => Records::Vectors(VectorWriter::create(path)?),
            false => Records::Keys(RecordWriter::create(path)?),
        };
        Ok(Self { number, name, records, names: None })
    }

    /// Adds a key; see [`RecordWriter::push`].
    pub fn push_key(&mut self, key: u128, ordinal: u64) -> Result<()> {
        match &mut self.records {
            Records::Keys(keys) => keys.push(key, ordinal),
            Records::Vectors(_) => Err(bug!("a key for an index of vectors")),
        }
    }

    /// Adds a vector; see [`VectorWriter::push`].
    pub fn push_vector(&mut self, cluster: u32, ordinal: u64, vector: &[f32]) -> Result<()> {
        match &mut self.records {
            Records::Vectors(vectors) => vectors.push(cluster, ordinal, vector),
            Records::Keys(_) => Err(bug!("a vector for an index of keys")),
        }
    }

    /// Where its names go; the file is made for the first.
    pub fn names(&mut self, files: &mut NewFiles) -> Result<&mut NameWriter> {
        match &mut self.names {
            Some(names) => Ok(names),
            none => Ok(none.insert(NameWriter::create(files.add(&names_file(self.number)))?)),
        }
    }

    fn n_names(&self) -> Option<u64> {
        self.names.as_ref().map(NameWriter::n_names)
    }

    /// Waits until its files are on disk.
    pub fn finish(self, first_ordinal: u64, n_docs: u64) -> Result<SegmentEntry> {
        let WrittenRecords { file, n_records, first_key, last_key } = match self.records {
            Records::Keys(keys) => keys.finish(self.name)?,
            Records::Vectors(vectors) => vectors.finish(self.name)?,
        };
        let names: Option<FileEntry> = match self.names {
            Some(names) => Some(names.finish(names_file(self.number))?),
            None => None,
        };
        let hex = |key: u128| format!("{key:032x}");
        let (first_key, last_key) = (first_key.map(hex), last_key.map(hex));
        Ok(SegmentEntry {
            first_ordinal,
            n_docs,
            ordinal_shift: 0,
            n_records,
            first_key,
            last_key,
            records: file,
            names,
            run: None,
        })
    }
}
