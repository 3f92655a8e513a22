//! Dropped documents that wait until all that belong before them are there.
//!
//! Documents of partitions that ascend are written as soon as every partition is past them. Where partitions do not ascend
//! (after a join, a grouping), all documents are sorted at the end: what memory holds becomes a sorted run in a scratch file,
//! and the runs are merged.

use crate::exec::coalesce::slice_bytes;
use crate::sinks::{Extent, Scratch};
use crate::{Error, Result, bug};
use arrow::array::{Array, AsArray, BinaryArray, RecordBatch};
use arrow::compute::{concat_batches, sort_to_indices, take_record_batch};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

/// A sorted run is read back in pieces of about so many bytes.
const PIECE_BYTES: usize = 1 << 20;

/// Up to where documents may be written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DoneTo {
    /// All documents with smaller keys.
    Key(Vec<u8>),
    /// All documents.
    End,
}

impl DoneTo {
    /// No document yet.
    pub const NOTHING: Self = Self::Key(vec![]);

    fn is_past(&self, key: &[u8]) -> bool {
        match self {
            Self::Key(end) => key < end.as_slice(),
            Self::End => true,
        }
    }
}

/// Documents that wait. The last column of each batch is its key.
pub(super) struct Waiting {
    /// By partition or, of partitions that do not ascend, by sorted run.
    sequences: BTreeMap<usize, Sequence>,
    /// What each partition is done with; of no use if they do not ascend.
    done: BTreeMap<usize, DoneTo>,
    ascends: bool,
    unsorted: Vec<RecordBatch>,
    held_bytes: usize,
    max_held_bytes: usize,
    folder: PathBuf,
    scratch: Option<Scratch>,
}

/// Documents in ascending order.
type Sequence = VecDeque<Dropped>;

struct Dropped {
    first: Vec<u8>,
    rows: DroppedRows,
}

enum DroppedRows {
    Held(RecordBatch, usize),
    Scratch(Extent),
}

impl Waiting {
    /// Documents of partitions that ascend or do not; past `max_held_bytes` they wait in a file in `folder`.
    pub fn new(n_partitions: usize, ascends: bool, folder: PathBuf, max_held_bytes: usize) -> Self {
        Self {
            sequences: BTreeMap::new(),
            done: (0..n_partitions).map(|partition| (partition, DoneTo::NOTHING)).collect(),
            ascends,
            unsorted: vec![],
            held_bytes: 0,
            max_held_bytes,
            folder,
            scratch: None,
        }
    }

    /// A partition brings no document before this any more.
    pub fn set_done(&mut self, partition: usize, done_to: DoneTo) {
        self.done.insert(partition, done_to);
    }

    /// Up to where all partitions are.
    pub fn done_to(&self) -> DoneTo {
        self.done.values().min().filter(|_| self.ascends).cloned().unwrap_or(DoneTo::NOTHING)
    }

    /// Adds the next documents of a partition.
    pub fn push(&mut self, partition: usize, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let n_bytes = slice_bytes(&batch);
        self.held_bytes += n_bytes;
        if self.ascends {
            let dropped = Dropped { first: key(&batch, 0)?, rows: DroppedRows::Held(batch, n_bytes) };
            self.sequences.entry(partition).or_default().push_back(dropped);
        } else {
            self.unsorted.push(batch);
        }
        if self.held_bytes <= self.max_held_bytes {
            return Ok(());
        }
        self.sort()?;
        self.spill()
    }

    /// Makes a sorted run of what is not sorted yet.
    fn sort(&mut self) -> Result<()> {
        let unsorted = std::mem::take(&mut self.unsorted);
        let Some(first) = unsorted.first() else { return Ok(()) };
        let failed = |error: arrow::error::ArrowError| bug!("rows of the ledger: {error}");
        let rows = concat_batches(first.schema_ref(), &unsorted).map_err(failed)?;
        drop(unsorted);
        let order = sort_to_indices(keys(&rows)?, None, None).map_err(failed)?;
        let n_pieces = slice_bytes(&rows) / PIECE_BYTES + 1;
        let piece_rows = rows.num_rows().div_ceil(n_pieces);
        let mut run = Sequence::new();
        self.held_bytes = 0;
        for start in (0..rows.num_rows()).step_by(piece_rows) {
            let places = order.slice(start, piece_rows.min(rows.num_rows() - start));
            let piece = take_record_batch(&rows, &places).map_err(failed)?;
            let n_bytes = slice_bytes(&piece);
            self.held_bytes += n_bytes;
            run.push_back(Dropped { first: key(&piece, 0)?, rows: DroppedRows::Held(piece, n_bytes) });
        }
        self.sequences.insert(self.sequences.len(), run);
        Ok(())
    }

    /// Moves all documents that wait in memory into the scratch file.
    fn spill(&mut self) -> Result<()> {
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(Scratch::create(&self.folder)?),
        };
        for dropped in self.sequences.values_mut().flatten() {
            if let DroppedRows::Held(batch, _) = &dropped.rows {
                let extent = scratch.append(&batch.schema(), std::slice::from_ref(batch))?;
                dropped.rows = DroppedRows::Scratch(extent);
            }
        }
        self.held_bytes = 0;
        Ok(())
    }

    /// Gives the documents before `done_to` in order, without their keys.
    pub fn write_up_to(&mut self, done_to: &DoneTo, mut write: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        if *done_to == DoneTo::End {
            self.sort()?;
        }
        while let Some((number, first, next)) = self.least() {
            if !done_to.is_past(&first) {
                return Ok(());
            }
            let Some(dropped) = self.sequences.get_mut(&number).and_then(Sequence::pop_front) else {
                return Err(bug!("rows of the ledger went away"));
            };
            let batch = self.load(dropped.rows)?;
            let end = next.map_or(done_to.clone(), |next| done_to.clone().min(DoneTo::Key(next)));
            let n_done = n_before(keys(&batch)?, &first, &end);
            let n_columns = batch.num_columns() - 1;
            let done = batch.slice(0, n_done).project(&(0..n_columns).collect::<Vec<_>>());
            write(&done.map_err(|error| bug!("rows of the ledger: {error}"))?)?;
            if n_done < batch.num_rows() {
                let rest = batch.slice(n_done, batch.num_rows() - n_done);
                let n_bytes = slice_bytes(&rest);
                self.held_bytes += n_bytes;
                let rest = Dropped { first: key(&rest, 0)?, rows: DroppedRows::Held(rest, n_bytes) };
                self.sequences.entry(number).or_default().push_front(rest);
            }
        }
        Ok(())
    }

    /// The sequence with the least key, that key, and the least one of the others.
    fn least(&self) -> Option<(usize, Vec<u8>, Option<Vec<u8>>)> {
        let firsts = self.sequences.iter().filter_map(|(number, rows)| Some((&rows.front()?.first, *number)));
        let (mut least, mut second) = (None, None);
        for first in firsts {
            if least.is_none_or(|least| first < least) {
                (least, second) = (Some(first), least);
            } else if second.is_none_or(|second| first < second) {
                second = Some(first);
            }
        }
        let (key, number) = least?;
        Some((number, key.clone(), second.map(|(key, _)| key.clone())))
    }

    fn load(&mut self, rows: DroppedRows) -> Result<RecordBatch> {
        match rows {
            DroppedRows::Held(batch, n_bytes) => {
                self.held_bytes -= n_bytes;
                Ok(batch)
            }
            DroppedRows::Scratch(extent) => {
                let scratch = self.scratch.as_ref().ok_or_else(|| bug!("the ledger has no scratch file"))?;
                let mut found = None;
                scratch.read(extent, |batch| {
                    found = Some(batch);
                    Ok(())
                })?;
                found.ok_or_else(|| bug!("rows of the ledger are not in its scratch file"))
            }
        }
    }
}

/// How many rows may be written: those before `end`, and all with the first key.
fn n_before(keys: &BinaryArray, first: &[u8], end: &DoneTo) -> usize {
    let (mut done, mut left) = (0, keys.len());
    while done < left {
        let middle = (done + left) / 2;
        match end.is_past(keys.value(middle)) || keys.value(middle) == first {
            true => done = middle + 1,
            false => left = middle,
        }
    }
    done
}

fn keys(rows: &RecordBatch) -> Result<&BinaryArray> {
    let keys = rows.columns().last().and_then(|keys| keys.as_binary_opt::<i32>());
    keys.ok_or_else(|| Error::Data("rows of the drop ledger have no keys".to_string()))
}

fn key(rows: &RecordBatch, row: usize) -> Result<Vec<u8>> {
    Ok(keys(rows)?.value(row).to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, UInt64Array};
    use arrow::datatypes::UInt64Type;
    use std::sync::Arc;

    fn push(waiting: &mut Waiting, partition: usize, positions: &[u64]) {
        let column: ArrayRef = Arc::new(UInt64Array::from(positions.to_vec()));
        let keys: Vec<[u8; 8]> = positions.iter().map(|position| position.to_be_bytes()).collect();
        let keys: ArrayRef = Arc::new(BinaryArray::from_iter_values(&keys));
        waiting.push(partition, RecordBatch::try_from_iter([("n", column), ("_key", keys)]).unwrap()).unwrap();
        let last = positions.last().unwrap().to_be_bytes().to_vec();
        waiting.set_done(partition, DoneTo::Key(last));
    }

    fn write(waiting: &mut Waiting, done_to: &DoneTo, written: &mut Vec<u64>) {
        let add = |batch: &RecordBatch| {
            assert_eq!(batch.num_columns(), 1, "the key stays here");
            written.extend(batch.column(0).as_primitive::<UInt64Type>().values());
            Ok(())
        };
        waiting.write_up_to(done_to, add).unwrap();
    }

    #[test]
    fn documents_of_partitions_come_in_order_however_little_memory_there_is() {
        let folder = tempfile::tempdir().unwrap();
        for max_held_bytes in [0, 100, 1 << 20] {
            let mut waiting = Waiting::new(2, true, folder.path().to_path_buf(), max_held_bytes);
            let mut written = vec![];
            push(&mut waiting, 1, &[100, 101, 300]);
            let done_to = waiting.done_to();
            write(&mut waiting, &done_to, &mut written);
            assert!(written.is_empty(), "partition 0 may still bring earlier ones");
            push(&mut waiting, 0, &[5, 200]);
            push(&mut waiting, 0, &[210]);
            let done_to = waiting.done_to();
            write(&mut waiting, &done_to, &mut written);
            assert_eq!(written, [5, 100, 101, 200]);
            write(&mut waiting, &DoneTo::End, &mut written);
            assert_eq!(written, [5, 100, 101, 200, 210, 300], "{max_held_bytes}");
        }
    }

    #[test]
    fn documents_without_an_order_are_sorted_beyond_memory() {
        let folder = tempfile::tempdir().unwrap();
        for max_held_bytes in [0, 2000, 1 << 20] {
            let mut waiting = Waiting::new(2, false, folder.path().to_path_buf(), max_held_bytes);
            for start in 0..50_u64 {
                push(&mut waiting, (start % 2) as usize, &[start * 37 % 50, 1000 - start, start * 7 % 50]);
            }
            let done_to = waiting.done_to();
            let mut written = vec![];
            write(&mut waiting, &done_to, &mut written);
            assert!(written.is_empty(), "any document may still come");
            write(&mut waiting, &DoneTo::End, &mut written);
            assert!(written.is_sorted() && written.len() == 150, "{max_held_bytes}: {written:?}");
        }
    }
}
