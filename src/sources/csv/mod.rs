//! CSV and TSV: records with quotes, a header of names, types learnt from the sample.
//!
//! An empty field is null and `""` an empty text, as Postgres, Spark and our writer have it. In a column of numbers or
//! truth values both are null.
//!
//! A quoted field may hold line ends, so a file is not cut at any newline (`ends.rs`). A packed file is one piece.
//! Every declared or learnt column of a record is checked, also those a query does not read, so that whether a record
//! is rejected does not depend on the query.

mod cell;
mod decode;
mod ends;
mod place;
mod quotes;

use self::cell::{is_whole_number, parse_bool, parse_float};
use self::decode::CsvDecoder;
pub(crate) use self::ends::{RecordEnds, SeenBlocks};
use self::place::without_line_ends;
use self::quotes::{needs_no_quotes, quoted_fields};
use crate::Result;
use crate::sources::encoded::ReaderForm;
use crate::sources::format::{FormatReader, Input, InputPosition, Opened, RowsIter, Scan, Stop, Unit};
use crate::sources::queue::UnitSender;
use crate::sources::sample::Sample;
use crate::sources::spec::{ColumnSpec, Format, SourceOptions};
use crate::sources::split::{Extent, Piece, byte_ranges};
use crate::sources::table::free_column_name;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use csv::ByteRecord;
use std::io::Read;
use std::ops::Range;
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

    /// The records of a beginning, each with its bytes.
    fn records(self, text: &[u8], is_whole: bool) -> Vec<(ByteRecord, &[u8])> {
        let mut reader = self.reader(text);
        let mut records = Vec::new();
        let mut record = ByteRecord::new();
        let mut start = 0;
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            let end = reader.position().byte() as usize;
            records.push((record.clone(), without_line_ends(text.get(start..end).unwrap_or_default())));
            start = end;
        }
        let mut ends = RecordEnds::new(self.delimiter);
        ends.pass(text);
        if !is_whole || ends.is_open() {
            // The sample, or the file, may end inside a quoted field.
            records.pop();
        }
        records
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
    negative: bool,
    beyond_i64: bool,
    inexact_int: bool,
    float: bool,
    text: bool,
}

impl Seen {
    fn observe(&mut self, field: &[u8]) {
        let Ok(text) = std::str::from_utf8(field) else { return };
        if text.is_empty() {
        } else if is_whole_number(text) {
            self.observe_whole(text);
        } else if parse_float(text).is_some() {
            self.float = true;
        } else if parse_bool(text).is_some() {
            self.boolean = true;
        } else {
            self.text = true;
        }
    }

    fn observe_whole(&mut self, text: &str) {
        if let Ok(value) = text.parse::<i64>() {
            self.int = true;
            self.negative |= value < 0;
            self.inexact_int |= value.unsigned_abs() > 1 << 53;
        } else if text.parse::<u64>().is_ok() {
            self.int = true;
            self.beyond_i64 = true;
            self.inexact_int = true;
        } else {
            // No number holds it exactly, so it stays as written.
            self.text = true;
        }
    }

    fn resolve(self) -> DataType {
        match (self.text, self.boolean, self.int || self.float) {
            (false, true, false) => DataType::Boolean,
            (false, false, true) if self.float && !self.inexact_int => DataType::Float64,
            (false, false, true) if !self.float && !self.beyond_i64 => DataType::Int64,
            (false, false, true) if !self.float && !self.negative => DataType::UInt64,
            _ => DataType::Utf8,
        }
    }
}

/// What the quotes of one file say.
struct Quoting {
    /// For each field whether it was `""` somewhere.
    empty: Vec<bool>,
    /// Whether there are quotes that need not be, so that they mean nothing: some programs quote every field.
    is_lavish: bool,
}

impl Quoting {
    /// Notes a record; `is_row` unless it is a header or broken.
    fn observe(&mut self, record: &ByteRecord, raw: &[u8], delimiter: u8, is_row: bool) {
        for (at, (field, is_quoted)) in record.iter().zip(quoted_fields(raw, delimiter)).enumerate() {
            match field {
                _ if !is_quoted => {}
                [] if is_row => self.empty[at] = true,
                [] => {}
                field => self.is_lavish |= needs_no_quotes(field, delimiter),
            }
        }
    }

    /// Whether a field was an empty text: a column of numbers has none. In a file of one column, `""` is how to write a
    /// null without a blank line.
    fn shows_text(&self, at: usize) -> bool {
        !self.is_lavish && self.empty.len() > 1 && self.empty[at]
    }
}

impl CsvReader {
    /// Takes the columns that the user declared.
    pub fn declared(format: Format, options: &SourceOptions, columns: &[ColumnSpec]) -> Self {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let types = columns.iter().map(|column| column.data_type.clone()).collect();
        Self::with_columns(names, types, Dialect::of(format, options))
    }

    /// Takes columns that were learnt or declared before.
    pub fn known(schema: SchemaRef, names: Vec<String>, delimiter: u8, has_header: bool) -> Self {
        Self { schema, names: names.into(), dialect: Dialect { delimiter, has_header } }
    }

    /// Learns the columns from the beginnings of the files.
    pub fn infer(format: Format, options: &SourceOptions, sample: &Sample) -> Self {
        let dialect = Dialect::of(format, options);
        let mut names: Vec<String> = Vec::new();
        let mut seen: Vec<Seen> = Vec::new();
        for head in &sample.heads {
            let records = dialect.records(head.whole_text(), head.is_whole);
            let Some((first, _)) = records.first() else { continue };
            let columns: Vec<usize> = dialect
                .names(first)
                .into_iter()
                .map(|name| {
                    names.iter().position(|known| *known == name).unwrap_or_else(|| {
                        names.push(name);
                        seen.push(Seen::default());
                        names.len() - 1
                    })
                })
                .collect();
            let mut quoting = Quoting { empty: vec![false; columns.len()], is_lavish: false };
            for (index, (record, raw)) in records.iter().enumerate() {
                let is_header = dialect.has_header && index == 0;
                let is_row = record.len() == columns.len() && !is_header;
                quoting.observe(record, raw, dialect.delimiter, is_row);
                if is_row {
                    columns.iter().zip(record).for_each(|(column, field)| seen[*column].observe(field));
                }
            }
            for (at, column) in columns.iter().enumerate() {
                seen[*column].text |= quoting.shows_text(at);
            }
        }
        let types = seen.into_iter().map(Seen::resolve).collect();
        Self::with_columns(names, types, dialect)
    }

    /// The first record of a file, for a piece that does not begin with it.
    fn first_record(&self, input: &Input, piece: usize) -> Option<ByteRecord> {
        let Piece { file, extent, .. } = &input.splits.pieces[piece];
        if extent.is_first() {
            return None;
        }
        let mut record = ByteRecord::new();
        let mut reader = self.dialect.reader(input.open_anew(*file).ok()?.stream);
        reader.read_byte_record(&mut record).ok()?.then_some(record)
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

    fn cut(&self, input: &Input, file: usize, block_bytes: u64) -> Vec<Extent> {
        match input.is_packed(file) {
            Ok(false) => byte_ranges(input.files[file].size_bytes, block_bytes),
            _ => vec![Extent::Whole],
        }
    }

    fn produce(&self, _scan: &Scan, mut pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
        Ok(pieces.try_for_each(|piece| units.push(Unit::Piece(piece)))?)
    }

    fn form(&self) -> ReaderForm {
        let Dialect { delimiter, has_header } = self.dialect;
        ReaderForm::Records { columns: self.schema.clone(), names: self.names.to_vec(), delimiter, has_header }
    }

    fn delimiter(&self) -> Option<u8> {
        Some(self.dialect.delimiter)
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::Piece(piece) = unit else { return Err(crate::bug!("CSV got the unit {unit:?}")) };
        match scan.input.open(piece)? {
            Ok(Opened { stream, count }) => {
                let first = self.first_record(&scan.input, piece);
                Ok(Box::new(CsvDecoder::new(self.clone(), piece, stream, count, scan.clone(), first)))
            }
            Err(error) => {
                scan.reject_rest(InputPosition::start_of(piece), error)?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }
}
