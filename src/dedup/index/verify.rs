//! Reading a whole index to see whether it is as it was written.
//!
//! Invariant: an index that has no problems here gives right answers; a changed byte in any of its files is one.

use super::block_file::{BlockFile, Content, hash_file};
use super::manifest::{FileEntry, Manifest, SegmentEntry};
use super::names::SegmentNames;
use super::parameters::IndexParameters;
use super::publish::leftovers;
use super::reader::existing;
use super::records::{SegmentCursor, key_of};
use super::vectors::{IndexCentres, SegmentVectors, VectorBlock};
use crate::Result;
use crate::store::{Location, settle};
use std::path::Path;
use std::sync::Arc;

/// What was read, and what is wrong with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Files that belong to the index, without its manifest.
    pub n_files: usize,
    /// Bytes in them.
    pub n_bytes: u64,
    /// The records are vectors, not keys.
    pub has_vectors: bool,
    /// Records in them.
    pub n_records: u64,
    /// Documents.
    pub n_docs: u64,
    /// What is wrong, a line each; none if all is well.
    pub problems: Vec<String>,
    /// Files of an append that did not end; the next change to the index removes them.
    pub leftovers: Vec<String>,
}

/// Reads every byte of an index. An index whose manifest cannot be read is an error, all else is told in the result.
pub fn verify(folder: &Path) -> Result<Verification> {
    settle(&Location::index(folder))?;
    let manifest = existing(folder)?;
    let parameters = manifest.parameters()?;
    let has_vectors = parameters.has_vectors();
    let mut found = Verification { has_vectors, n_docs: manifest.n_docs, ..Verification::default() };
    for file in manifest.files() {
        found.n_files += 1;
        found.n_bytes += file.n_bytes;
        match check_file(folder, file) {
            Ok(None) => {}
            Ok(Some(problem)) => found.problems.push(format!("{}: {problem}", file.file)),
            Err(error) => found.problems.push(error.to_string()),
        }
    }
    let centres = match read_centres(folder, &manifest) {
        Ok(centres) => centres,
        Err(error) => {
            found.problems.push(error.to_string());
            None
        }
    };
    for segment in &manifest.segments {
        let checked = match (&parameters, &centres) {
            (IndexParameters::Semantic { .. }, Some(centres)) => check_vectors(folder, &manifest, segment, centres),
            // Without centres there is nothing to hold vectors to; that they are missing was told.
            (IndexParameters::Semantic { .. }, None) => Ok(None),
            _ => check_records(folder, &manifest, segment),
        };
        match checked {
            Ok(None) => found.n_records += segment.n_records,
            Ok(Some(problem)) => found.problems.push(format!("{}: {problem}", segment.records.file)),
            Err(error) => found.problems.push(error.to_string()),
        }
        if let Some(names) = &segment.names {
            match check_names(folder, names, segment.n_docs) {
                Ok(None) => {}
                Ok(Some(problem)) => found.problems.push(format!("{}: {problem}", names.file)),
                Err(error) => found.problems.push(error.to_string()),
            }
        }
    }
    found.problems.dedup();
    found.leftovers = leftovers(folder, &manifest)?;
    Ok(found)
}

fn check_file(folder: &Path, entry: &FileEntry) -> Result<Option<String>> {
    let (n_bytes, hash) = hash_file(&folder.join(&entry.file), |_| Ok(()))?;
    if n_bytes != entry.n_bytes {
        return Ok(Some(format!("{n_bytes} bytes long instead of {}", entry.n_bytes)));
    }
    Ok((hash != entry.xxh3_128).then(|| format!("the checksum of the file is {hash} instead of {}", entry.xxh3_128)))
}

fn read_centres(folder: &Path, manifest: &Manifest) -> Result<Option<IndexCentres>> {
    let Some(entry) = &manifest.centres else { return Ok(None) };
    IndexCentres::read(&BlockFile::open(folder, entry, Content::Centres)?).map(Some)
}

fn check_vectors(
    folder: &Path,
    manifest: &Manifest,
    segment: &SegmentEntry,
    centres: &IndexCentres,
) -> Result<Option<String>> {
    let file = Arc::new(BlockFile::open(folder, &segment.records, Content::Vectors)?);
    let vectors = SegmentVectors::new(file, segment.ordinal_shift);
    let mut read = VectorBlock::default();
    let mut range = KeyRange::default();
    for block in 0..vectors.n_blocks() {
        let cluster = vectors.read(block, centres.dimension, &mut read)?;
        if cluster >= centres.len() as u64 {
            return Ok(Some(format!("block {block} is of cluster {cluster}, of {}", centres.len())));
        }
        for (place, ordinal) in read.ordinals.iter().enumerate() {
            let key = key_of([cluster, *ordinal]);
            if place == 0 && vectors.first_key(block) != Some(key) {
                return Ok(Some(format!("block {block} does not begin with the vector that it should")));
            }
            if let Some(problem) = range.add(key, *ordinal, manifest) {
                return Ok(Some(problem));
            }
        }
    }
    Ok(range.problem(segment, segment.ordinal_shift))
}

/// Keys that must ascend, as many as there should be.
#[derive(Default)]
struct KeyRange {
    first: Option<u128>,
    last: Option<u128>,
    n_records: u64,
}

impl KeyRange {
    /// What is wrong with the next key.
    fn add(&mut self, key: u128, ordinal: u64, manifest: &Manifest) -> Option<String> {
        let n = self.n_records;
        if self.last.is_some_and(|last| last >= key) {
            return Some(format!("record {n} is out of order"));
        }
        if ordinal >= manifest.n_docs {
            return Some(format!("record {n} is of document {ordinal}, of {}", manifest.n_docs));
        }
        self.first.get_or_insert(key);
        self.last = Some(key);
        self.n_records += 1;
        None
    }

    /// What is wrong with all of them. The manifest has keys without `key_shift`.
    fn problem(self, segment: &SegmentEntry, key_shift: u64) -> Option<String> {
        if self.n_records != segment.n_records {
            return Some(format!("{} records instead of {}", self.n_records, segment.n_records));
        }
        let hex = |key: Option<u128>| key.map(|key| format!("{:032x}", key.wrapping_sub(u128::from(key_shift))));
        let is_right = hex(self.first) == segment.first_key && hex(self.last) == segment.last_key;
        (!is_right).then(|| "the range of its keys is another".to_string())
    }
}

fn check_records(folder: &Path, manifest: &Manifest, segment: &SegmentEntry) -> Result<Option<String>> {
    let file = Arc::new(BlockFile::open(folder, &segment.records, Content::Records)?);
    let mut cursor = SegmentCursor::new(file, segment.ordinal_shift);
    let mut range = KeyRange::default();
    while let Some(key) = cursor.key() {
        if let Some(problem) = range.add(key, cursor.ordinal()?, manifest) {
            return Ok(Some(problem));
        }
        cursor.advance()?;
    }
    Ok(range.problem(segment, 0))
}

fn check_names(folder: &Path, entry: &FileEntry, n_docs: u64) -> Result<Option<String>> {
    let file = Arc::new(BlockFile::open(folder, entry, Content::Names)?);
    let n_names: u64 = file.blocks().iter().map(|block| u64::from(block.n_entries)).sum();
    if n_names != n_docs {
        return Ok(Some(format!("{n_names} names for {n_docs} documents")));
    }
    let mut names = SegmentNames::new(file);
    for place in 0..n_docs {
        names.get(place)?;
    }
    Ok(None)
}
