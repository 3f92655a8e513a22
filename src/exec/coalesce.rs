//! Joins the small batches that a filter leaves into batches worth passing on.
//!
//! Invariant: rows keep their order, and a batch that is large in rows or in bytes is passed on without a copy.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;

/// When a batch is large enough to pass on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchSize {
    /// In rows.
    pub rows: usize,
    /// In bytes: a few long documents are a batch.
    pub bytes: usize,
}

/// Collects small batches until together they are large enough.
pub(super) struct Coalescer {
    schema: SchemaRef,
    target: BatchSize,
    waiting: Vec<RecordBatch>,
    n_rows: usize,
    n_bytes: usize,
}

impl Coalescer {
    pub fn new(schema: SchemaRef, target: BatchSize) -> Self {
        Self { schema, target, waiting: vec![], n_rows: 0, n_bytes: 0 }
    }

    /// Adds rows; gives back a batch if there are enough.
    pub fn push(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        if batch.num_rows() == 0 {
            return Ok(None);
        }
        self.n_rows += batch.num_rows();
        self.n_bytes += slice_bytes(&batch);
        self.waiting.push(batch);
        // Half is enough: to wait for the rest would copy every row to save at most one hand-over.
        if self.n_rows >= self.target.rows.div_ceil(2) || self.n_bytes >= self.target.bytes.div_ceil(2) {
            return self.flush();
        }
        Ok(None)
    }

    /// Whatever is left.
    pub fn flush(&mut self) -> Result<Option<RecordBatch>> {
        let waiting = std::mem::take(&mut self.waiting);
        (self.n_rows, self.n_bytes) = (0, 0);
        match waiting.len() {
            0 => Ok(None),
            1 => Ok(waiting.into_iter().next()),
            _ => Ok(Some(concat_batches(&self.schema, &waiting)?)),
        }
    }
}

/// Bytes that the rows of a batch take, not counting what else their buffers hold.
pub fn slice_bytes(batch: &RecordBatch) -> usize {
    let bytes = |column: &arrow::array::ArrayRef| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    };
    batch.columns().iter().map(bytes).sum()
}
