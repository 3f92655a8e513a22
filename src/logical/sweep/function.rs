//! The aggregate function `sweep(value, rule, low, high, step [, bytes])`.
//!
//! Each row adds to one of the buckets between thresholds; what each threshold keeps is summed up at the end. So a row
//! costs a search among the thresholds, and the state is small however many rows there are.
//!
//! Invariant: the state is whole numbers that are added up, so the result does not depend on the order of rows.

use super::thresholds::{Comparison, bucket, thresholds};
use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Signature, Volatility};
use datafusion::physical_plan::PhysicalExpr;
use std::sync::Arc;

/// The function, for a session to know.
pub fn sweep_udaf() -> AggregateUDF {
    AggregateUDF::new_from_impl(Sweep { signature: Signature::user_defined(Volatility::Immutable) })
}

/// The name of the function.
pub(super) const NAME: &str = "sweep";
/// Without and with the sizes of the rows.
const N_ARGUMENTS: [usize; 2] = [5, 6];

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sweep {
    signature: Signature,
}

impl AggregateUDFImpl for Sweep {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let usage = "sweep(value, 'value >=', low, high, step) or sweep(value, 'value >=', low, high, step, bytes)";
        if !N_ARGUMENTS.contains(&given.len()) {
            return plan_err!("sweep expects 5 or 6 arguments: {usage}");
        }
        let is_number = |kind: &DataType| kind.is_numeric() || kind.is_null();
        let is_text = |kind: &DataType| kind.is_string() || kind.is_null();
        let fits = given.iter().enumerate().all(|(at, kind)| if at == 1 { is_text(kind) } else { is_number(kind) });
        if !fits {
            return plan_err!("sweep expects other types of arguments: {usage}");
        }
        let wanted = [
            DataType::Float64,
            DataType::Utf8,
            DataType::Float64,
            DataType::Float64,
            DataType::Float64,
            DataType::Int64,
        ];
        Ok(wanted.into_iter().take(given.len()).collect())
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(item(given.len() == N_ARGUMENTS[1])))
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let ([_, rule, low, high, step] | [_, rule, low, high, step, _]) = arguments.exprs else {
            return plan_err!("sweep expects 5 or 6 arguments");
        };
        let ScalarValue::Utf8(Some(rule)) = constant(rule, &arguments)? else {
            return plan_err!("sweep: the rule is a text that ends in >=, >, <= or <");
        };
        let Some(comparison) = Comparison::at_end_of(&rule) else {
            return plan_err!("sweep: the rule ends in >=, >, <= or <, and `{rule}` does not");
        };
        let number = |expr| match constant(expr, &arguments)? {
            ScalarValue::Float64(Some(number)) => Ok(number),
            _ => plan_err!("sweep: low, high and step are numbers"),
        };
        let thresholds = match thresholds(number(low)?, number(high)?, number(step)?) {
            Ok(thresholds) => thresholds,
            Err(refusal) => return plan_err!("{refusal}"),
        };
        let has_bytes = arguments.exprs.len() == N_ARGUMENTS[1];
        Ok(Box::new(Counts::new(rule, comparison, thresholds, has_bytes)))
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        Ok(vec![Arc::new(Field::new(format!("{}[sums]", arguments.name), DataType::List(item), true))])
    }
}

/// The value of an argument that does not depend on the rows.
fn constant(expr: &Arc<dyn PhysicalExpr>, arguments: &AccumulatorArgs) -> Result<ScalarValue> {
    let no_rows = RecordBatch::new_empty(Arc::new(arguments.schema.clone()));
    match expr.evaluate(&no_rows)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(_) => plan_err!("sweep: the rule, low, high and step are constants, `{expr}` is not"),
    }
}

/// One row of the result.
fn item(has_bytes: bool) -> FieldRef {
    let mut fields = vec![
        Field::new("rule", DataType::Utf8, false),
        Field::new("threshold", DataType::Float64, false),
        Field::new("documents", DataType::Int64, false),
        Field::new("share", DataType::Float64, true),
    ];
    if has_bytes {
        fields.push(Field::new("bytes", DataType::Int64, false));
        fields.push(Field::new("bytes_share", DataType::Float64, true));
    }
    Arc::new(Field::new_list_field(DataType::Struct(Fields::from(fields)), true))
}

/// The documents, or the bytes, that were seen: in all, and by the bucket of their value.
#[derive(Debug, Clone)]
struct Sums {
    total: i64,
    buckets: Vec<i64>,
}

/// What was counted so far.
#[derive(Debug)]
struct Counts {
    rule: String,
    comparison: Comparison,
    thresholds: Vec<f64>,
    has_bytes: bool,
    documents: Sums,
    bytes: Sums,
}

impl Counts {
    fn new(rule: String, comparison: Comparison, thresholds: Vec<f64>, has_bytes: bool) -> Self {
        let none = Sums { total: 0, buckets: vec![0; thresholds.len() + 1] };
        Self { rule, comparison, thresholds, has_bytes, documents: none.clone(), bytes: none }
    }

    /// What each threshold keeps.
    fn kept(&self, sums: &Sums) -> Vec<i64> {
        let mut kept = vec![0; self.thresholds.len()];
        let mut sum = 0;
        if self.comparison.keeps_before() {
            for at in (0..kept.len()).rev() {
                sum += sums.buckets[at + 1];
                kept[at] = sum;
            }
        } else {
            for (at, kept) in kept.iter_mut().enumerate() {
                sum += sums.buckets[at];
                *kept = sum;
            }
        }
        kept
    }

    fn sums_mut(&mut self) -> impl Iterator<Item = &mut i64> {
        let Self { documents, bytes, .. } = self;
        [documents, bytes].into_iter().flat_map(|sums| std::iter::once(&mut sums.total).chain(&mut sums.buckets))
    }
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(first) = values.first() else { return Ok(()) };
        let measured = first.as_primitive::<Float64Type>();
        let sizes = values.get(N_ARGUMENTS[0]).map(|sizes| sizes.as_primitive::<Int64Type>());
        for row in 0..measured.len() {
            let n_bytes = sizes.filter(|sizes| sizes.is_valid(row)).map_or(0, |sizes| sizes.value(row));
            self.documents.total += 1;
            self.bytes.total += n_bytes;
            if measured.is_valid(row) {
                let place = bucket(&self.thresholds, self.comparison, measured.value(row));
                self.documents.buckets[place] += 1;
                self.bytes.buckets[place] += n_bytes;
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sums: Vec<i64> = self.sums_mut().map(|sum| *sum).collect();
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let offsets = OffsetBuffer::from_lengths([sums.len()]);
        let list = ListArray::try_new(item, offsets, Arc::new(Int64Array::from(sums)), None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(states) = states.first() else { return Ok(()) };
        for sums in states.as_list::<i32>().iter().flatten() {
            let sums = sums.as_primitive::<Int64Type>();
            if sums.len() != 2 * (self.thresholds.len() + 2) {
                return exec_err!("sweep: {} sums of another sweep", sums.len());
            }
            for (sum, added) in self.sums_mut().zip(sums.values()) {
                *sum += added;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let n = self.thresholds.len();
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&self.rule, n))),
            Arc::new(Float64Array::from(self.thresholds.clone())),
        ];
        for sums in [Some(&self.documents), self.has_bytes.then_some(&self.bytes)].into_iter().flatten() {
            let kept = self.kept(sums);
            let share = |kept: &i64| (sums.total > 0).then(|| *kept as f64 / sums.total as f64);
            let shares: Float64Array = kept.iter().map(share).collect();
            columns.push(Arc::new(Int64Array::from(kept)));
            columns.push(Arc::new(shares));
        }
        let item = item(self.has_bytes);
        let DataType::Struct(fields) = item.data_type() else { return exec_err!("sweep: its rows are structs") };
        let rows = StructArray::try_new(fields.clone(), columns, None)?;
        let list = ListArray::try_new(item, OffsetBuffer::from_lengths([n]), Arc::new(rows), None)?;
        Ok(ScalarValue::List(Arc::new(list)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + (self.thresholds.capacity() + 2 * self.documents.buckets.capacity()) * size_of::<i64>()
    }
}
