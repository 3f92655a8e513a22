//! What a stream writes into the drop ledger: the rows that its rules dropped, with the reasons.
//!
//! A dropped document is written as it came into the program, before any of its columns was computed again, with
//! `_rule`, `_value`, `_threshold` before it; `_value` and `_threshold` are numbers, and null where the rule compares
//! no number with a constant. With [`RejectDetail::All`] also `_failed`, a list of all rules that it fails.

use super::program::{COMPUTED, Program, Rule};
use super::rows::LiveRows;
use crate::exec::ledger::{DropKeys, DropPartition, DropWriter, Ledger, RejectDetail, keyed, position_columns};
use crate::sources::is_carried;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Float64Builder, ListBuilder, RecordBatch, StringArray,
    StringBuilder, StructBuilder, UInt32Array,
};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Schema, SchemaRef};
use datafusion::error::Result as PlanResult;
use std::sync::Arc;

/// One reason why a row was dropped.
struct Failure {
    place: u32,
    rule: usize,
    value: Option<f64>,
}

/// Collects the dropped rows of one batch after the other.
pub(super) struct DropRecorder {
    writer: DropWriter,
    detail: RejectDetail,
    schema: SchemaRef,
    /// The columns of the input that are written, then those that tell the order.
    columns: Vec<usize>,
    n_written: usize,
    keys: DropKeys,
    failures: Vec<Failure>,
}

/// Whether a column is the user's: no position, and none that one of our nodes hands on to another.
pub(in crate::exec) fn is_of_data(field: &Field) -> bool {
    !is_carried(field.name()) && !field.name().starts_with(COMPUTED)
}

impl DropRecorder {
    /// A recorder for one partition of a program.
    pub fn open(ledger: &Ledger, program: usize, input: &Schema, partition: DropPartition) -> PlanResult<Self> {
        let of_data = (0..input.fields().len()).filter(|index| is_of_data(input.field(*index)));
        let mut columns: Vec<usize> = of_data.collect();
        let mut fields = vec![
            Field::new("_rule", DataType::Utf8, true),
            Field::new("_value", DataType::Float64, true),
            Field::new("_threshold", DataType::Float64, true),
        ];
        if ledger.detail() == RejectDetail::All {
            fields.push(Field::new_list(
                "_failed",
                Field::new_list_field(DataType::Struct(failed_fields()), true),
                true,
            ));
        }
        let given = columns.iter().map(|&index| Arc::clone(&input.fields()[index]));
        let fields: Vec<_> = fields.into_iter().map(Arc::new).chain(given).collect();
        let schema = Arc::new(Schema::new(fields));
        let n_written = columns.len();
        columns.extend(position_columns(input));
        let keys = DropKeys::new(&input.project(&columns)?, n_written, partition.ascends)?;
        let writer = ledger.open_partition(program, &schema, partition)?;
        Ok(Self { writer, detail: ledger.detail(), schema, columns, n_written, keys, failures: vec![] })
    }

    /// Its way into the ledger.
    pub fn into_writer(self) -> DropWriter {
        self.writer
    }

    /// Whether every rule is to be evaluated on every row.
    pub fn wants_all(&self) -> bool {
        self.detail == RejectDetail::All
    }

    /// Notes the rows alive for which `keep` is false.
    pub fn note(
        &mut self,
        rule: usize,
        program: &Program,
        rows: &mut LiveRows<'_>,
        keep: &BooleanArray,
    ) -> PlanResult<()> {
        let values = match &program.rules[rule].compared {
            Some(compared) => numbers(&rows.values(&compared.value)?),
            None => None,
        };
        for (row, _) in keep.values().iter().enumerate().filter(|(_, kept)| !kept) {
            let value = values.as_ref().filter(|values| values.is_valid(row)).map(|values| values.value(row));
            let place = rows.places().map_or(row as u32, |places| places[row]);
            self.failures.push(Failure { place, rule, value });
        }
        Ok(())
    }

    /// Forgets what was noted of a batch that will come once more.
    pub fn forget_batch(&mut self) {
        self.failures.clear();
    }

    /// Hands over what was noted of a batch.
    pub fn end_batch(&mut self, program: &Program, batch: &RecordBatch) -> PlanResult<()> {
        let batch = batch.project(&self.columns)?;
        let last = self.keys.last(&batch)?;
        let mut failures = std::mem::take(&mut self.failures);
        // By row; reasons of one row stay in the order of the rules.
        failures.sort_by_key(|failure| failure.place);
        if failures.is_empty() {
            return Ok(self.writer.add_keyed(None, last)?);
        }
        let by_row: Vec<&[Failure]> = failures.chunk_by(|a, b| a.place == b.place).collect();
        let places = UInt32Array::from_iter_values(by_row.iter().map(|reasons| reasons[0].place));
        let mut columns = self.reasons(program, &by_row);
        let rows = take_record_batch(&batch, &places)?;
        columns.extend(rows.columns()[..self.n_written].iter().cloned());
        let dropped = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        Ok(self.writer.add_keyed(Some(keyed(&dropped, self.keys.of(&rows)?)?), last)?)
    }

    fn reasons(&self, program: &Program, by_row: &[&[Failure]]) -> Vec<ArrayRef> {
        let first = |row: &&[Failure]| &program.rules[row[0].rule];
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(by_row.iter().map(|row| first(row).label.as_str()))),
            Arc::new(Float64Array::from_iter(by_row.iter().map(|row| row[0].value))),
            Arc::new(Float64Array::from_iter(by_row.iter().map(|row| threshold(first(row))))),
        ];
        if self.wants_all() {
            let mut lists = ListBuilder::new(StructBuilder::from_fields(failed_fields(), by_row.len()));
            for row in by_row {
                row.iter().for_each(|failure| append(lists.values(), &program.rules[failure.rule], failure.value));
                lists.append(true);
            }
            columns.push(Arc::new(lists.finish()));
        }
        columns
    }
}

fn failed_fields() -> Fields {
    Fields::from(vec![
        Field::new("rule", DataType::Utf8, true),
        Field::new("value", DataType::Float64, true),
        Field::new("threshold", DataType::Float64, true),
    ])
}

fn append(failed: &mut StructBuilder, rule: &Rule, value: Option<f64>) {
    if let Some(labels) = failed.field_builder::<StringBuilder>(0) {
        labels.append_value(&rule.label);
    }
    for (field, number) in [(1, value), (2, threshold(rule))] {
        if let Some(numbers) = failed.field_builder::<Float64Builder>(field) {
            numbers.append_option(number);
        }
    }
    failed.append(true);
}

fn threshold(rule: &Rule) -> Option<f64> {
    let threshold = rule.compared.as_ref()?.threshold.to_array().ok()?;
    numbers(&threshold).filter(|numbers| numbers.is_valid(0)).map(|numbers| numbers.value(0))
}

/// The values as numbers, if they are numbers or true and false.
fn numbers(values: &ArrayRef) -> Option<Float64Array> {
    let is_number = values.data_type().is_numeric() || values.data_type() == &DataType::Boolean;
    let numbers = is_number.then(|| cast(values, &DataType::Float64).ok())??;
    Some(numbers.as_primitive::<Float64Type>().clone())
}
