//! CSV and TSV: records with quotes, a header of names, types learnt from the sample.
//!
//! A quoted field may hold line ends, so a file cannot be cut at any newline: one partition reads one file.
//! Every declared or learnt column of a record is checked, also those a query does not read, so that whether a record
//! is rejected does not depend on the query.

use super::compression::{ByteCount, ByteStream};
use super::format::{FormatReader, Origin, Rows, RowsIter, Scan, Stop, Unit};
use super::queue::UnitQueue;
use super::rejects::{Reject, RejectKind};
use super::sample::Sample;
use super::spec::{Format, SourceOptions};
use super::table::free_column_name;
use crate::{Error, Result};
use arrow::array::{ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use csv::ByteRecord;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

/// Reads separated values into known columns.
#[derive(Clone, Debug)]
pub(crate) struct CsvReader {
    schema: SchemaRef,
    /// The name of each column in the files.
    names: Arc<[String]>,
    dialect: Dialect,
}

#[derive(Clone, Copy, Debug)]
struct Dialect {
    delimiter: u8,
    has_header: bool,
}

impl Dialect {
    fn of(format: Format, options: &SourceOptions) -> Self {
        let usual = if format == Format::Tsv { b'\t' } else { b',' };
        Self { delimiter: options.delimiter.unwrap_or(usual), has_header: options.header.unwrap_or(true) }
    }

    fn reader<R: Read>(self, stream: R) -> csv::Reader<R> {
        csv::ReaderBuilder::new().delimiter(self.delimiter).has_headers(false).flexible(true).from_reader(stream)
    }

    /// The names of a file's columns, given its first record; made up where there is no header.
    fn names(self, first: &ByteRecord) -> Vec<String> {
        let mut names: Vec<String> = Vec::with_capacity(first.len());
        for (index, field) in first.iter().enumerate() {
            let given = if self.has_header { String::from_utf8_lossy(field).trim().to_string() } else { String::new() };
            let base = if given.is_empty() { format!("column_{}", index + 1) } else { given };
            let mut name = base.clone();
            let mut n_same = 1;
            while names.contains(&name) {
                n_same += 1;
                name = format!("{base}_{n_same}");
            }
            names.push(name);
        }
        names
    }
}

/// What was seen of a column.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    boolean: bool,
    int: bool,
    inexact_int: bool,
    float: bool,
    text: bool,
}

impl Seen {
    fn observe(&mut self, field: &[u8]) {
        let Ok(text) = std::str::from_utf8(field) else { return };
        if text.is_empty() {
        } else if let Some(value) = parse_int(text) {
            self.int = true;
            self.inexact_int |= value.unsigned_abs() > 1 << 53;
        } else if parse_float(text).is_some() {
            self.float = true;
        } else if parse_bool(text).is_some() {
            self.boolean = true;
        } else {
            self.text = true;
        }
    }

    fn resolve(self) -> DataType {
        match (self.text, self.boolean, self.int || self.float) {
            (false, true, false) => DataType::Boolean,
            (false, false, true) if !self.float => DataType::Int64,
            (false, false, true) if !self.inexact_int => DataType::Float64,
            _ => DataType::Utf8,
        }
    }
}

impl CsvReader {
    /// Learns or takes the columns.
    pub fn new(format: Format, options: &SourceOptions, sample: impl FnOnce() -> Sample) -> Self {
        let dialect = Dialect::of(format, options);
        if let Some(declared) = &options.columns {
            let names: Vec<String> = declared.iter().map(|column| column.name.clone()).collect();
            let types = declared.iter().map(|column| column.data_type.clone()).collect();
            return Self::with_columns(names, types, dialect);
        }
        let mut names: Vec<String> = Vec::new();
        let mut seen: Vec<Seen> = Vec::new();
        for head in sample().heads {
            let mut records: Vec<ByteRecord> =
                dialect.reader(head.whole_text()).into_byte_records().flatten().collect();
            if !head.is_whole {
                // The sample may end inside a quoted field.
                records.pop();
            }
            let Some(first) = records.first() else { continue };
            let file_names = dialect.names(first);
            let columns: Vec<usize> = file_names
                .into_iter()
                .map(|name| {
                    names.iter().position(|known| *known == name).unwrap_or_else(|| {
                        names.push(name);
                        seen.push(Seen::default());
                        names.len() - 1
                    })
                })
                .collect();
            for record in records.iter().skip(usize::from(dialect.has_header)) {
                if record.len() == columns.len() {
                    columns.iter().zip(record).for_each(|(column, field)| seen[*column].observe(field));
                }
            }
        }
        let types = seen.into_iter().map(Seen::resolve).collect();
        Self::with_columns(names, types, dialect)
    }

    fn with_columns(names: Vec<String>, types: Vec<DataType>, dialect: Dialect) -> Self {
        let fields: Vec<Field> = names
            .iter()
            .zip(types)
            .map(|(name, data_type)| Field::new(free_column_name(name), data_type, true))
            .collect();
        Self { schema: Arc::new(Schema::new(fields)), names: names.into(), dialect }
    }
}

impl FormatReader for CsvReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn produce(&self, scan: &Scan, queue: &UnitQueue) -> Result<(), Stop> {
        for file in 0..scan.input.files.len() {
            queue.push(Unit::File(file))?;
        }
        Ok(())
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::File(file) = unit else { return Err(crate::bug!("CSV got the unit {unit:?}")) };
        let count = ByteCount::default();
        match scan.input.open(file, &count)? {
            Ok(stream) => Ok(Box::new(CsvDecoder::new(self.clone(), file, stream, count, scan.clone()))),
            Err(error) => {
                scan.reject_rest(file, 1, 0, error)?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }
}

/// Decodes one file, a batch at a time.
struct CsvDecoder {
    reader: CsvReader,
    scan: Scan,
    file: usize,
    records: csv::Reader<LineCounter<ByteStream>>,
    count: ByteCount,
    /// For each field of a record its column; known after the first record.
    mapping: Option<Vec<Option<usize>>>,
    is_end: bool,
}

enum CsvColumn {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

#[derive(Clone, Copy)]
enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
}

type Trouble = (RejectKind, String);

impl CsvDecoder {
    fn new(reader: CsvReader, file: usize, stream: ByteStream, count: ByteCount, scan: Scan) -> Self {
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

/// Where a record begins.
#[derive(Clone, Copy)]
struct Place {
    line: u64,
    byte_offset: u64,
}

/// Notes the line ends that pass. The parser's own positions lie before the line ends and blank lines that precede a
/// record, which makes them wrong by a line in files with CRLF.
struct LineCounter<R> {
    inner: R,
    n_bytes: u64,
    last: u8,
    /// Offsets of line ends not yet passed by a record, and whether each is a CRLF.
    ends: VecDeque<(u64, bool)>,
    line: u64,
}

impl<R> LineCounter<R> {
    fn new(inner: R) -> Self {
        Self { inner, n_bytes: 0, last: 0, ends: VecDeque::new(), line: 1 }
    }

    /// The place of the record that begins at or after `start`. Records must be asked for in order.
    fn place_of(&mut self, start: u64) -> Place {
        let mut byte_offset = start;
        while let Some((end, is_crlf)) = self.ends.front().copied() {
            let is_blank = end == byte_offset || is_crlf && end == byte_offset + 1;
            if end >= byte_offset && !is_blank {
                break;
            }
            byte_offset = byte_offset.max(end + 1);
            self.line += 1;
            self.ends.pop_front();
        }
        Place { line: self.line, byte_offset }
    }
}

impl<R: Read> Read for LineCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_read = self.inner.read(buffer)?;
        let bytes = &buffer[..n_read];
        for at in memchr::memchr_iter(b'\n', bytes) {
            let before = if at == 0 { self.last } else { bytes[at - 1] };
            self.ends.push_back((self.n_bytes + at as u64, before == b'\r'));
        }
        self.last = bytes.last().copied().unwrap_or(self.last);
        self.n_bytes += n_read as u64;
        Ok(n_read)
    }
}

/// The value of a field. An empty field is null, or for text the empty string.
fn parse_cell<'a>(field: &Field, text: &'a str) -> Result<Cell<'a>, Trouble> {
    let parsed = match field.data_type() {
        DataType::Utf8 => Some(Cell::Text(text)),
        _ if text.is_empty() => Some(Cell::Null),
        DataType::Boolean => parse_bool(text).map(Cell::Bool),
        DataType::Int64 => text.parse().ok().map(Cell::Int),
        _ => parse_float(text).map(Cell::Float),
    };
    parsed.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let reason = format!(
            "column `{}`: `{shown}` does not fit its type; declare the column as text with WITH (columns = '…')",
            field.name()
        );
        (RejectKind::WrongType, reason)
    })
}

fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A whole number that prints as it was written: `007` and `+5` are text.
fn parse_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" && digits == text || digits.starts_with(|c: char| ('1'..='9').contains(&c));
    if is_plain { text.parse().ok() } else { None }
}

/// A number with digits; `nan`, `inf` and what overflows are text.
fn parse_float(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || has_leading_zero {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

impl CsvColumn {
    fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int64 => Self::Int(Int64Builder::new()),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn append(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Bool(column), Cell::Bool(value)) => column.append_value(value),
            (Self::Int(column), Cell::Int(value)) => column.append_value(value),
            (Self::Float(column), Cell::Float(value)) => column.append_value(value),
            (Self::Text(column), Cell::Text(value)) => column.append_value(value),
            (Self::Bool(column), _) => column.append_null(),
            (Self::Int(column), _) => column.append_null(),
            (Self::Float(column), _) => column.append_null(),
            (Self::Text(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Int(column) => Arc::new(column.finish()),
            Self::Float(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
        }
    }
}
