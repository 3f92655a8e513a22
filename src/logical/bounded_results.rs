//! Functions whose results are as large as a number says: `repeat('x', 3000000000)`.
//!
//! Memory for a result is set aside all at once, and a process that asks for more than there is dies. So what is asked for
//! is added up before, over the rows of a batch, and too much is an error that names the function.
//!
//! Invariant: results, names, types and all other errors are DataFusion's.

use crate::Error;
use crate::config::format_bytes;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;

/// What the results for one batch may take.
const MAX_BYTES: i128 = 1 << 30;
/// An item of a list, be it a number or a short text.
const ITEM_BYTES: i128 = 8;

/// How many bytes a row asks for, from the arguments as numbers: of a text its length.
type Asked = fn(&[i128]) -> i128;

const SIZED: [(&str, Asked); 7] = [
    ("repeat", |args| args[0] * args[1].max(0)),
    ("lpad", |args| args[1]),
    ("rpad", |args| args[1]),
    ("range", |args| series(args) * ITEM_BYTES),
    ("generate_series", |args| series(args) * ITEM_BYTES),
    ("array_repeat", |args| args[1].max(0) * ITEM_BYTES),
    ("array_resize", |args| args[1].max(0) * ITEM_BYTES),
];

/// From 0 or a start to an end, in steps of 1 or a number.
fn series(args: &[i128]) -> i128 {
    let (start, end, step) = match *args {
        [end] => (0, end, 1),
        [start, end] => (start, end, 1),
        [start, end, step, ..] => (start, end, step),
        [] => return 0,
    };
    if step == 0 { 0 } else { ((end - start) / step).max(0) + 1 }
}

/// The function, with a bound on its results if they have none.
pub fn bounded(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match SIZED.iter().find(|(name, _)| *name == function.name()) {
        Some((_, asked)) if !function.inner().is::<BoundedResult>() => {
            Arc::new(ScalarUDF::new_from_impl(BoundedResult { inner: function, asked: *asked }))
        }
        _ => function,
    }
}

#[derive(Debug)]
struct BoundedResult {
    inner: Arc<ScalarUDF>,
    asked: Asked,
}

impl PartialEq for BoundedResult {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for BoundedResult {}

impl std::hash::Hash for BoundedResult {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl BoundedResult {
    fn check(&self, args: &ScalarFunctionArgs) -> Result<()> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let n_rows = if is_one { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|arg| numbers(&arg.to_array(if is_scalar(arg) { 1 } else { n_rows })?));
        let columns: Vec<Option<Vec<i128>>> = columns.collect::<Result<_>>()?;
        // Dates and times are not added up.
        let Some(columns) = columns.into_iter().collect::<Option<Vec<_>>>() else { return Ok(()) };
        let value = |column: &Vec<i128>, row: usize| if column.len() == 1 { column[0] } else { column[row] };
        let row = |row: usize| (self.asked)(&columns.iter().map(|column| value(column, row)).collect::<Vec<_>>());
        let n_bytes: i128 = (0..n_rows).map(row).sum();
        if n_bytes <= MAX_BYTES {
            return Ok(());
        }
        let asked = format_bytes(usize::try_from(n_bytes).unwrap_or(usize::MAX));
        let most = format_bytes(MAX_BYTES as usize);
        let name = self.inner.name();
        Err(Error::Data(format!("{name}: its results for {n_rows} rows would take {asked}; the most is {most}")).into())
    }
}

fn is_scalar(arg: &ColumnarValue) -> bool {
    matches!(arg, ColumnarValue::Scalar(_))
}

/// Numbers as they are, of texts and lists the length, of a null nothing; `None` for dates and times.
fn numbers(array: &ArrayRef) -> Result<Option<Vec<i128>>> {
    let text_bytes = |text: Option<&str>| text.map_or(0, str::len) as i128;
    Ok(Some(match array.data_type() {
        data_type if data_type.is_temporal() => return Ok(None),
        DataType::Utf8 => array.as_string::<i32>().iter().map(text_bytes).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(text_bytes).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(text_bytes).collect(),
        data_type if data_type.is_integer() => {
            let numbers = cast(array, &DataType::Int64)?;
            numbers.as_primitive::<Int64Type>().iter().map(|number| i128::from(number.unwrap_or(0))).collect()
        }
        _ => vec![ITEM_BYTES; array.len()],
    }))
}

impl ScalarUDFImpl for BoundedResult {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.check(&args)?;
        self.inner.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
