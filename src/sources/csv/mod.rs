//! CSV and TSV: records with quotes, a header of names, types learnt from the sample.
//!
//! A quoted field may hold line ends, so a file cannot be cut at any newline: one partition reads one file.
//! Every declared or learnt column of a record is checked, also those a query does not read, so that whether a record
//! is rejected does not depend on the query.

mod cell;
mod decode;
mod place;

use self::cell::{parse_bool, parse_float, parse_int};
use self::decode::CsvDecoder;
use crate::Result;
use crate::sources::format::{FormatReader, Opened, RowsIter, Scan, Stop, Unit};
use crate::sources::queue::Lane;
use crate::sources::sample::Sample;
use crate::sources::spec::{ColumnSpec, Format, SourceOptions};
use crate::sources::table::free_column_name;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use csv::ByteRecord;
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
    /// Takes the columns that the user declared.
    pub fn declared(format: Format, options: &SourceOptions, columns: &[ColumnSpec]) -> Self {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let types = columns.iter().map(|column| column.data_type.clone()).collect();
        Self::with_columns(names, types, Dialect::of(format, options))
    }

    /// Learns the columns from the beginnings of the files.
    pub fn infer(format: Format, options: &SourceOptions, sample: &Sample) -> Self {
        let dialect = Dialect::of(format, options);
        let mut names: Vec<String> = Vec::new();
        let mut seen: Vec<Seen> = Vec::new();
        for head in &sample.heads {
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

    fn produce(&self, scan: &Scan, lane: &Lane) -> Result<(), Stop> {
        for file in 0..scan.input.files.len() {
            lane.push(Unit::File(file))?;
        }
        Ok(())
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::File(file) = unit else { return Err(crate::bug!("CSV got the unit {unit:?}")) };
        match scan.input.open(file)? {
            Ok(Opened { stream, count }) => {
                Ok(Box::new(CsvDecoder::new(self.clone(), file, stream, count, scan.clone())))
            }
            Err(error) => {
                scan.reject_rest(file, 1, 0, error)?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }
}
