//! An index that is open: what it holds, keys looked up in ascending order, vectors by cluster, names by ordinal.
//!
//! An open index is a snapshot: an append or a compaction by another process does not change it.
//! Memory: the directories, 48 bytes for each 4096 records or block of vectors, and one block: of
//! records at most 100 kB a segment, of vectors 256 kB or a single longer one, twice.

use super::block_file::{BlockFile, Content};
use super::manifest::{MANIFEST, Manifest};
use super::names::SegmentNames;
use super::parameters::IndexParameters;
use super::records::{SegmentCursor, key_of};
use super::vectors::{IndexCentres, IndexVectors, SegmentVectors, VectorBlock};
use crate::dedup::Budget;
use crate::dedup::claim::Claim;
use crate::store::{Location, is_folder, settle};
use crate::{Error, Result, bug};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An index of documents that were seen before.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    manifest: Manifest,
    parameters: IndexParameters,
    centres: Option<BlockFile>,
    segments: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    first_ordinal: u64,
    n_docs: u64,
    ordinal_shift: u64,
    records: Arc<BlockFile>,
    names: Option<Arc<BlockFile>>,
}

impl Index {
    /// Opens the index in a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        settle(&Location::index(folder))?;
        let mut manifest = existing(folder)?;
        loop {
            match Self::of_manifest(folder, manifest.clone()) {
                Ok(index) => return Ok(index),
                Err(error) => {
                    // A compaction may have replaced the files since the manifest was read.
                    let now = existing(folder)?;
                    if now == manifest {
                        return Err(error);
                    }
                    manifest = now;
                }
            }
        }
    }

    /// Opens the index in a folder, which must have been made with these parameters.
    pub fn open_for(folder: &Path, parameters: &IndexParameters) -> Result<Self> {
        let index = Self::open(folder)?;
        index.parameters.check(parameters, &folder.display().to_string())?;
        Ok(index)
    }

    /// The same; without an index there, one without documents, which is not made.
    pub fn open_or_empty(folder: &Path, parameters: &IndexParameters) -> Result<Self> {
        settle(&Location::index(folder))?;
        match Manifest::read(folder)? {
            Some(_) => Self::open_for(folder, parameters),
            None => Self::of_manifest(folder, Manifest::empty(parameters)),
        }
    }

    /// The index that a manifest describes, for who knows that nobody else changes it.
    pub(super) fn of_manifest(folder: &Path, manifest: Manifest) -> Result<Self> {
        let parameters = manifest.parameters()?;
        let segments = open_segments(folder, &manifest, &parameters)?;
        let centres =
            manifest.centres.as_ref().map(|file| BlockFile::open(folder, file, Content::Centres)).transpose()?;
        Ok(Self { folder: folder.to_path_buf(), manifest, parameters, centres, segments })
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the keys were made.
    pub fn parameters(&self) -> &IndexParameters {
        &self.parameters
    }

    /// Documents that were added. The next one has this ordinal.
    pub fn n_docs(&self) -> u64 {
        self.manifest.n_docs
    }

    /// Keys or vectors, over all segments.
    pub fn n_records(&self) -> u64 {
        self.manifest.n_records()
    }

    /// The parts that appends made.
    pub fn n_segments(&self) -> usize {
        self.segments.len()
    }

    /// The size of its files.
    pub fn n_bytes(&self) -> u64 {
        self.manifest.n_bytes()
    }

    /// The memory that looking keys up takes, or that comparing with vectors takes.
    pub fn lookup_bytes(&self) -> usize {
        if self.parameters.has_vectors() {
            let centres_bytes = self.manifest.centres.as_ref().map_or(0, |file| file.n_bytes as usize);
            let files = self.segments.iter().map(|segment| &segment.records);
            return centres_bytes + IndexVectors::memory_bytes(files);
        }
        self.segments.iter().map(|segment| SegmentCursor::memory_bytes(&segment.records)).sum()
    }

    /// The centres that its vectors are held by; none if it has no vectors yet.
    pub fn centres(&self) -> Result<Option<IndexCentres>> {
        self.centres.as_ref().map(IndexCentres::read).transpose()
    }

    /// Reads vectors; none if it has none yet. Their memory comes from `budget`, and goes back when it is dropped.
    pub fn vectors(&self, budget: &Arc<dyn Budget>) -> Result<Option<IndexVectors>> {
        let Some(centres) = self.centres()? else { return Ok(None) };
        let claim = claim(budget, self.lookup_bytes(), &self.folder)?;
        let (segments, dimension) = (self.segment_vectors().collect(), centres.dimension);
        Ok(Some(IndexVectors { segments, dimension, block: VectorBlock::default(), _claim: claim }))
    }

    pub(super) fn segment_vectors(&self) -> impl Iterator<Item = SegmentVectors> {
        self.segments.iter().map(|segment| SegmentVectors::new(Arc::clone(&segment.records), segment.ordinal_shift))
    }

    /// Looks keys up, from the least on. Its memory comes from `budget`, and goes back when it is dropped.
    pub fn cursor(&self, budget: &Arc<dyn Budget>) -> Result<IndexCursor> {
        let claim = claim(budget, self.lookup_bytes(), &self.folder)?;
        Ok(IndexCursor { segments: self.segment_cursors().collect(), last_key: None, _claim: claim })
    }

    pub(super) fn segment_cursors(&self) -> impl Iterator<Item = SegmentCursor> {
        self.segments.iter().map(|segment| SegmentCursor::new(Arc::clone(&segment.records), segment.ordinal_shift))
    }

    /// Looks names up. Its memory comes from `budget`, and goes back when it is dropped.
    pub fn names(&self, budget: &Arc<dyn Budget>) -> Result<IndexNames> {
        let files = self.segments.iter().filter_map(|segment| segment.names.as_ref());
        let claim = claim(budget, files.map(|file| file.memory_bytes()).sum(), &self.folder)?;
        let segments = self.segments.iter().map(|segment| {
            let names = segment.names.as_ref().map(|file| SegmentNames::new(Arc::clone(file)));
            (segment.first_ordinal..segment.first_ordinal + segment.n_docs, names)
        });
        Ok(IndexNames { segments: segments.collect(), _claim: claim })
    }
}

/// The manifest of an index that must be there.
pub(super) fn existing(folder: &Path) -> Result<Manifest> {
    if let Some(manifest) = Manifest::read(folder)? {
        return Ok(manifest);
    }
    let place = folder.display();
    Err(Error::Data(match is_folder(folder) {
        true => format!("{place}: not an index: there is no {MANIFEST} in this folder"),
        false => format!("{place}: there is no index here; APPEND makes one"),
    }))
}

fn open_segments(folder: &Path, manifest: &Manifest, parameters: &IndexParameters) -> Result<Vec<Segment>> {
    let content = if parameters.has_vectors() { Content::Vectors } else { Content::Records };
    let open = |segment: &super::manifest::SegmentEntry| {
        let names = segment.names.as_ref().map(|file| BlockFile::open(folder, file, Content::Names)).transpose()?;
        Ok(Segment {
            first_ordinal: segment.first_ordinal,
            n_docs: segment.n_docs,
            ordinal_shift: segment.ordinal_shift,
            records: Arc::new(BlockFile::open(folder, &segment.records, content)?),
            names: names.map(Arc::new),
        })
    };
    manifest.segments.iter().map(open).collect()
}

fn claim(budget: &Arc<dyn Budget>, n_bytes: usize, folder: &Path) -> Result<Claim> {
    let mut claim = Claim::none(budget);
    if claim.try_grow(n_bytes) {
        return Ok(claim);
    }
    Err(Error::Data(format!(
        "out of memory: reading the index {} takes {n_bytes} bytes\n\
         raise the limit with --memory, or make its segments one with `curator index compact`",
        folder.display()
    )))
}

/// Looks keys up in all segments at once, in ascending order.
pub struct IndexCursor {
    segments: Vec<SegmentCursor>,
    last_key: Option<u128>,
    _claim: Claim,
}

impl IndexCursor {
    /// The least ordinal that has this key, if any has. No key may be less than the one before.
    pub fn seek<const K: usize>(&mut self, key: [u64; K]) -> Result<Option<u64>> {
        let key = key_of(key);
        if self.last_key.is_some_and(|last| last > key) {
            return Err(bug!("keys must be looked up in ascending order"));
        }
        self.last_key = Some(key);
        let mut least = None;
        for segment in &mut self.segments {
            segment.seek(key)?;
            if segment.key() == Some(key) {
                let ordinal = segment.ordinal()?;
                least = Some(least.map_or(ordinal, |least: u64| least.min(ordinal)));
            }
        }
        Ok(least)
    }
}

/// The names of an index's documents.
pub struct IndexNames {
    segments: Vec<(std::ops::Range<u64>, Option<SegmentNames>)>,
    _claim: Claim,
}

impl IndexNames {
    /// The name of a document, if it was given one. Neighbouring ordinals are cheapest.
    pub fn get(&mut self, ordinal: u64) -> Result<Option<&str>> {
        let at = self.segments.partition_point(|(ordinals, _)| ordinals.end <= ordinal);
        match self.segments.get_mut(at) {
            Some((ordinals, Some(names))) => names.get(ordinal - ordinals.start),
            Some((_, None)) => Ok(None),
            None => Err(bug!("the index has no document {ordinal}")),
        }
    }
}
