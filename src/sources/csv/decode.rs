//! Decodes one CSV file into rows, and sets broken records aside.

use super::CsvReader;
use super::cell::{Cell, CsvColumn, Trouble, parse_cell};
use super::place::{LineCounter, Place};
use crate::sources::compression::{ByteCount, ByteStream};
use crate::sources::format::{Origin, Rows, Scan};
use crate::sources::rejects::{Reject, RejectKind};
use crate::{Error, Result};
use csv::ByteRecord;

/// Decodes one file, a batch at a time.
pub(super) struct CsvDecoder {
    reader: CsvReader,
    scan: Scan,
    file: usize,
    records: csv::Reader<LineCounter<ByteStream>>,
    count: ByteCount,
    /// For each field of a record its column; known after the first record.
    mapping: Option<Vec<Option<usize>>>,
    is_end: bool,
}

impl CsvDecoder {
    pub fn new(reader: CsvReader, file: usize, stream: ByteStream, count: ByteCount, scan: Scan) -> Self {
        let records = reader.dialect.reader(LineCounter::new(stream));
        Self { reader, scan, file, records, count, mapping: None, is_end: false }
    }

    fn next_batch(&mut self) -> Result<Option<Rows>> {
        let fields = self.reader.schema.fields().clone();
        let mut columns: Vec<CsvColumn> =
            self.scan.projection.iter().map(|index| CsvColumn::new(fields[*index].data_type())).collect();
        let mut origins = Vec::new();
        let mut n_bytes = 0;
        let mut record = ByteRecord::new();
        while !self.is_end && origins.len() < self.scan.batch_rows && n_bytes < self.scan.batch_bytes {
            match self.records.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => {
                    self.is_end = true;
                    break;
                }
                Err(error) => {
                    let place = self.records.position();
                    self.scan.reject_rest(self.file, place.line(), place.byte(), error)?;
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
            match self.cells(&record) {
                Ok(cells) => {
                    for (column, index) in columns.iter_mut().zip(self.scan.projection.iter()) {
                        column.append(cells[*index]);
                    }
                    origins.push(Origin { file: self.file as u32, row: place.line });
                }
                Err(trouble) => self.reject(&record, place, trouble)?,
            }
        }
        self.scan.counters.bytes_scanned.add(self.count.take() as usize);
        if origins.is_empty() && self.is_end {
            return Ok(None);
        }
        Ok(Some(Rows { columns: columns.iter_mut().map(CsvColumn::finish).collect(), origins }))
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

    /// The value of each column of the schema.
    fn cells<'a>(&self, record: &'a ByteRecord) -> Result<Vec<Cell<'a>>, Trouble> {
        let mapping = self.mapping.as_deref().unwrap_or_default();
        if record.len() != mapping.len() {
            let reason = format!("the record has {} fields, the file {}", record.len(), mapping.len());
            return Err((RejectKind::WrongFieldCount, reason));
        }
        let mut cells = vec![Cell::Null; self.reader.names.len()];
        for (field, column) in record.iter().zip(mapping) {
            let text = std::str::from_utf8(field).map_err(|error| {
                let reason = format!("not UTF-8: byte {} of a field is invalid", error.valid_up_to() + 1);
                (RejectKind::InvalidText, reason)
            })?;
            if let Some(column) = column {
                cells[*column] = parse_cell(self.reader.schema.field(*column), text)?;
            }
        }
        Ok(cells)
    }

    fn reject(&self, record: &ByteRecord, place: Place, (kind, reason): Trouble) -> Result<()> {
        let mut raw =
            csv::WriterBuilder::new().delimiter(self.reader.dialect.delimiter).flexible(true).from_writer(vec![]);
        let written = raw.write_byte_record(record).and_then(|()| Ok(raw.flush()?));
        let mut raw = raw.into_inner().unwrap_or_default();
        if written.is_ok() && raw.last() == Some(&b'\n') {
            raw.pop();
        }
        self.scan.counters.reject(Reject {
            file: self.scan.input.files[self.file].name.clone(),
            line: place.line,
            byte_offset: place.byte_offset,
            kind,
            reason,
            raw,
        })
    }
}

impl Iterator for CsvDecoder {
    type Item = Result<Rows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
