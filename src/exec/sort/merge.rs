//! Merges sorted runs.
//!
//! Of each run one batch is looked at; the run whose next row is least gives it. Rows are copied once, into batches that are
//! measured in bytes. Of equal rows the one of the earlier run comes first.

use super::keys::{SortKeys, bytes_per_row};
use super::runs::{Runs, SortedRows, rows_of};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::row::Rows;
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures::StreamExt;

/// Gives the rows of several runs in order.
pub(super) struct Merge {
    keys: SortKeys,
    schema: SchemaRef,
    sources: Vec<Source>,
    /// The runs that have rows left, as a heap: the one with the least row first.
    heap: Vec<usize>,
    /// Where the batches are that rows are taken from: one for each run, and those that rows were taken from before.
    batches: Vec<RecordBatch>,
    max_rows: usize,
    max_bytes: usize,
    _reservations: Vec<MemoryReservation>,
}

enum Rest {
    InMemory(Box<SortedRows>),
    OnDisk(SendableRecordBatchStream),
}

struct Source {
    rest: Rest,
    head: Option<Head>,
}

/// The batch of a run that is looked at.
struct Head {
    keys: Rows,
    row_bytes: Vec<u32>,
    /// Among the batches of the merge.
    batch: usize,
    row: usize,
}

impl Merge {
    pub async fn new(
        runs: Vec<Runs>,
        keys: SortKeys,
        schema: SchemaRef,
        (max_rows, max_bytes): (usize, usize),
    ) -> Result<Self> {
        let (mut sources, mut reservations) = (vec![], vec![]);
        for Runs { in_memory, on_disk, reservation } in runs {
            let rests = in_memory.map(|rows| Rest::InMemory(Box::new(rows)));
            let rests = rests.into_iter().chain(on_disk.into_iter().map(Rest::OnDisk));
            sources.extend(rests.map(|rest| Source { rest, head: None }));
            reservations.push(reservation);
        }
        let mut merge = Self {
            keys,
            schema,
            heap: vec![],
            batches: vec![],
            sources,
            max_rows: max_rows.max(1),
            max_bytes,
            _reservations: reservations,
        };
        // Where one run is all there is, its batches are passed on.
        if merge.sources.len() > 1 {
            for number in 0..merge.sources.len() {
                if merge.advance(number).await? {
                    merge.heap.push(number);
                    merge.sift_up();
                }
            }
        }
        Ok(merge)
    }

    /// The next rows.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let [only] = self.sources.as_mut_slice() {
            return only.next().await;
        }
        let (mut places, mut n_bytes) = (vec![], 0);
        while let Some(&least) = self.heap.first() {
            let Some(head) = &mut self.sources[least].head else {
                return Err(crate::bug!("a run without rows is merged").into());
            };
            let row_bytes = head.row_bytes[head.row] as usize;
            if places.len() >= self.max_rows || !places.is_empty() && n_bytes + row_bytes > self.max_bytes {
                break;
            }
            places.push((head.batch, head.row));
            n_bytes += row_bytes;
            head.row += 1;
            if head.row == head.row_bytes.len() && !self.advance(least).await? {
                self.heap.swap_remove(0);
            }
            self.sift_down();
        }
        if places.is_empty() {
            return Ok(None);
        }
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let merged = rows_of(&self.schema, &batches, &places)?;
        self.forget_batches();
        Ok(Some(merged))
    }

    /// Takes the next batch of a run; false after its last.
    async fn advance(&mut self, number: usize) -> Result<bool> {
        let source = &mut self.sources[number];
        source.head = None;
        let Some(batch) = source.next().await? else { return Ok(false) };
        let (keys, row_bytes) = (self.keys.of(&batch)?, bytes_per_row(&batch));
        source.head = Some(Head { keys, row_bytes, batch: self.batches.len(), row: 0 });
        self.batches.push(batch);
        Ok(true)
    }

    /// Keeps the batches that rows are left of.
    fn forget_batches(&mut self) {
        let batches = std::mem::take(&mut self.batches);
        for head in self.sources.iter_mut().filter_map(|source| source.head.as_mut()) {
            let batch = batches[head.batch].clone();
            head.batch = self.batches.len();
            self.batches.push(batch);
        }
    }

    /// Whether the next row of one run comes before that of another.
    fn is_before(&self, one: usize, other: usize) -> bool {
        match (&self.sources[one].head, &self.sources[other].head) {
            (Some(a), Some(b)) => (a.keys.row(a.row), one) < (b.keys.row(b.row), other),
            (a, b) => a.is_some() && b.is_none(),
        }
    }

    /// The last run of the heap was added.
    fn sift_up(&mut self) {
        let mut at = self.heap.len() - 1;
        while at > 0 && self.is_before(self.heap[at], self.heap[(at - 1) / 2]) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// The first run of the heap has another row.
    fn sift_down(&mut self) {
        let mut at = 0;
        loop {
            let below = [2 * at + 1, 2 * at + 2].into_iter().filter(|below| *below < self.heap.len());
            let least = below.reduce(|a, b| if self.is_before(self.heap[b], self.heap[a]) { b } else { a });
            match least {
                Some(least) if self.is_before(self.heap[least], self.heap[at]) => {
                    self.heap.swap(at, least);
                    at = least;
                }
                _ => return,
            }
        }
    }
}

impl Source {
    /// The next batch that has rows.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let batch = match &mut self.rest {
                Rest::InMemory(rows) => rows.next()?,
                Rest::OnDisk(batches) => batches.next().await.transpose()?,
            };
            if batch.as_ref().is_none_or(|batch| batch.num_rows() > 0) {
                return Ok(batch);
            }
        }
    }
}
