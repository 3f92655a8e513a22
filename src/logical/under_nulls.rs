//! Functions that do not see what lies under a null.
//!
//! A null struct, list or map may hold values: Arrow says only that nobody looks at them. They are there after a CASE, and
//! in files that pyarrow and Hugging Face datasets write. Some functions of DataFusion look at them, so those here take
//! their place; `optimizer::NothingUnderNulls` puts them into plans.
//!
//! Invariant: a field of a null is null, and a null list has no items. Names, types and messages are those of DataFusion.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, OffsetSizeTrait, StructArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{nullif, take};
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExpressionPlacement, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use std::sync::{Arc, LazyLock};

static GET_FIELD: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(GetField { inner: GetFieldFunc::new() })));
static DATAFUSIONS: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(GetFieldFunc::new())));
static NULL_FIELDS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(NullFields { signature }))
});

/// The functions of lists and maps that look under nulls.
const LOOK_UNDER_NULLS: [&str; 4] = ["array_append", "array_prepend", "array_repeat", "map_extract"];

/// The expression with our functions wherever it has those of DataFusion that look under nulls.
pub fn minding_nulls(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::ScalarFunction(mut call) if call.func.inner().is::<GetFieldFunc>() => {
            call.func = Arc::clone(&GET_FIELD);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        Expr::ScalarFunction(mut call) if looks_under_nulls(&call.func) => {
            call.func = Arc::new(ScalarUDF::new_from_impl(OfNullLists { inner: call.func }));
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        other => Ok(Transformed::no(other)),
    })
}

fn looks_under_nulls(func: &ScalarUDF) -> bool {
    LOOK_UNDER_NULLS.contains(&func.name()) && !func.inner().is::<OfNullLists>()
}

/// The struct with nulls in every field where it is null itself.
pub fn null_fields(of: Expr) -> Expr {
    NULL_FIELDS.call(vec![of])
}

/// Whether an expression is one that [`null_fields`] made, under a name.
pub fn has_null_fields(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => has_null_fields(&alias.expr),
        Expr::ScalarFunction(call) => call.func == *NULL_FIELDS,
        _ => false,
    }
}

/// The field, null where `parent` is.
fn under_nulls(field: &ArrayRef, parent: &dyn Array) -> Result<ArrayRef> {
    let Some(nulls) = parent.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(Arc::clone(field));
    };
    // The first has no other values, the other two have no room for a null of their own.
    if matches!(field.data_type(), DataType::Null | DataType::Union(..) | DataType::RunEndEncoded(..)) {
        return Ok(Arc::clone(field));
    }
    if field.nulls().is_some_and(|own| own.contains(&nulls)) {
        return Ok(Arc::clone(field));
    }
    Ok(nullif(field, &BooleanArray::new(!nulls.inner(), None))?)
}

/// `get_field(struct, 'name', …)`: what `a.b` and `a['b']` mean.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct GetField {
    inner: GetFieldFunc,
}

impl ScalarUDFImpl for GetField {
    fn name(&self) -> &str {
        self.inner.name()
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

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ScalarFunctionArgs { args, arg_fields, number_rows, return_field, config_options } = args;
        let mut args = args.into_iter();
        let Some(mut current) = args.next() else { return internal_err!("get_field without arguments") };
        // One step at a time, because each has nulls of its own.
        for name in args {
            let parent = Arc::clone(&ColumnarValue::values_to_arrays(std::slice::from_ref(&current))?[0]);
            let step = ScalarFunctionArgs {
                args: vec![current, name],
                arg_fields: arg_fields.clone(),
                number_rows,
                return_field: Arc::clone(&return_field),
                config_options: Arc::clone(&config_options),
            };
            current = match self.inner.invoke_with_args(step)? {
                ColumnarValue::Array(field) => ColumnarValue::Array(under_nulls(&field, &parent)?),
                // The field of a column without a type.
                scalar => return Ok(scalar),
            };
        }
        Ok(current)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let mut theirs = args.clone();
        if let Some(of) = theirs.first_mut() {
            *of = with_datafusions(std::mem::take(of))?.data;
        }
        match self.inner.simplify(theirs, info)? {
            ExprSimplifyResult::Simplified(expr) => Ok(ExprSimplifyResult::Simplified(minding_nulls(expr)?.data)),
            ExprSimplifyResult::Original(_) => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.inner.placement(args)
    }
}

/// The expression with DataFusion's `get_field` for ours, which it knows how to simplify.
fn with_datafusions(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::ScalarFunction(mut call) if call.func.inner().is::<GetField>() => {
            call.func = Arc::clone(&DATAFUSIONS);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// A function of DataFusion that gets lists and maps without items under their nulls.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfNullLists {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for OfNullLists {
    fn name(&self) -> &str {
        self.inner.name()
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

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for arg in &mut args.args {
            if let ColumnarValue::Array(array) = arg {
                *array = without_hidden_items(array)?;
            }
        }
        self.inner.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

fn without_hidden_items(array: &ArrayRef) -> Result<ArrayRef> {
    let has_hidden = match array.data_type() {
        DataType::List(_) => has_hidden_items(array, array.as_list::<i32>().offsets()),
        DataType::LargeList(_) => has_hidden_items(array, array.as_list::<i64>().offsets()),
        DataType::Map(..) => has_hidden_items(array, array.as_map().offsets()),
        _ => false,
    };
    match has_hidden {
        // Taking a null takes nothing along.
        true => Ok(take(array, &UInt64Array::from_iter_values(0..array.len() as u64), None)?),
        false => Ok(Arc::clone(array)),
    }
}

fn has_hidden_items<O: OffsetSizeTrait>(array: &ArrayRef, offsets: &OffsetBuffer<O>) -> bool {
    let is_hidden = |row: usize| array.is_null(row) && offsets[row] != offsets[row + 1];
    array.null_count() > 0 && (0..array.len()).any(is_hidden)
}

/// `null_fields(struct)`: the struct, with nulls under its nulls.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NullFields {
    signature: Signature,
}

impl ScalarUDFImpl for NullFields {
    fn name(&self) -> &str {
        "null_fields"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [DataType::Struct(fields)] => Ok(DataType::Struct(nullable(fields))),
            _ => internal_err!("null_fields takes a struct"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [array] = arrays.as_slice() else { return internal_err!("null_fields takes a struct") };
        let Some(of) = array.as_struct_opt() else { return internal_err!("null_fields takes a struct") };
        let columns = of.columns().iter().map(|field| under_nulls(field, of)).collect::<Result<_>>()?;
        let made = StructArray::try_new(nullable(of.fields()), columns, of.nulls().cloned())?;
        Ok(ColumnarValue::Array(Arc::new(made)))
    }
}

fn nullable(fields: &Fields) -> Fields {
    fields.iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true))).collect()
}
