//! Decodes blocks of JSON Lines into rows.
//!
//! A line is first cut into fields (nothing is decoded), then its wanted fields go into their columns: a line that
//! turns out to be broken has touched no column. Duplicate keys: the last one counts.

use super::column::{ColumnBuilder, ObjectText, fits};
use super::inspect::LineError;
use super::value::for_each_field_of_line;
use super::{JsonReader, Unfit};
use crate::sources::format::{DecodedRows, InputPosition, Origin, Scan};
use crate::sources::lines::{Block, Line, LinePlace, utf8};
use crate::sources::rejects::RejectKind;
use crate::{Error, Result};
use arrow::array::{ArrayRef, BooleanArray, StringBuilder};
use arrow::compute::filter;
use arrow::datatypes::DataType;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// What is done with a field of this name.
#[derive(Clone, Copy)]
enum FieldUse {
    Column(usize),
    /// Declared but not read: only checked.
    Check(usize),
    /// Known and not wanted.
    Skip,
}

/// Decodes one block, a batch at a time.
pub(crate) struct BlockDecoder {
    scan: Scan,
    block: Arc<Block>,
    place: LinePlace,
    slots: HashMap<String, FieldUse>,
    columns: Vec<(String, ColumnBuilder)>,
    checks: Vec<(String, DataType)>,
    unfit: Unfit,
    /// The column of what did not fit, if the query asks for it.
    extra: Option<StringBuilder>,
    /// The lines themselves, if the query asks for them.
    lines: Option<StringBuilder>,
    /// The lines may be the items of a JSON array.
    is_adapted: bool,
    /// For each output column the builder's index, or `None` for `_extra`.
    outputs: Vec<Option<usize>>,
    scratch: Vec<u8>,
}

impl BlockDecoder {
    pub fn new(reader: &JsonReader, block: Block, scan: &Scan) -> Self {
        let fields = reader.schema.fields();
        let is_extra = |index: usize| matches!(reader.unfit, Unfit::ToColumn(extra) if extra == index);
        let wants_extra = scan.projection.iter().any(|index| is_extra(*index));
        let mut decoder = Self {
            scan: scan.clone(),
            place: block.start(),
            slots: HashMap::new(),
            columns: Vec::new(),
            checks: Vec::new(),
            unfit: reader.unfit,
            extra: wants_extra.then(StringBuilder::new),
            lines: scan.wants_lines.then(StringBuilder::new),
            is_adapted: scan.wants_lines && scan.input.is_adapted(scan.input.splits.pieces[block.piece].file),
            outputs: Vec::new(),
            scratch: Vec::new(),
            block: Arc::new(block),
        };
        let mut column_of_field: HashMap<usize, usize> = HashMap::new();
        for (index, field) in fields.iter().enumerate().filter(|(index, _)| !is_extra(*index)) {
            let name = &reader.json_names[index];
            // What does not fit an unread column belongs to `_extra` too, so then every column is built.
            let slot = if wants_extra || scan.projection.contains(&index) {
                column_of_field.insert(index, decoder.columns.len());
                decoder.columns.push((name.clone(), ColumnBuilder::new(field.data_type())));
                FieldUse::Column(decoder.columns.len() - 1)
            } else if reader.unfit == Unfit::RejectDeclared && field.data_type() != &DataType::Utf8 {
                decoder.checks.push((name.clone(), field.data_type().clone()));
                FieldUse::Check(decoder.checks.len() - 1)
            } else {
                FieldUse::Skip
            };
            decoder.slots.insert(name.clone(), slot);
        }
        decoder.outputs = scan.projection.iter().map(|index| column_of_field.get(index).copied()).collect();
        decoder
    }

    fn next_batch(&mut self) -> Result<Option<DecodedRows>> {
        let mut origins = Vec::new();
        let mut keep: Vec<bool> = Vec::new();
        let block = self.block.clone();
        let mut values: Vec<Option<&str>> = vec![None; self.columns.len()];
        while origins.len() < self.scan.batch_rows {
            let Some(line) = block.next_line(&mut self.place) else { break };
            if line.bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            values.fill(None);
            let split = text_of(&line).and_then(|text| Ok((text, self.split_line(text, &mut values)?)));
            match split {
                Ok((text, unknown)) => {
                    self.keep_line(&line, text);
                    let misfit = self.append_row(&values, unknown);
                    keep.push(misfit.is_none());
                    origins.push(Origin { piece: block.piece as u32, row: line.number });
                    if let Some(error) = misfit {
                        self.reject(&block, &line, error)?;
                    }
                }
                Err(error) => self.reject(&block, &line, error)?,
            }
        }
        if origins.is_empty() {
            return Ok(None);
        }
        self.finish_batch(origins, keep).map(Some)
    }

    /// Cuts a line into the values of the columns; returns the fields that no column is for.
    fn split_line<'a>(
        &self,
        text: &'a str,
        values: &mut [Option<&'a str>],
    ) -> Result<Vec<(Cow<'a, str>, &'a str)>, LineError> {
        let mut checked: Vec<Option<&str>> = vec![None; self.checks.len()];
        let mut unknown: Vec<(Cow<'a, str>, &'a str)> = Vec::new();
        let wants_unknown = self.extra.is_some() || self.unfit == Unfit::Reject;
        for_each_field_of_line(text, |name, value| match self.slots.get(name.as_ref()) {
            Some(FieldUse::Column(index)) => values[*index] = Some(value),
            Some(FieldUse::Check(index)) => checked[*index] = Some(value),
            Some(FieldUse::Skip) => {}
            None if wants_unknown => match unknown.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = value,
                None => unknown.push((name, value)),
            },
            None => {}
        })?;
        for ((name, data_type), value) in self.checks.iter().zip(checked) {
            if let Some(value) = value.filter(|value| !fits(data_type, value)) {
                return Err(wrong_type(name, value));
            }
        }
        Ok(unknown)
    }

    /// Adds the line as it is, less its line feed.
    fn keep_line(&mut self, line: &Line<'_>, text: &str) {
        let Some(lines) = &mut self.lines else { return };
        if self.is_adapted {
            // Around an item of a JSON array stands what was between the items, not a line's own white space.
            return lines.append_value(text.trim_ascii());
        }
        if !line.has_carriage_return {
            return lines.append_value(text);
        }
        // Writing to a builder cannot fail.
        let _ = lines.write_str(text).and_then(|()| lines.write_char('\r'));
        lines.append_value("");
    }

    /// Adds a row; an error if it must not stay.
    fn append_row(&mut self, values: &[Option<&str>], unknown: Vec<(Cow<'_, str>, &str)>) -> Option<LineError> {
        let mut error = None;
        let mut extra = ObjectText::default();
        for ((name, column), value) in self.columns.iter_mut().zip(values) {
            if let Some(residue) = column.append(*value, &mut self.scratch) {
                if matches!(self.unfit, Unfit::ToColumn(_)) {
                    extra.push(name, &residue);
                } else {
                    error.get_or_insert_with(|| wrong_type(name, &residue));
                }
            }
        }
        for (name, value) in unknown {
            if self.unfit == Unfit::Reject {
                let reason = format!("field `{name}` was not there when the columns were learnt: the file has changed");
                error.get_or_insert(LineError::new(RejectKind::WrongType, reason));
            } else {
                extra.push(&name, value);
            }
        }
        if let Some(column) = &mut self.extra {
            column.append_option(extra.finish());
        }
        error
    }

    fn finish_batch(&mut self, mut origins: Vec<Origin>, keep: Vec<bool>) -> Result<DecodedRows> {
        let failed = |error: arrow::error::ArrowError| crate::bug!("building a JSON column: {error}");
        let built = self.columns.iter_mut().map(|(_, column)| column.finish()).collect::<Result<Vec<_>, _>>();
        let built = built.map_err(failed)?;
        let extra = self.extra.as_mut().map(|column| Arc::new(column.finish()) as _);
        let mut columns = Vec::with_capacity(self.outputs.len());
        for output in &self.outputs {
            let column = match output {
                Some(index) => built.get(*index).cloned(),
                None => extra.clone(),
            };
            columns.push(column.ok_or_else(|| crate::bug!("a projected JSON column was not built"))?);
        }
        let mut lines = self.lines.as_mut().map(|lines| Arc::new(lines.finish()) as ArrayRef);
        if keep.contains(&false) {
            let mask = BooleanArray::from(keep.clone());
            lines = lines.map(|lines| filter(&lines, &mask)).transpose().map_err(failed)?;
            columns = columns.iter().map(|column| filter(column, &mask)).collect::<Result<_, _>>().map_err(failed)?;
            let mut kept = keep.iter();
            origins.retain(|_| kept.next().copied().unwrap_or(false));
        }
        Ok(DecodedRows { columns, lines, origins })
    }

    fn reject(&self, block: &Block, line: &Line<'_>, error: LineError) -> Result<()> {
        let place = InputPosition { piece: block.piece, line: line.number, byte_offset: line.byte_offset };
        self.scan.reject(place, error.kind, error.reason, line.bytes.to_vec())
    }
}

fn text_of<'a>(line: &Line<'a>) -> Result<&'a str, LineError> {
    utf8(line.bytes).map_err(|error| {
        let reason = format!("not UTF-8: byte {} of the line is invalid", error.valid_up_to() + 1);
        LineError::new(RejectKind::InvalidText, reason)
    })
}

fn wrong_type(name: &str, value: &str) -> LineError {
    let shown: String = value.chars().take(40).collect();
    let dots = if shown.len() < value.len() { "…" } else { "" };
    LineError::new(RejectKind::WrongType, format!("field `{name}`: `{shown}{dots}` does not fit the column's type"))
}

impl Iterator for BlockDecoder {
    type Item = Result<DecodedRows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
