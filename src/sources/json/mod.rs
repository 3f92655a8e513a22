//! JSON Lines: one object a line, with all the mess that comes with it.
//!
//! ```text
//! open:  heads of the files ──infer──► columns
//! scan:  blocks of lines ──inspect · split · append──► Arrow columns      broken lines ──► rejects
//! ```
//!
//! If the sample was the whole input, the columns hold every value. If not, what comes later and does not fit goes
//! to the column `_extra` as JSON text, so nothing is lost and no column changes its type halfway.

mod array;
mod column;
mod decode;
mod infer;
mod inspect;
mod string;
mod value;

use self::decode::BlockDecoder;
use self::infer::SeenFields;
use super::encoded::ReaderForm;
use super::format::{FormatReader, Input, RowsIter, Scan, Stop, Unit};
use super::line_fields::{LineField, LineFields, OtherFields};
use super::lines::{cut_lines, produce_lines, utf8};
use super::queue::UnitSender;
use super::sample::Sample;
use super::spec::ColumnSpec;
use super::split::Extent;
use crate::Result;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use self::array::to_lines;
pub(crate) use self::column::fits;

/// What happens to a value that fits no column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unfit {
    /// It goes to the text column at this index.
    ToColumn(usize),
    /// The line is rejected: the columns were learnt from all of the data, so the data has changed since.
    Reject,
    /// The user declared the columns: other fields are not wanted, and values of another type are rejects.
    RejectDeclared,
}

/// Reads JSON Lines into known columns.
#[derive(Debug)]
pub(crate) struct JsonReader {
    schema: SchemaRef,
    /// The name of each column in the data; they differ only where a column had to be renamed.
    json_names: Vec<String>,
    unfit: Unfit,
}

impl JsonReader {
    /// Learns the columns from the beginnings of the files.
    pub fn infer(sample: &Sample) -> Self {
        let mut seen = SeenFields::default();
        for head in &sample.heads {
            let mut in_file = SeenFields::default();
            for line in head.whole_lines() {
                // Broken lines teach nothing; the scan will reject them.
                let Ok(text) = utf8(line) else { continue };
                let mut fields = Vec::new();
                if value::for_each_field_of_line(text, |name, value| fields.push((name, value))).is_ok() {
                    fields.iter().for_each(|(name, value)| in_file.observe(name, value));
                }
            }
            seen.merge(in_file);
        }
        let json_names: Vec<String> = seen.resolve().iter().map(|field| field.name().clone()).collect();
        let mut fields: Vec<Field> = seen
            .resolve()
            .iter()
            .map(|field| Field::new(super::table::free_column_name(field.name()), field.data_type().clone(), true))
            .collect();
        let mut unfit = Unfit::Reject;
        if !sample.is_exhaustive || seen.is_overfull() {
            let mut name = crate::sources::EXTRA_COLUMN.to_string();
            while json_names.contains(&name) {
                name.push('_');
            }
            unfit = Unfit::ToColumn(fields.len());
            fields.push(Field::new(name, DataType::Utf8, true));
        }
        Self { schema: Arc::new(Schema::new(fields)), json_names, unfit }
    }

    /// Takes columns that were learnt or declared before.
    pub fn known(schema: SchemaRef, json_names: Vec<String>, unfit: Unfit) -> Self {
        Self { schema, json_names, unfit }
    }

    /// Takes the columns that the user declared.
    pub fn declared(columns: &[ColumnSpec]) -> Self {
        let fields: Vec<Field> =
            columns.iter().map(|column| Field::new(&column.name, column.data_type.clone(), true)).collect();
        Self {
            json_names: columns.iter().map(|column| column.name.clone()).collect(),
            schema: Arc::new(Schema::new(fields)),
            unfit: Unfit::RejectDeclared,
        }
    }
}

impl FormatReader for JsonReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn cut(&self, input: &Input, file: usize, block_bytes: u64) -> Vec<Extent> {
        cut_lines(input, file, block_bytes)
    }

    fn produce(&self, scan: &Scan, pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
        produce_lines(scan, pieces, units)
    }

    fn line_fields(&self) -> Option<LineFields> {
        let field = |index: usize| match self.json_names.get(index) {
            Some(name) => LineField::Named(name.clone()),
            None => LineField::Others,
        };
        let others = match self.unfit {
            Unfit::RejectDeclared => OtherFields::Unwanted,
            Unfit::ToColumn(_) | Unfit::Reject => OtherFields::Held,
        };
        Some(LineFields { columns: (0..self.schema.fields().len()).map(field).collect(), others })
    }

    fn form(&self) -> ReaderForm {
        ReaderForm::Lines { columns: self.schema.clone(), names: self.json_names.clone(), unfit: self.unfit }
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        match unit {
            Unit::Lines(block) => Ok(Box::new(BlockDecoder::new(self, block, scan))),
            other => Err(crate::bug!("JSON Lines got the unit {other:?}")),
        }
    }
}
