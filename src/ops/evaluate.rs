//! Computes an operator on a column of documents. Statistics are computed several at a time (`statistics.rs`).
//!
//! Invariant: the result has one row for each document and the type the spec declares; a null document gives null
//! unless batch code says otherwise.

use super::spec::{Cpu, OpSpec, Returns, struct_fields};
use super::statistics::evaluate_statistics;
use super::value::Args;
use crate::{Error, Result, bug};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Float64Array, Float64Builder, Int64Array, Int64Builder,
    LargeStringArray, ListArray, StringArray, StringBuilder, StringViewArray, StructArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use std::sync::Arc;

/// The operator's value for each document. `documents` is `Utf8`, `LargeUtf8` or `Utf8View`, sliced or not.
pub fn evaluate(spec: &OpSpec, documents: &ArrayRef, args: &Args) -> Result<ArrayRef> {
    evaluate_fields(spec, documents, args, None)
}

/// The same; of an operator that gives records, fields of text that are not named in `wanted` may be null.
/// Nobody reads them.
pub fn evaluate_fields(
    spec: &OpSpec,
    documents: &ArrayRef,
    args: &Args,
    wanted: Option<&[String]>,
) -> Result<ArrayRef> {
    if let Cpu::Batch(kernel) = &spec.cpu {
        return checked(spec, documents.len(), kernel(documents, args)?);
    }
    if let Cpu::Statistic(_) = &spec.cpu {
        let column = evaluate_statistics(&[(spec, args)], documents, None, &[])?.pop();
        return column.map(|column| column.values).ok_or_else(|| bug!("one statistic gives one column"));
    }
    let texts = Texts::of(spec, documents)?;
    let nulls = documents.logical_nulls();
    Ok(match &spec.cpu {
        Cpu::Int(of) => {
            let values: Vec<i64> = texts.map(|text| text.map_or(0, |text| of(text, args)));
            Arc::new(Int64Array::new(values.into(), nulls))
        }
        Cpu::Float(of) => {
            let values: Vec<f64> = texts.map(|text| text.map_or(0.0, |text| of(text, args)));
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        Cpu::Bool(of) => {
            let values: Vec<bool> = texts.map(|text| text.is_some_and(|text| of(text, args)));
            Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
        }
        Cpu::Text(of) => {
            let mut column = TextColumn::new(documents.len());
            for i in 0..texts.len() {
                match texts.get(i) {
                    Some(text) => column.push(&of(text, args)).map_err(|problem| fault(spec, &problem))?,
                    None => column.builder.append_null(),
                }
            }
            Arc::new(column.builder.finish())
        }
        Cpu::Record(of) => {
            let Returns::Struct(fields) = spec.returns else {
                return Err(bug!("operator `{}` writes records and returns {}", spec.name, spec.returns));
            };
            let mut record = Record::new(spec, fields, documents.len())?.with_only(wanted);
            for i in 0..texts.len() {
                match texts.get(i) {
                    Some(text) => of(text, args, &mut record),
                    None => record.skip(),
                }
                record.end_row(spec)?;
            }
            Arc::new(record.finish(fields, nulls)?)
        }
        Cpu::List(of) => {
            let Returns::List(item) = spec.returns else {
                return Err(bug!("operator `{}` writes lists and returns {}", spec.name, spec.returns));
            };
            let mut items = Items::new(spec, item)?;
            for i in 0..texts.len() {
                if let Some(text) = texts.get(i) {
                    of(text, args, &mut items);
                }
                items.end_row(spec)?;
            }
            Arc::new(items.finish(nulls)?)
        }
        Cpu::Batch(_) | Cpu::Statistic(_) => return Err(bug!("`{}` was handled above", spec.name)),
        Cpu::Model(_) => return Err(bug!("`{}` is a model: it is opened and prepared, then it runs", spec.name)),
    })
}

/// Batch code may come from a user of the library: its result is checked before the plan relies on it.
fn checked(spec: &OpSpec, n_docs: usize, result: ArrayRef) -> Result<ArrayRef> {
    let wanted = spec.returns.data_type();
    if result.len() != n_docs || result.data_type() != &wanted {
        return Err(Error::Data(format!(
            "operator `{}` returned {} rows of {} for {n_docs} documents; it must return as many rows, of {wanted}",
            spec.name,
            result.len(),
            result.data_type(),
        )));
    }
    Ok(result)
}

/// A column of documents in any of Arrow's text layouts.
pub(super) enum Texts<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    pub(super) fn of(spec: &OpSpec, documents: &'a ArrayRef) -> Result<Self> {
        match documents.data_type() {
            DataType::Utf8 => Ok(Texts::Utf8(documents.as_string())),
            DataType::LargeUtf8 => Ok(Texts::LargeUtf8(documents.as_string())),
            DataType::Utf8View => Ok(Texts::Utf8View(documents.as_string_view())),
            other => Err(bug!("operator `{}` was given a column of {other} instead of text", spec.name)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Texts::Utf8(array) => array.len(),
            Texts::LargeUtf8(array) => array.len(),
            Texts::Utf8View(array) => array.len(),
        }
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&'a str> {
        match self {
            Texts::Utf8(array) => array.is_valid(i).then(|| array.value(i)),
            Texts::LargeUtf8(array) => array.is_valid(i).then(|| array.value(i)),
            Texts::Utf8View(array) => array.is_valid(i).then(|| array.value(i)),
        }
    }

    fn map<T>(&self, of: impl Fn(Option<&str>) -> T) -> Vec<T> {
        (0..self.len()).map(|i| of(self.get(i))).collect()
    }
}

/// Text output. Arrow's `Utf8` counts bytes in 32 bits and its builder panics past them: we stop before.
struct TextColumn {
    builder: StringBuilder,
    used_bytes: usize,
}

impl TextColumn {
    fn new(n_docs: usize) -> Self {
        Self { builder: StringBuilder::with_capacity(n_docs, 0), used_bytes: 0 }
    }

    fn push(&mut self, text: &str) -> Result<(), String> {
        self.used_bytes += text.len();
        if self.used_bytes > i32::MAX as usize {
            return Err("it made more than 2 GB of text in one batch; lower batch_bytes or batch_rows".to_string());
        }
        self.builder.append_value(text);
        Ok(())
    }
}

pub(super) fn fault(spec: &OpSpec, problem: &str) -> Error {
    Error::Data(format!("operator `{}`: {problem}", spec.name))
}

/// The row that [`Cpu::Record`] code fills: one call for each field, in the order declared.
pub struct Record {
    names: Vec<&'static str>,
    columns: Vec<FieldColumn>,
    /// Whether anybody reads each of the fields.
    wanted: Vec<bool>,
    next: usize,
    problem: Option<String>,
}

enum FieldColumn {
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Text(TextColumn),
}

impl FieldColumn {
    fn push_null(&mut self) {
        match self {
            FieldColumn::Int(column) => column.append_null(),
            FieldColumn::Float(column) => column.append_null(),
            FieldColumn::Bool(column) => column.append_null(),
            FieldColumn::Text(column) => column.builder.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            FieldColumn::Int(mut column) => Arc::new(column.finish()),
            FieldColumn::Float(mut column) => Arc::new(column.finish()),
            FieldColumn::Bool(mut column) => Arc::new(column.finish()),
            FieldColumn::Text(mut column) => Arc::new(column.builder.finish()),
        }
    }
}

impl Record {
    fn new(spec: &OpSpec, fields: &[(&'static str, Returns)], n_docs: usize) -> Result<Self> {
        let columns = fields
            .iter()
            .map(|(name, returns)| match returns {
                Returns::Int64 => Ok(FieldColumn::Int(Int64Builder::with_capacity(n_docs))),
                Returns::Float64 => Ok(FieldColumn::Float(Float64Builder::with_capacity(n_docs))),
                Returns::Boolean => Ok(FieldColumn::Bool(BooleanBuilder::with_capacity(n_docs))),
                Returns::Utf8 => Ok(FieldColumn::Text(TextColumn::new(n_docs))),
                Returns::Struct(_) | Returns::List(_) | Returns::Opened(_) => {
                    Err(bug!("field `{name}` of `{}` is a {returns}, which a field cannot be", spec.name))
                }
            })
            .collect::<Result<_>>()?;
        let names = fields.iter().map(|(name, _)| *name).collect();
        Ok(Self { names, columns, wanted: vec![true; fields.len()], next: 0, problem: None })
    }

    /// Fields that are not named are null.
    fn with_only(mut self, wanted: Option<&[String]>) -> Self {
        if let Some(wanted) = wanted {
            self.wanted = self.names.iter().map(|name| wanted.iter().any(|wanted| wanted == name)).collect();
        }
        self
    }

    /// Whether anybody reads this field. What is written to one that nobody reads is not kept.
    pub fn wants(&self, field: &str) -> bool {
        self.names.iter().zip(&self.wanted).any(|(name, wanted)| *wanted && *name == field)
    }

    /// The next field, a whole number.
    pub fn int(&mut self, value: i64) -> &mut Self {
        match self.columns.get_mut(self.next) {
            Some(FieldColumn::Int(column)) => column.append_value(value),
            _ => self.misfit("BIGINT"),
        }
        self.next += 1;
        self
    }

    /// The next field, a number.
    pub fn float(&mut self, value: f64) -> &mut Self {
        match self.columns.get_mut(self.next) {
            Some(FieldColumn::Float(column)) => column.append_value(value),
            _ => self.misfit("DOUBLE"),
        }
        self.next += 1;
        self
    }

    /// The next field, true or false.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        match self.columns.get_mut(self.next) {
            Some(FieldColumn::Bool(column)) => column.append_value(value),
            _ => self.misfit("BOOLEAN"),
        }
        self.next += 1;
        self
    }

    /// The next field, text; it is copied only if somebody reads it.
    pub fn text(&mut self, value: &str) -> &mut Self {
        let is_wanted = self.wanted.get(self.next) != Some(&false);
        match self.columns.get_mut(self.next) {
            Some(FieldColumn::Text(column)) if !is_wanted => column.builder.append_null(),
            Some(FieldColumn::Text(column)) => {
                if let Err(problem) = column.push(value) {
                    self.problem = Some(problem);
                }
            }
            _ => self.misfit("TEXT"),
        }
        self.next += 1;
        self
    }

    fn misfit(&mut self, given: &str) {
        self.problem.get_or_insert(format!("its field {} is not a {given}", self.next + 1));
    }

    fn skip(&mut self) {
        self.columns.iter_mut().for_each(FieldColumn::push_null);
        self.next = self.columns.len();
    }

    fn end_row(&mut self, spec: &OpSpec) -> Result<()> {
        if let Some(problem) = self.problem.take() {
            return Err(fault(spec, &problem));
        }
        if self.next != self.columns.len() {
            return Err(bug!("operator `{}` wrote {} of {} fields", spec.name, self.next, self.columns.len()));
        }
        self.next = 0;
        Ok(())
    }

    fn finish(self, fields: &[(&'static str, Returns)], nulls: Option<NullBuffer>) -> Result<StructArray> {
        let columns = self.columns.into_iter().map(FieldColumn::finish).collect();
        StructArray::try_new(struct_fields(fields), columns, nulls).map_err(|error| bug!("a struct column: {error}"))
    }
}

/// The list that [`Cpu::List`] code fills: [`Items::item`] once for each value, in order.
pub struct Items {
    item: Returns,
    record: Record,
    is_open: bool,
    n_items: usize,
    /// Where the items of each row end, after a 0.
    ends: Vec<i32>,
}

impl Items {
    fn new(spec: &OpSpec, item: &'static Returns) -> Result<Self> {
        let record = match item {
            Returns::Struct(fields) => Record::new(spec, fields, 0)?,
            value => Record::new(spec, &[("item", *value)], 0)?,
        };
        Ok(Self { item: *item, record, is_open: false, n_items: 0, ends: vec![0] })
    }

    /// The next item: write its value, or its fields in the order declared.
    pub fn item(&mut self) -> &mut Record {
        self.close_item();
        self.is_open = true;
        self.n_items += 1;
        &mut self.record
    }

    fn close_item(&mut self) {
        let n_fields = self.record.columns.len();
        if self.is_open && self.record.next != n_fields {
            let problem = format!("it wrote {} of {n_fields} fields of an item", self.record.next);
            self.record.problem.get_or_insert(problem);
        }
        self.record.next = 0;
        self.is_open = false;
    }

    fn end_row(&mut self, spec: &OpSpec) -> Result<()> {
        self.close_item();
        if let Some(problem) = self.record.problem.take() {
            return Err(fault(spec, &problem));
        }
        let end = i32::try_from(self.n_items)
            .map_err(|_| fault(spec, "it made more than 2 billion items in one batch; lower batch_rows"))?;
        self.ends.push(end);
        Ok(())
    }

    fn finish(self, nulls: Option<NullBuffer>) -> Result<ListArray> {
        let values: ArrayRef = match self.item {
            Returns::Struct(fields) => Arc::new(self.record.finish(fields, None)?),
            _ => {
                let column = self.record.columns.into_iter().next();
                column.map(FieldColumn::finish).ok_or_else(|| bug!("a list has a column of items"))?
            }
        };
        let field = Arc::new(Field::new_list_field(self.item.data_type(), true));
        ListArray::try_new(field, OffsetBuffer::new(self.ends.into()), values, nulls)
            .map_err(|error| bug!("a list column: {error}"))
    }
}
