//! Reading a whole index to see whether it is as it was written.
//!
//! Invariant: an index that has no problems here gives right answers; a changed byte in any of its files is one.

use super::block_file::{BlockFile, Content, hash_file};
use super::manifest::{FileEntry, Manifest, SegmentEntry};
use super::names::SegmentNames;
use super::publish::leftovers;
use super::reader::existing;
use super::records::SegmentCursor;
use crate::Result;
use std::path::Path;
use std::sync::Arc;

/// What was read, and what is wrong with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Files that belong to the index, without its manifest.
    pub n_files: usize,
    /// Bytes in them.
    pub n_bytes: u64,
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
    let manifest = existing(folder)?;
    let mut found = Verification { n_docs: manifest.n_docs, ..Verification::default() };
    for segment in &manifest.segments {
        for file in segment.files() {
            found.n_files += 1;
            found.n_bytes += file.n_bytes;
            match check_file(folder, file) {
                Ok(None) => {}
                Ok(Some(problem)) => found.problems.push(format!("{}: {problem}", file.file)),
                Err(error) => found.problems.push(error.to_string()),
            }
        }
        match check_records(folder, &manifest, segment) {
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

fn check_records(folder: &Path, manifest: &Manifest, segment: &SegmentEntry) -> Result<Option<String>> {
    let file = Arc::new(BlockFile::open(folder, &segment.records, Content::Records)?);
    let mut cursor = SegmentCursor::new(file, segment.ordinal_shift);
    let (mut first, mut last, mut n_records) = (None, None, 0u64);
    while let Some(key) = cursor.key() {
        if last.is_some_and(|last| last >= key) {
            return Ok(Some(format!("record {n_records} is out of order")));
        }
        let ordinal = cursor.ordinal()?;
        if ordinal >= manifest.n_docs {
            return Ok(Some(format!("record {n_records} is of document {ordinal}, of {}", manifest.n_docs)));
        }
        first.get_or_insert(key);
        last = Some(key);
        n_records += 1;
        cursor.advance()?;
    }
    if n_records != segment.n_records {
        return Ok(Some(format!("{n_records} records instead of {}", segment.n_records)));
    }
    let hex = |key: Option<u128>| key.map(|key| format!("{key:032x}"));
    let is_right = hex(first) == segment.first_key && hex(last) == segment.last_key;
    Ok((!is_right).then(|| "the range of its keys is another".to_string()))
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
