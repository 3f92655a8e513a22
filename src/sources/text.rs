//! Plain text: a document a file, or a document a line, in the column `text`.

use super::encoded::ReaderForm;
use super::format::{DecodedRows, FormatReader, Input, InputPosition, Opened, Origin, RowsIter, Scan, Stop, Unit};
use super::lines::{Block, cut_lines, produce_lines, utf8};
use super::queue::UnitSender;
use super::rejects::RejectKind;
use super::spec::TextUnit;
use super::split::Extent;
use crate::Result;
use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::io::Read;
use std::ops::Range;
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

    fn cut(&self, input: &Input, file: usize, block_bytes: u64) -> Vec<Extent> {
        match self.unit {
            TextUnit::Line => cut_lines(input, file, block_bytes),
            TextUnit::File => vec![Extent::Whole],
        }
    }

    fn produce(&self, scan: &Scan, pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
        match self.unit {
            TextUnit::Line => produce_lines(scan, pieces, units),
            TextUnit::File => produce_files(scan, pieces, units),
        }
    }

    fn form(&self) -> ReaderForm {
        ReaderForm::Text { unit: self.unit }
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
fn produce_files(scan: &Scan, pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
    let mut texts: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut n_bytes = 0;
    for piece in pieces {
        let mut text = Vec::new();
        let read = scan.input.open(piece)?.and_then(|Opened { stream, count }| {
            let read = stream.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut text);
            scan.counters.bytes_scanned.add(count.take() as usize);
            read
        });
        if let Err(error) = read {
            scan.reject_rest(InputPosition::start_of(piece), error)?;
            continue;
        }
        if text.len() > MAX_FILE_BYTES {
            text.truncate(RAW_PREFIX_BYTES);
            let reason = format!(
                "the file has more than {MAX_FILE_BYTES} bytes, too many for one document; \
                 read it line by line with WITH (unit = 'line') (its beginning is kept)"
            );
            scan.reject(InputPosition::start_of(piece), RejectKind::TooLarge, reason, text)?;
            continue;
        }
        if n_bytes + text.len() > scan.batch_bytes && !texts.is_empty() {
            units.push(Unit::Texts(std::mem::take(&mut texts)))?;
            n_bytes = 0;
        }
        n_bytes += text.len();
        texts.push((piece, text));
        if texts.len() >= scan.batch_rows {
            units.push(Unit::Texts(std::mem::take(&mut texts)))?;
            n_bytes = 0;
        }
    }
    if !texts.is_empty() {
        units.push(Unit::Texts(texts))?;
    }
    Ok(())
}

fn decode_files(texts: Vec<(usize, Vec<u8>)>, scan: &Scan) -> Result<DecodedRows> {
    let mut column = StringBuilder::new();
    let mut origins = Vec::with_capacity(texts.len());
    for (piece, text) in texts {
        let without_bom = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        match utf8(without_bom) {
            Ok(content) => {
                column.append_value(content);
                origins.push(Origin { piece: piece as u32, row: 1 });
            }
            Err(error) => reject_not_utf8(scan, InputPosition::start_of(piece), &text, error)?,
        }
    }
    Ok(DecodedRows { columns: projected(scan, &mut column), lines: None, origins })
}

fn decode_lines(block: Block, scan: Scan) -> Result<RowsIter> {
    let mut place = block.start();
    Ok(Box::new(std::iter::from_fn(move || next_lines(&block, &mut place, &scan).transpose())))
}

fn next_lines(block: &Block, place: &mut super::lines::LinePlace, scan: &Scan) -> Result<Option<DecodedRows>> {
    let mut column = StringBuilder::new();
    let mut origins = Vec::new();
    let mut is_end = true;
    while let Some(line) = block.next_line(place) {
        match utf8(line.bytes) {
            Ok(content) => {
                column.append_value(content);
                origins.push(Origin { piece: block.piece as u32, row: line.number });
            }
            Err(error) => {
                let place = InputPosition { piece: block.piece, line: line.number, byte_offset: line.byte_offset };
                reject_not_utf8(scan, place, line.bytes, error)?;
            }
        }
        if origins.len() >= scan.batch_rows {
            is_end = false;
            break;
        }
    }
    let is_empty = origins.is_empty() && is_end;
    Ok((!is_empty).then(|| DecodedRows { columns: projected(scan, &mut column), lines: None, origins }))
}

/// The one column, if it is asked for.
fn projected(scan: &Scan, column: &mut StringBuilder) -> Vec<ArrayRef> {
    let text: ArrayRef = Arc::new(column.finish());
    scan.projection.iter().map(|_| text.clone()).collect()
}

fn reject_not_utf8(scan: &Scan, place: InputPosition, bytes: &[u8], error: std::str::Utf8Error) -> Result<()> {
    let reason = format!("not UTF-8: byte {} is invalid", error.valid_up_to() + 1);
    scan.reject(place, RejectKind::InvalidText, reason, bytes.to_vec())
}
