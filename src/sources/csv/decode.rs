//! Decodes one CSV file into rows, and sets broken records aside.

use super::CsvReader;
use super::cell::{Cell, CsvColumn, Trouble, parse_cell};
use super::place::{LineCounter, RecordPlace};
use super::quotes::{has_text_behind_quotes, quoted_fields};
use crate::sources::compression::{ByteCount, ByteStream};
use crate::sources::format::{DecodedRows, InputPosition, Origin, Scan};
use crate::sources::lines::RAW_PREFIX_BYTES;
use crate::sources::rejects::RejectKind;
use crate::{Error, Result};
use csv::ByteRecord;

/// Decodes one file, a batch at a time.
pub(super) struct CsvDecoder {
    reader: CsvReader,
    scan: Scan,
    piece: usize,
    records: csv::Reader<LineCounter<ByteStream>>,
    count: ByteCount,
    /// For each field of a record its column; known after the first record.
    mapping: Option<Vec<Option<usize>>>,
    is_end: bool,
}

impl CsvDecoder {
    /// `first`: the first record of the file, if the piece does not begin with it.
    pub fn new(
        reader: CsvReader,
        piece: usize,
        stream: ByteStream,
        count: ByteCount,
        scan: Scan,
        first: Option<ByteRecord>,
    ) -> Self {
        let lines = LineCounter::new(stream, reader.dialect.delimiter, scan.max_line_bytes() as u64);
        let records = reader.dialect.reader(lines);
        let mut decoder = Self { reader, scan, piece, records, count, mapping: None, is_end: false };
        if let Some(first) = first {
            decoder.map_columns(&first);
        }
        decoder
    }

    fn next_batch(&mut self) -> Result<Option<DecodedRows>> {
        let fields = self.reader.schema.fields().clone();
        let mut columns: Vec<CsvColumn> =
            self.scan.projection.iter().map(|index| CsvColumn::new(fields[*index].data_type())).collect();
        let mut origins = Vec::new();
        let mut n_bytes = 0;
        let mut record = ByteRecord::new();
        while !self.is_end && origins.len() < self.scan.batch_rows && n_bytes < self.scan.batch_bytes {
            let start = self.records.position().byte();
            self.records.get_mut().begin_record(start);
            match self.records.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => {
                    self.is_end = true;
                    let at = self.records.position();
                    let place = InputPosition { piece: self.piece, line: at.line(), byte_offset: at.byte() };
                    self.scan.check_unchanged(place)?;
                    break;
                }
                Err(error) => {
                    let at = self.records.position();
                    let place = InputPosition { piece: self.piece, line: at.line(), byte_offset: at.byte() };
                    self.scan.reject_rest(place, error)?;
                    self.is_end = true;
                    break;
                }
            }
            if self.mapping.is_none() {
                self.map_columns(&record);
                if self.reader.dialect.has_header {
                    continue;
                }
            }
            n_bytes += record.as_slice().len();
            let place = self.records.get_mut().place_of(record.position().map_or(0, csv::Position::byte));
            let end = self.records.position().byte();
            let raw = self.records.get_ref().record(end);
            if let Some(n_bytes) = self.records.get_ref().cut_off(place.byte_offset, end) {
                let reason = format!(
                    "a quote is opened in this record and never closed: the {n_bytes} bytes up to the end of the file are \
                     one field (their beginning is kept)"
                );
                self.reject(&raw[..raw.len().min(RAW_PREFIX_BYTES)], place, (RejectKind::Truncated, reason))?;
                continue;
            }
            match self.cells(&record, raw) {
                Ok(cells) => {
                    for (column, index) in columns.iter_mut().zip(self.scan.projection.iter()) {
                        column.append(cells[*index]);
                    }
                    origins.push(Origin { piece: self.piece as u32, row: place.line });
                }
                Err(trouble) => self.reject(raw, place, trouble)?,
            }
        }
        self.scan.counters.bytes_scanned.add(self.count.take() as usize);
        if origins.is_empty() && self.is_end {
            return Ok(None);
        }
        let columns = columns.iter_mut().map(CsvColumn::finish).collect();
        Ok(Some(DecodedRows { columns, lines: None, origins }))
    }

    fn map_columns(&mut self, first: &ByteRecord) {
        let dialect = self.reader.dialect;
        let by_position = |index: usize| (index < self.reader.names.len()).then_some(index);
        let by_name = |name: &String| self.reader.names.iter().position(|known| known == name);
        let mapping = if dialect.has_header {
            dialect.names(first).iter().map(by_name).collect()
        } else {
            (0..first.len()).map(by_position).collect()
        };
        self.mapping = Some(mapping);
    }

    /// The value of each column of the schema. `raw` is the record as it stands in the file.
    fn cells<'a>(&self, record: &'a ByteRecord, raw: &[u8]) -> Result<Vec<Cell<'a>>, Trouble> {
        let mapping = self.mapping.as_deref().unwrap_or_default();
        if memchr::memchr(b'\n', raw).is_some() && has_text_behind_quotes(raw, self.reader.dialect.delimiter) {
            let n_lines = memchr::memchr_iter(b'\n', raw).count() + 1;
            let reason = format!(
                "a quote is opened in this record, and closed {n_lines} lines on by one that text follows: one of them is missing"
            );
            return Err((RejectKind::Truncated, reason));
        }
        if record.len() != mapping.len() {
            let reason = format!("the record has {} fields, the file {}", record.len(), mapping.len());
            return Err((RejectKind::WrongFieldCount, reason));
        }
        let mut cells = vec![Cell::Null; self.reader.names.len()];
        // Quotes say something only about empty fields.
        let quoted = match record.iter().any(<[u8]>::is_empty) {
            true => quoted_fields(raw, self.reader.dialect.delimiter),
            false => Vec::new(),
        };
        for (at, (field, column)) in record.iter().zip(mapping).enumerate() {
            let text = std::str::from_utf8(field).map_err(|error| {
                let reason = format!("not UTF-8: byte {} of a field is invalid", error.valid_up_to() + 1);
                (RejectKind::InvalidText, reason)
            })?;
            if let Some(column) = column {
                let is_quoted = quoted.get(at).copied().unwrap_or(false);
                cells[*column] = parse_cell(self.reader.schema.field(*column), text, is_quoted)?;
            }
        }
        Ok(cells)
    }

    fn reject(&self, raw: &[u8], at: RecordPlace, (kind, reason): Trouble) -> Result<()> {
        let place = InputPosition { piece: self.piece, line: at.line, byte_offset: at.byte_offset };
        self.scan.reject(place, kind, reason, raw.to_vec())
    }
}

impl Iterator for CsvDecoder {
    type Item = Result<DecodedRows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
