//! Making the segments of an index one, and bringing other indexes into it.

use super::append::{IndexWriter, NewSegment, StagedAppend};
use super::block_file::{damaged, hash_file};
use super::manifest::{FileEntry, Manifest, centres_file, names_file, records_file};
use super::publish::{NewFiles, remove_leftovers};
use super::reader::{Index, existing};
use crate::dedup::{Budget, FixedBudget};
use crate::store::{NewFile, real_path};
use crate::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactReport {
    /// The records are vectors, not keys.
    pub has_vectors: bool,
    /// Segments before; one is left.
    pub n_segments_before: usize,
    /// Records before.
    pub n_records_before: u64,
    /// Records after: of equal keys only the one that can be found is left. Vectors all stay.
    pub n_records_after: u64,
    /// Bytes before.
    pub n_bytes_before: u64,
    /// Bytes after.
    pub n_bytes_after: u64,
}

/// Makes the segments of an index one. Every lookup gives what it gave before.
pub fn compact(folder: &Path) -> Result<CompactReport> {
    let writer = IndexWriter::open_or_else(folder, || existing(folder)?.parameters())?;
    compact_locked(&writer, |_| ())
}

/// The same for who holds the lock; `after` is told of each step. The writer's own view stays that of before.
pub(super) fn compact_locked(writer: &IndexWriter, after: impl FnMut(&str)) -> Result<CompactReport> {
    let index = writer.index();
    let mut manifest = index.manifest().clone();
    let mut report = CompactReport {
        has_vectors: index.parameters().has_vectors(),
        n_segments_before: index.n_segments(),
        n_records_before: index.n_records(),
        n_records_after: index.n_records(),
        n_bytes_before: index.n_bytes(),
        n_bytes_after: index.n_bytes(),
    };
    if index.n_segments() <= 1 {
        return Ok(report);
    }
    let folder = index.folder();
    let mut files = NewFiles::new(folder);
    let mut segment = NewSegment::create(manifest.next_segment, index.parameters(), &mut files)?;
    match index.parameters().has_vectors() {
        true => merge_vectors(index, &mut segment)?,
        false => merge_records(index, &mut segment)?,
    }
    if manifest.segments.iter().any(|segment| segment.names.is_some()) {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::new());
        let mut old = index.names(&budget)?;
        let new = segment.names(&mut files)?;
        for ordinal in 0..index.n_docs() {
            new.push(old.get(ordinal)?.unwrap_or_default())?;
        }
    }
    let runs = manifest.segments.iter_mut().filter_map(|segment| segment.run.take());
    manifest.compacted_runs.extend(runs);
    manifest.compacted_runs.sort();
    manifest.compacted_runs.dedup();
    manifest.segments = vec![segment.finish(0, manifest.n_docs)?];
    manifest.next_segment += 1;
    report.n_records_after = manifest.n_records();
    report.n_bytes_after = manifest.n_bytes();
    files.publish(&manifest, after)?;
    // Who reads the old files has them open; their space is given back when the last one closes them.
    remove_leftovers(folder, &manifest, &writer.lock)?;
    Ok(report)
}

/// The records of all segments in the order of their keys.
fn merge_records(index: &Index, segment: &mut NewSegment) -> Result<()> {
    let mut cursors: Vec<_> = index.segment_cursors().collect();
    let mut next = BinaryHeap::new();
    for (number, cursor) in cursors.iter_mut().enumerate() {
        if let Some(key) = cursor.key() {
            next.push(Reverse((key, cursor.ordinal()?, number)));
        }
    }
    while let Some(mut least) = next.peek_mut() {
        let Reverse((key, ordinal, number)) = *least;
        segment.push_key(key, ordinal)?;
        let cursor = &mut cursors[number];
        cursor.advance()?;
        match cursor.key() {
            Some(key) => *least = Reverse((key, cursor.ordinal()?, number)),
            None => drop(std::collections::binary_heap::PeekMut::pop(least)),
        }
    }
    Ok(())
}

/// The vectors of all segments, cluster by cluster.
fn merge_vectors(index: &Index, segment: &mut NewSegment) -> Result<()> {
    let budget: Arc<dyn Budget> = Arc::new(FixedBudget::new());
    let (Some(centres), Some(mut vectors)) = (index.centres()?, index.vectors(&budget)?) else { return Ok(()) };
    for cluster in 0..centres.len() as u32 {
        vectors.for_each_block(cluster, |ordinals, values| {
            let mut vectors = ordinals.iter().zip(values.chunks_exact(centres.dimension));
            vectors.try_for_each(|(ordinal, vector)| segment.push_vector(cluster, *ordinal, vector))
        })?;
    }
    Ok(())
}

/// What a merge did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeReport {
    /// The records are vectors, not keys.
    pub has_vectors: bool,
    /// Documents that came.
    pub n_docs_added: u64,
    /// Records that came.
    pub n_records_added: u64,
    /// Segments that the target has now.
    pub n_segments: usize,
}

/// Adds the documents of other indexes to the one in `target`, in the order given, as if they had been appended. The
/// others stay as they are; a target that is not there yet is made.
pub fn merge(target: &Path, sources: &[PathBuf]) -> Result<MergeReport> {
    let sources = sources.iter().map(|source| Index::open(source)).collect::<Result<Vec<_>>>()?;
    let first = sources.first().ok_or_else(|| Error::Data("no index to merge".to_string()))?;
    for source in &sources {
        check_same(first, source)?;
    }
    let writer = IndexWriter::open_or_else(target, || Ok(first.parameters().clone()))?;
    check_same(writer.index(), first)?;
    let own = real_path(target);
    let mut files = NewFiles::new(target);
    let mut manifest = writer.index().manifest().clone();
    let has_vectors = first.parameters().has_vectors();
    let mut report = MergeReport { has_vectors, n_docs_added: 0, n_records_added: 0, n_segments: 0 };
    let run = Some(format!("merge-{}", manifest.next_segment));
    for source in &sources {
        let place = source.folder();
        if real_path(place) == own {
            return Err(Error::Data(format!("{}: an index cannot be merged into itself", place.display())));
        }
        take_centres(&mut manifest, source, &mut files)?;
        let n_docs_before = manifest.n_docs;
        for segment in &source.manifest().segments {
            let mut segment = segment.clone();
            segment.first_ordinal += n_docs_before;
            segment.ordinal_shift += n_docs_before;
            segment.records =
                copy(place, &segment.records, records_file(manifest.next_segment, source.parameters()), &mut files)?;
            let names = segment.names.as_ref();
            segment.names =
                names.map(|names| copy(place, names, names_file(manifest.next_segment), &mut files)).transpose()?;
            manifest.next_segment += 1;
            report.n_records_added += segment.n_records;
            // One change, which is undone as one. The runs whose documents came cannot be told from it.
            manifest.compacted_runs.extend(std::mem::replace(&mut segment.run, run.clone()));
            manifest.segments.push(segment);
        }
        manifest.compacted_runs.extend(source.manifest().compacted_runs.iter().cloned());
        manifest.n_docs += source.n_docs();
        report.n_docs_added += source.n_docs();
    }
    manifest.compacted_runs.sort();
    manifest.compacted_runs.dedup();
    report.n_segments = manifest.segments.len();
    StagedAppend { files, manifest, lock: writer.lock }.commit()?;
    Ok(report)
}

/// What was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackReport {
    /// The run that had added the documents.
    pub run: String,
    /// Documents that went.
    pub n_docs_removed: u64,
    /// Documents that are left.
    pub n_docs: u64,
}

/// Undoes the last append or merge: the index is as it was before.
pub fn rollback(folder: &Path) -> Result<RollbackReport> {
    let writer = IndexWriter::open_or_else(folder, || existing(folder)?.parameters())?;
    let manifest = writer.index().manifest();
    let place = folder.display();
    let Some(last) = manifest.segments.last() else {
        return Err(Error::Data(format!("{place}: the index is empty: there is nothing to undo")));
    };
    let Some(run) = last.run.clone() else {
        return Err(Error::Data(format!(
            "{place}: what was added last cannot be told from the rest: a compaction put them together\n\
             restore the index from a copy, or build it anew"
        )));
    };
    let n_before = manifest.segments.iter().rposition(|segment| segment.run.as_ref() != Some(&run));
    let before = manifest.before_segment(n_before.map_or(0, |at| at + 1));
    let report = RollbackReport { run, n_docs_removed: manifest.n_docs - before.n_docs, n_docs: before.n_docs };
    NewFiles::new(folder).publish(&before, |_| ())?;
    remove_leftovers(folder, &before, &writer.lock)?;
    Ok(report)
}

/// Vectors are held by centres, so those of two indexes can only lie together if the centres are the same.
fn take_centres(manifest: &mut Manifest, source: &Index, files: &mut NewFiles) -> Result<()> {
    let (place, Some(theirs)) = (source.folder(), &source.manifest().centres) else { return Ok(()) };
    match &manifest.centres {
        None => {
            // Numbered like the first segment that will be copied; there is one, because there are centres.
            let name = centres_file(manifest.next_segment);
            manifest.centres = Some(copy(place, theirs, name, files)?);
            Ok(())
        }
        Some(ours) if ours.xxh3_128 == theirs.xxh3_128 => Ok(()),
        Some(_) => Err(Error::Data(format!(
            "{}: other centres: its clusters were learned from other vectors\n\
             indexes of vectors can be merged if they were begun as copies of one; else run its documents AGAINST INDEX",
            place.display()
        ))),
    }
}

fn check_same(one: &Index, other: &Index) -> Result<()> {
    if one.parameters() == other.parameters() {
        return Ok(());
    }
    let (one_place, other_place) = (one.folder().display(), other.folder().display());
    Err(Error::Data(format!(
        "other parameters: {one_place} holds {}, {other_place} holds {}",
        one.parameters(),
        other.parameters()
    )))
}

/// Copies a file of another index and waits until it is on disk; what was damaged is not spread.
fn copy(folder: &Path, entry: &FileEntry, name: String, files: &mut NewFiles) -> Result<FileEntry> {
    let (from, to) = (folder.join(&entry.file), files.add(&name));
    let failed = |error| Error::io(&to, error);
    let mut out = NewFile::replace(&to).map_err(failed)?;
    let (n_bytes, hash) = hash_file(&from, |bytes| out.write_all(bytes).map_err(failed))?;
    if (n_bytes, &hash) != (entry.n_bytes, &entry.xxh3_128) {
        return Err(damaged(&from, "the checksum of the file is another"));
    }
    out.sync().map_err(failed)?;
    Ok(FileEntry { file: name, n_bytes, xxh3_128: hash })
}
