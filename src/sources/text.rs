//! Plain text: a document a file, or a document a line, in the column `text`.

use super::format::{FormatReader, Input, Opened, Origin, Rows, RowsIter, Scan, Stop, Unit};
use super::lines::{Block, produce_lines, utf8};
use super::queue::Lane;
use super::rejects::{Reject, RejectKind};
use super::spec::TextUnit;
use crate::Result;
use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::io::Read;
use std::sync::Arc;

/// The largest file that becomes one document.
const MAX_FILE_BYTES: usize = 1 << 30;
/// How much of something unreadable goes to the rejects.
const RAW_PREFIX_BYTES: usize = 64 << 10;

/// Reads plain text.
#[derive(Debug)]
pub(crate) struct TextReader {
    pub unit: TextUnit,
}

impl FormatReader for TextReader {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("text", DataType::Utf8, true)]))
    }

    fn n_lanes(&self, input: &Input) -> usize {
        match self.unit {
            TextUnit::Line => input.files.len(),
            TextUnit::File => 1,
        }
    }

    fn produce(&self, scan: &Scan, lane: &Lane) -> Result<(), Stop> {
        match self.unit {
            TextUnit::Line => produce_lines(scan, lane),
            TextUnit::File => produce_files(scan, lane),
        }
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        match unit {
            Unit::Lines(block) => decode_lines(block, scan.clone()),
            Unit::Texts(texts) => Ok(Box::new(std::iter::once(decode_files(texts, scan)))),
            other => Err(crate::bug!("text got the unit {other:?}")),
        }
    }
}

/// Queues whole files, several small ones at a time.
fn produce_files(scan: &Scan, lane: &Lane) -> Result<(), Stop> {
    let mut texts: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut n_bytes = 0;
    for (file, source) in scan.input.files.iter().enumerate() {
        let mut text = Vec::new();
        let read = scan.input.open(file)?.and_then(|Opened { stream, count }| {
            let read = stream.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut text);
            scan.counters.bytes_scanned.add(count.take() as usize);
            read
        });
        if let Err(error) = read {
            scan.reject_rest(file, 1, 0, error)?;
            continue;
        }
        if text.len() > MAX_FILE_BYTES {
            text.truncate(RAW_PREFIX_BYTES);
            scan.counters.reject(Reject {
                file: source.name.clone(),
                line: 1,
                byte_offset: 0,
                kind: RejectKind::TooLarge,
                reason: format!(
                    "the file has more than {MAX_FILE_BYTES} bytes, too many for one document; \
                     read it line by line with WITH (unit = 'line') (its beginning is kept)"
                ),
                raw: text,
            })?;
            continue;
        }
        if n_bytes + text.len() > scan.batch_bytes && !texts.is_empty() {
            lane.push(Unit::Texts(std::mem::take(&mut texts)))?;
            n_bytes = 0;
        }
        n_bytes += text.len();
        texts.push((file, text));
        if texts.len() >= scan.batch_rows {
            lane.push(Unit::Texts(std::mem::take(&mut texts)))?;
            n_bytes = 0;
        }
    }
    if !texts.is_empty() {
        lane.push(Unit::Texts(texts))?;
    }
    Ok(())
}

fn decode_files(texts: Vec<(usize, Vec<u8>)>, scan: &Scan) -> Result<Rows> {
    let mut column = StringBuilder::new();
    let mut origins = Vec::with_capacity(texts.len());
    for (file, text) in texts {
        let without_bom = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        match utf8(without_bom) {
            Ok(content) => {
                column.append_value(content);
                origins.push(Origin { file: file as u32, row: 1 });
            }
            Err(error) => scan.counters.reject(not_utf8(scan, file, 1, 0, &text, error))?,
        }
    }
    Ok(Rows { columns: projected(scan, &mut column), origins })
}

fn decode_lines(block: Block, scan: Scan) -> Result<RowsIter> {
    let mut place = block.start();
    Ok(Box::new(std::iter::from_fn(move || next_lines(&block, &mut place, &scan).transpose())))
}

fn next_lines(block: &Block, place: &mut super::lines::LinePlace, scan: &Scan) -> Result<Option<Rows>> {
    let mut column = StringBuilder::new();
    let mut origins = Vec::new();
    let mut is_end = true;
    while let Some(line) = block.next_line(place) {
        match utf8(line.bytes) {
            Ok(content) => {
                column.append_value(content);
                origins.push(Origin { file: block.file as u32, row: line.number });
            }
            Err(error) => {
                let reject = not_utf8(scan, block.file, line.number, line.byte_offset, line.bytes, error);
                scan.counters.reject(reject)?;
            }
        }
        if origins.len() >= scan.batch_rows {
            is_end = false;
            break;
        }
    }
    let is_empty = origins.is_empty() && is_end;
    Ok((!is_empty).then(|| Rows { columns: projected(scan, &mut column), origins }))
}

/// The one column, if it is asked for.
fn projected(scan: &Scan, column: &mut StringBuilder) -> Vec<ArrayRef> {
    let text: ArrayRef = Arc::new(column.finish());
    scan.projection.iter().map(|_| text.clone()).collect()
}

fn not_utf8(scan: &Scan, file: usize, line: u64, byte_offset: u64, bytes: &[u8], error: std::str::Utf8Error) -> Reject {
    Reject {
        file: scan.input.files[file].name.clone(),
        line,
        byte_offset,
        kind: RejectKind::InvalidText,
        reason: format!("not UTF-8: byte {} is invalid", error.valid_up_to() + 1),
        raw: bytes.to_vec(),
    }
}
