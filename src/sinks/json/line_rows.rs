//! Rows that bring the line they were read from: the line again, with the changes of the query made in it.
//!
//! ```text
//! {"id": 1, "text": "a  b", "meta": {"n": 1e2}}      SET text = collapse_whitespace(text)
//! {"id": 1, "text": "a b", "meta": {"n": 1e2}}
//! ```
//! Fields stay where they are in their line; where the query asks for another order of its columns, they come in that order.
//! A field that a line does not have is not written, unless the query computes a value for it.
//! What the query adds comes last. Of several fields with one name the last counts, so a new value takes its place.
//!
//! Not here: where the fields of a line are (`fields.rs`).

use super::escape::write_string;
use super::fields::{Field, LineFields, content};
use super::rows::{JsonRows, object_key};
use super::value::Column;
use crate::sinks::lines::EncodeRow;
use crate::sinks::source_lines::{OutputColumn, SourceLines};
use crate::sources::{LINE_COLUMN, json_fits};
use crate::{Error, Result, bug};
use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use std::collections::HashMap;

/// The rows of a batch and their lines.
pub(in crate::sinks) struct LineRows<'a> {
    lines: &'a StringArray,
    edit: Edit<'a>,
    /// The columns, where a row has no line.
    without_line: Option<JsonRows<'a>>,
}

enum Edit<'a> {
    None,
    /// Fields stay in their places.
    InPlace(Changes<'a>),
    /// Fields come in the order of the query.
    InOrder(Changes<'a>, &'a [OutputColumn]),
}

/// What becomes of the fields of a line.
struct Changes<'a> {
    of_fields: HashMap<&'a str, Change<'a>>,
    /// Of a field that is not named above.
    of_others: Change<'a>,
    computed: Vec<Computed<'a>>,
}

#[derive(Clone, Copy)]
enum Change<'a> {
    Keep,
    Drop,
    /// The value stays, under another name.
    Rename(&'a str),
    /// The computed value comes in its place.
    Replace(usize),
}

/// A value that is not in the line.
struct Computed<'a> {
    name: &'a str,
    column: Column<'a>,
    replaces: Replaced<'a>,
}

/// What a computed value comes in the place of.
#[derive(Clone, Copy, PartialEq)]
enum Replaced<'a> {
    /// A field that the source has a column for, of this type.
    Column(&'a DataType),
    /// A field that the source has no column for, if the line has one of that name.
    Other,
}

impl<'a> LineRows<'a> {
    pub fn new(batch: &'a RecordBatch, source: &'a SourceLines) -> Result<LineRows<'a>> {
        let lines = batch.column_by_name(LINE_COLUMN).and_then(|column| column.as_string_opt::<i32>());
        let lines = lines.ok_or_else(|| bug!("rows without the lines that they are to be written from"))?;
        let without_line = (lines.null_count() > 0).then(|| JsonRows::without(batch, LINE_COLUMN)).transpose()?;
        let edit = match source {
            source if source.is_unchanged() => Edit::None,
            source if source.is_in_source_order() => Edit::InPlace(Changes::new(batch, source)?),
            source => Edit::InOrder(Changes::new(batch, source)?, &source.columns),
        };
        Ok(LineRows { lines, edit, without_line })
    }
}

impl EncodeRow for LineRows<'_> {
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if let Some(rows) = self.without_line.as_ref().filter(|_| self.lines.is_null(row)) {
            return rows.encode(row, out);
        }
        let line = self.lines.value(row);
        let fields = || LineFields::of(line).ok_or_else(|| bug!("a line that was read is no JSON object"));
        match &self.edit {
            Edit::None => out.extend_from_slice(line.as_bytes()),
            Edit::InPlace(changes) => changes.write_in_place(&fields()?, row, out)?,
            Edit::InOrder(changes, columns) => changes.write_in_order(&fields()?, columns, row, out)?,
        }
        out.push(b'\n');
        Ok(())
    }
}

impl<'a> Changes<'a> {
    fn new(batch: &'a RecordBatch, source: &'a SourceLines) -> Result<Changes<'a>> {
        let mut of_fields: HashMap<&str, Change> =
            source.fields.iter().map(|(name, _)| (name.as_str(), Change::Drop)).collect();
        let mut computed = Vec::new();
        for output in &source.columns {
            let name = output.name.as_str();
            let Some(field) = &output.field else {
                let array = batch.column_by_name(name).ok_or_else(|| bug!("no column `{name}` to write"))?;
                let column = Column::new(array.as_ref())
                    .map_err(|error| Error::Data(format!("column `{name}` cannot be written as JSON: {error}")))?;
                let replaced = source.place_of(output).and_then(|place| source.fields.get(place));
                let replaces = replaced.map_or(Replaced::Other, |(_, data_type)| Replaced::Column(data_type));
                // A field that goes on under another name leaves its own to the column.
                if replaced.is_some() || !of_fields.contains_key(name) {
                    of_fields.insert(name, Change::Replace(computed.len()));
                }
                computed.push(Computed { name, column, replaces });
                continue;
            };
            of_fields.insert(field, if field == name { Change::Keep } else { Change::Rename(name) });
            of_fields.entry(name).or_insert(Change::Drop);
        }
        let of_others = if source.keeps_others { Change::Keep } else { Change::Drop };
        Ok(Changes { of_fields, of_others, computed })
    }

    fn of(&self, name: &str) -> Change<'a> {
        self.of_fields.get(name).copied().unwrap_or(self.of_others)
    }

    fn write_in_place(&self, line: &LineFields, row: usize, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(line.text(0..line.open).as_bytes());
        let mut is_first = true;
        let mut is_written = vec![false; self.computed.len()];
        for (at, field) in line.fields.iter().enumerate() {
            let change = self.of(&field.name);
            let is_repeated = || line.fields[at + 1..].iter().any(|later| later.name == field.name);
            match change {
                Change::Drop => continue,
                Change::Replace(_) if is_repeated() => continue,
                _ => {}
            }
            let lead = line.text(field.lead..field.key.start);
            match is_first && at > 0 {
                true => out.extend(lead.bytes().filter(|byte| *byte != b',')),
                false => out.extend_from_slice(lead.as_bytes()),
            }
            is_first = false;
            match change {
                Change::Rename(name) => {
                    write_string(name, out);
                    out.extend_from_slice(line.text(field.key.end..field.value.end).as_bytes());
                }
                Change::Replace(index) => {
                    out.extend_from_slice(line.text(field.key.start..field.value.start).as_bytes());
                    self.write_computed(index, Some(line.text(field.value.clone())), row, out)?;
                    is_written[index] = true;
                }
                Change::Keep | Change::Drop => {
                    out.extend_from_slice(line.text(field.key.start..field.value.end).as_bytes());
                }
            }
        }
        let style = Style::of(line);
        for (index, computed) in self.computed.iter().enumerate().filter(|(index, _)| !is_written[*index]) {
            if !computed.is_absent(row) {
                style.start_field(&mut is_first, &object_key(computed.name), out);
                self.write_computed(index, None, row, out)?;
            }
        }
        out.extend_from_slice(line.tail().as_bytes());
        Ok(())
    }

    fn write_in_order(&self, line: &LineFields, columns: &[OutputColumn], row: usize, out: &mut Vec<u8>) -> Result<()> {
        let style = Style::of(line);
        let mut is_first = true;
        let mut n_computed = 0;
        out.push(b'{');
        for column in columns {
            let index = n_computed;
            n_computed += usize::from(column.field.is_none());
            let found = match (&column.field, self.of(&column.name)) {
                (Some(field), _) => line.find(field),
                (None, Change::Replace(replaced)) if replaced == index => line.find(&column.name),
                (None, _) => None,
            };
            let raw = found.map(|field| line.text(field.value.clone()));
            match (&column.field, raw) {
                (Some(_), None) => {}
                (Some(_), Some(raw)) => {
                    style.start_field(&mut is_first, &object_key(&column.name), out);
                    out.extend_from_slice(raw.as_bytes());
                }
                (None, None) if self.computed[index].is_absent(row) => {}
                (None, raw) => {
                    style.start_field(&mut is_first, &object_key(&column.name), out);
                    self.write_computed(index, raw, row, out)?;
                }
            }
        }
        let is_other = |field: &&Field| !self.of_fields.contains_key(field.name.as_ref());
        for field in line.fields.iter().filter(is_other).filter(|_| matches!(self.of_others, Change::Keep)) {
            style.start_field(&mut is_first, &object_key(&field.name), out);
            out.extend_from_slice(line.text(field.value.clone()).as_bytes());
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes a computed value, in the place of `raw` if the line has one.
    fn write_computed(&self, index: usize, raw: Option<&str>, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let Computed { column, replaces, .. } = &self.computed[index];
        let Some(raw) = raw else { return column.write(row, out) };
        // The query has seen a null where the column could not hold the value, so it cannot mean to take it away.
        let was_seen = match replaces {
            Replaced::Column(data_type) => json_fits(data_type, raw),
            Replaced::Other => false,
        };
        if column.is_null(row) && !was_seen && matches!(self.of_others, Change::Keep) {
            out.extend_from_slice(raw.as_bytes());
            return Ok(());
        }
        let text = || column.text(row);
        let is_unchanged = match raw.starts_with('"') {
            // The same text may stand in the line with other escapes than ours. Most lines have only ours.
            true => has_other_escapes(raw) && text().is_some_and(|text| content(raw).as_deref() == Some(text)),
            // A text column has what is no text (`1e2`) as it stands in the line. A null is no text to a query.
            false => *replaces == Replaced::Column(&DataType::Utf8) && raw != "null" && text() == Some(raw),
        };
        if is_unchanged {
            out.extend_from_slice(raw.as_bytes());
            return Ok(());
        }
        column.write(row, out)
    }
}

impl Computed<'_> {
    /// Whether a line that does not have the field goes on without it: to a query, null and no field at all are one.
    fn is_absent(&self, row: usize) -> bool {
        self.replaces != Replaced::Other && self.column.is_null(row)
    }
}

/// Escapes that our writer may not use for the same character: `\u00e9`, `\/`.
fn has_other_escapes(raw: &str) -> bool {
    raw.contains("\\u") || raw.contains("\\/")
}

/// The white space between the parts of a line.
#[derive(Clone, Copy)]
struct Style {
    is_spaced: bool,
}

impl Style {
    /// As Python's `json.dumps` writes by default, or without spaces.
    fn of(line: &LineFields) -> Style {
        let first = line.fields.first();
        let is_spaced = first.is_some_and(|field| line.text(field.key.end..field.value.start).ends_with(' '));
        Style { is_spaced }
    }

    fn start_field(self, is_first: &mut bool, key: &[u8], out: &mut Vec<u8>) {
        if !std::mem::take(is_first) {
            out.extend_from_slice(if self.is_spaced { b", " } else { b"," });
        }
        out.extend_from_slice(key);
        if self.is_spaced {
            out.push(b' ');
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    /// `"a"` is kept as it is, `"a=b"` is the field `b`, `"+a"` is computed.
    fn source(fields: &[(&str, DataType)], keeps_others: bool, columns: &[&str]) -> SourceLines {
        let column = |text: &&str| match (text.strip_prefix('+'), text.split_once('=')) {
            (Some(name), _) => OutputColumn { name: name.into(), field: None },
            (None, Some((name, field))) => OutputColumn { name: name.into(), field: Some(field.into()) },
            (None, None) => OutputColumn { name: text.to_string(), field: Some(text.to_string()) },
        };
        let fields = fields.iter().map(|(name, data_type)| (name.to_string(), data_type.clone())).collect();
        SourceLines { fields, keeps_others, columns: columns.iter().map(column).collect() }
    }

    fn written(line: Option<&str>, source: &SourceLines, computed: &[(&str, ArrayRef)]) -> String {
        let lines: ArrayRef = Arc::new(StringArray::from(vec![line]));
        let columns = computed.iter().map(|(name, array)| (*name, Arc::clone(array), true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns.chain([(LINE_COLUMN, lines, true)])).unwrap();
        let mut out = Vec::new();
        LineRows::new(&batch, source).unwrap().encode(0, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn text(value: Option<&str>) -> ArrayRef {
        Arc::new(StringArray::from(vec![value]))
    }

    fn number(value: Option<i64>) -> ArrayRef {
        Arc::new(Int64Array::from(vec![value]))
    }

    const TWO_TEXTS: [(&str, DataType); 2] = [("a", DataType::Utf8), ("b", DataType::Utf8)];

    #[test]
    fn an_unchanged_line_is_not_even_looked_at() {
        let source = source(&TWO_TEXTS, true, &["a", "b"]);
        assert_eq!(written(Some(" no JSON "), &source, &[]), " no JSON \n");
    }

    #[test]
    fn fields_are_taken_out_with_their_commas() {
        let line = r#"{ "a" :1, "b":2 ,"c": 3 }"#;
        for (fields, keeps_others, expected) in [
            (&["a"][..], true, r#"{ "a" :1 ,"c": 3 }"#),
            (&["b"], true, r#"{ "b":2 ,"c": 3 }"#),
            (&["b"], false, r#"{ "b":2 }"#),
            (&[], true, r#"{ "c": 3 }"#),
            (&[], false, "{ }"),
            (&["x=a"], false, r#"{ "x" :1 }"#),
            (&["b", "a"], true, r#"{"b":2,"a":1,"c":3}"#),
            (&["b=a", "a=b"], true, r#"{ "b" :1, "a":2 ,"c": 3 }"#),
        ] {
            let got = written(Some(line), &source(&TWO_TEXTS, keeps_others, fields), &[]);
            assert_eq!(got, format!("{expected}\n"), "{fields:?}");
        }
    }

    #[test]
    fn computed_values_take_the_place_of_their_fields_or_come_last() {
        let source = source(&TWO_TEXTS, true, &["a", "+b", "+n"]);
        let write = |line, b| written(Some(line), &source, &[("b", text(b)), ("n", number(None))]);
        assert_eq!(write(r#"{"b":1,"a":1e2}"#, Some("x")), "{\"b\":\"x\",\"a\":1e2,\"n\":null}\n");
        assert_eq!(write(r#"{"b": 1}"#, None), "{\"b\": null, \"n\": null}\n");
        assert_eq!(write(r#"{"a":1}"#, None), "{\"a\":1,\"n\":null}\n", "null and no field are one to a query");
        assert_eq!(write("{}", Some("x")), "{\"b\":\"x\",\"n\":null}\n");
        assert_eq!(write(r#"{"n":7}"#, None), "{\"n\":7}\n", "as `_extra` fills a null column of its name");
    }

    #[test]
    fn a_value_that_its_column_could_not_hold_is_not_taken_for_null() {
        let fields = [("n", DataType::Int64)];
        let write =
            |line, keeps_others| written(Some(line), &source(&fields, keeps_others, &["+n"]), &[("n", number(None))]);
        assert_eq!(write(r#"{"n":"ten"}"#, true), "{\"n\":\"ten\"}\n");
        assert_eq!(write(r#"{"n":10}"#, true), "{\"n\":null}\n");
        assert_eq!(write(r#"{"n":"ten"}"#, false), "{\"n\":null}\n", "the query dropped what did not fit");
    }

    #[test]
    fn a_number_in_a_text_column_stays_one_while_nobody_changes_it() {
        let source = source(&TWO_TEXTS, true, &["+a"]);
        let write = |line, a| written(Some(line), &source, &[("a", text(Some(a)))]);
        for line in [r#"{"a":1}"#, r#"{"a": 1e2}"#, r#"{"a":[1, "x"]}"#, r#"{"a":true}"#] {
            let raw = line[5..line.len() - 1].trim_start();
            assert_eq!(write(line, raw), format!("{line}\n"));
        }
        assert_eq!(write(r#"{"a":1}"#, "1.0"), "{\"a\":\"1.0\"}\n");
        assert_eq!(write(r#"{"a":null}"#, "null"), "{\"a\":\"null\"}\n");
    }

    #[test]
    fn rows_without_a_line_are_written_from_their_columns() {
        let source = source(&TWO_TEXTS, true, &["a", "b"]);
        let columns = [("a", text(Some("x"))), ("b", text(None)), ("_extra", text(Some("{\"b\":1e2,\"c\":3}")))];
        assert_eq!(written(None, &source, &columns), "{\"a\":\"x\",\"b\":1e2,\"c\":3}\n");
    }
}
