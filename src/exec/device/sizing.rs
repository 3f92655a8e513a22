//! How many rows go over at a time, once the first rows show how wide they are.
//!
//! The plan sizes batches by a typical document. Here the same bounds are applied to what the rows of the stream take, by
//! the layout of their columns: what is copied in, copied back, and what the slab holds at most.

use super::Segment;
use crate::exec::BatchSize;
use crate::exec::coalesce::slice_bytes;
use crate::gpu::{Layout, Mode, text_bytes};
use arrow::array::{ArrayRef, RecordBatch};

/// What a batch should have, and what it may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// Rows that fill the device.
    pub fill_rows: f64,
    /// Bytes copied in that make launches and latency a small part of the time.
    pub amortized_bytes: f64,
    /// Rows, if the query says how many.
    pub asked_rows: Option<u64>,
    /// The most rows.
    pub most_rows: u64,
    /// The most bytes copied in.
    pub most_bytes: u64,
    /// The most bytes copied in and back.
    pub host_bytes: f64,
    /// The most bytes on the device.
    pub device_bytes: f64,
}

/// What the rows of a stream take, each.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Widths {
    in_bytes: f64,
    out_bytes: f64,
    device_bytes: f64,
    device_fixed_bytes: f64,
}

impl Sizing {
    fn rows(&self, widths: Widths) -> usize {
        let Widths { in_bytes, out_bytes, device_bytes, device_fixed_bytes } = widths;
        let wanted = self.fill_rows.max(self.amortized_bytes / in_bytes.max(1.0)).ceil();
        let rows = self.asked_rows.map_or(wanted, |rows| rows as f64);
        let bounds = [
            self.most_rows as f64,
            self.most_bytes as f64 / in_bytes.max(1.0),
            self.host_bytes / (in_bytes + out_bytes).max(1.0),
            (self.device_bytes - device_fixed_bytes) / device_bytes.max(1.0),
        ];
        bounds.into_iter().fold(rows, f64::min).floor().max(1.0) as usize
    }
}

impl Segment {
    /// The size of batches for rows like these; as planned if nothing can be learned from them.
    pub(super) fn sized_by(&self, first: &RecordBatch) -> BatchSize {
        match self.widths(first) {
            Some(widths) => {
                let rows = self.sizing.rows(widths);
                let row_bytes = slice_bytes(first) as f64 / first.num_rows() as f64;
                BatchSize { rows, bytes: ((rows as f64 * row_bytes) as usize).max(1) }
            }
            None => self.batch,
        }
    }

    fn widths(&self, first: &RecordBatch) -> Option<Widths> {
        let columns: Vec<ArrayRef> = self.columns.iter().map(|&column| first.column(column).clone()).collect();
        let n_rows = first.num_rows().max(1) as f64;
        let layout = Layout::plan(&self.program, Mode::Fused, &columns).ok()?;
        let bound = Layout::bound(&self.program, Mode::Fused).ok()?;
        let texts: Vec<usize> = columns.iter().map(text_bytes).collect();
        Some(Widths {
            in_bytes: layout.input_bytes() as f64 / n_rows,
            out_bytes: layout.output_range().len() as f64 / n_rows,
            device_bytes: (bound.bytes(first.num_rows(), &texts) - bound.bytes_fixed) as f64 / n_rows,
            device_fixed_bytes: bound.bytes_fixed as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZING: Sizing = Sizing {
        fill_rows: 10_000.0,
        amortized_bytes: 1e6,
        asked_rows: None,
        most_rows: 1 << 20,
        most_bytes: 64_000_000,
        host_bytes: 1e9,
        device_bytes: 1e9,
    };

    fn widths(in_bytes: f64) -> Widths {
        Widths { in_bytes, out_bytes: 12.0, device_bytes: 3.0 * in_bytes, device_fixed_bytes: 1000.0 }
    }

    #[test]
    fn documents_of_any_width_fill_the_device() {
        assert_eq!(SIZING.rows(widths(100.0)), 10_000);
        assert_eq!(SIZING.rows(widths(5_000.0)), 10_000);
        // Numbers alone: launches would be all of it with so few.
        assert_eq!(SIZING.rows(widths(8.0)), 125_000);
    }

    #[test]
    fn no_batch_takes_more_than_there_is() {
        assert_eq!(SIZING.rows(widths(64_000.0)), 1_000, "the most at once");
        assert_eq!(Sizing { device_bytes: 301_000.0, ..SIZING }.rows(widths(1_000.0)), 100, "the device");
        assert_eq!(Sizing { host_bytes: 101_200.0, ..SIZING }.rows(widths(1_000.0)), 100, "the host");
        assert_eq!(SIZING.rows(widths(1e12)), 1);
        assert_eq!(Sizing { asked_rows: Some(16), ..SIZING }.rows(widths(100.0)), 16);
    }
}
