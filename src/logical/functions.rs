//! An operator as a DataFusion function, and what all operators' functions have in common.
//!
//! The binder puts options in order and leaves defaults off at the end, as any DataFusion context may. A call that does
//! not fit is a plan error that names the parameter: raised in `return_field_from_args`, because DataFusion wraps what
//! `coerce_types` says.
//!
//! Invariant: a function is known by its name; a session has one operator of a name.
//! Not here: what operators are and how they compute (`ops`), and the functions of those that hold a model
//! (`model_functions.rs`).

use super::model_functions::ModelFunction;
use crate::Error;
use crate::ops::{Args, Cpu, OpSpec, Param, ParamType, Value, evaluate};
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, DocSection, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The SQL function of an operator.
pub fn scalar_udf(spec: Arc<OpSpec>) -> ScalarUDF {
    match &spec.cpu {
        Cpu::Model(_) => ScalarUDF::new_from_impl(ModelFunction::new(spec)),
        _ => ScalarUDF::new_from_impl(OperatorFunction::new(spec)),
    }
}

/// Whether a function is an operator of ours.
pub fn is_operator(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<OperatorFunction>().is_some()
}

/// A call of an operator in a physical plan, its options bound.
#[derive(Debug, Clone)]
pub struct OperatorCall {
    /// The operator.
    pub spec: Arc<OpSpec>,
    /// Its options.
    pub args: Arc<Args>,
    /// The expression that gives the document.
    pub document: Arc<dyn PhysicalExpr>,
}

impl OperatorCall {
    /// The call that `expr` is, if it is one whose options are constants.
    pub fn of(expr: &dyn PhysicalExpr) -> Option<Self> {
        let call = ScalarFunctionExpr::try_downcast_func::<OperatorFunction>(expr)?;
        let function = call.fun().inner().downcast_ref::<OperatorFunction>()?;
        let (document, options) = call.args().split_first()?;
        let spec = Arc::clone(&function.spec);
        let values = spec.options().iter().zip(options).map(|(param, option)| {
            let constant = option.downcast_ref::<Literal>()?;
            option_value(param, constant.value()).ok()
        });
        let args = Args::new(&spec, values.collect::<Option<Vec<_>>>()?).ok()?;
        Some(Self { spec, args: Arc::new(args), document: Arc::clone(document) })
    }
}

#[derive(Debug)]
struct OperatorFunction {
    spec: Arc<OpSpec>,
    signature: Signature,
    documentation: Documentation,
}

impl PartialEq for OperatorFunction {
    fn eq(&self, other: &Self) -> bool {
        self.spec.name == other.spec.name
    }
}

impl Eq for OperatorFunction {}

impl Hash for OperatorFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.spec.name.hash(state);
    }
}

impl OperatorFunction {
    fn new(spec: Arc<OpSpec>) -> Self {
        Self { signature: signature(&spec), documentation: documentation(&spec), spec }
    }
}

/// The parameters by their names; types are checked by [`checked`].
pub(super) fn signature(spec: &OpSpec) -> Signature {
    let volatility = if spec.effects.is_movable() { Volatility::Immutable } else { Volatility::Volatile };
    let mut signature = Signature::user_defined(volatility);
    signature.parameter_names = Some(spec.params.iter().map(|param| param.name.to_string()).collect());
    signature
}

/// What DataFusion shows of it.
pub(super) fn documentation(spec: &OpSpec) -> Documentation {
    let section = DocSection { include: true, label: spec.family.as_str(), description: None };
    let begun = Documentation::builder(section, spec.summary, spec.signature());
    spec.params.iter().fold(begun, |documentation, param| documentation.with_argument(param.name, param.doc)).build()
}

/// The types that arguments are cast to. Those that cannot be cast stay as they are; [`checked`] refuses them in plain words.
pub(super) fn coerced(spec: &OpSpec, arg_types: &[DataType]) -> Vec<DataType> {
    let mut params = spec.params.iter();
    let types = arg_types.iter().enumerate().map(|(position, given)| {
        let coerced = params.next().and_then(|param| coerced_type(param.ty, given, position < spec.n_columns()));
        coerced.unwrap_or_else(|| given.clone())
    });
    types.collect()
}

/// Refuses a call whose arguments do not fit, and says why.
pub(super) fn checked(spec: &OpSpec, args: &ReturnFieldArgs) -> Result<()> {
    if let Err(problem) = spec.bind_arguments(args.arg_fields.len(), &[]) {
        return plan_err!("{}; {}", problem.message, problem.help);
    }
    for (position, (param, field)) in spec.params.iter().zip(args.arg_fields).enumerate() {
        let (name, given, is_column) = (spec.name, field.data_type(), position < spec.n_columns());
        if coerced_type(param.ty, given, is_column).is_none() {
            let wanted = param.ty;
            return if is_column && wanted == ParamType::Text {
                plan_err!("`{name}` reads text, and `{}` is {given}; write CAST(… AS VARCHAR) to read it", param.name)
            } else {
                plan_err!("`{name}`: `{}` is {wanted}, not a value of type {given}", param.name)
            };
        }
        let constant = args.scalar_arguments.get(position).copied().flatten();
        if !is_column
            && let Some(constant) = constant
            && let Err(why) = option_value(param, constant)
        {
            return plan_err!("`{name}`: {why}");
        }
    }
    Ok(())
}

/// Refuses options that differ from row to row.
pub(super) fn all_constant(spec: &OpSpec, args: &[Expr]) -> Result<()> {
    for (param, arg) in spec.params.iter().zip(args).skip(spec.n_columns()) {
        if !arg.column_refs().is_empty() || arg.is_volatile() {
            return not_constant(spec, param.name);
        }
    }
    Ok(())
}

impl ScalarUDFImpl for OperatorFunction {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.spec.returns.data_type())
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(coerced(&self.spec, arg_types))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        checked(&self.spec, &args)?;
        Ok(Arc::new(Field::new(self.spec.name, self.spec.returns.data_type(), true)))
    }

    /// Changes nothing; it is the one place where the planner shows us the argument expressions.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        all_constant(&self.spec, &args)?;
        Ok(ExprSimplifyResult::Original(args))
    }

    fn is_strict(&self) -> bool {
        self.spec.effects.null_to_null
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let spec = &self.spec;
        let mut given = call.args.into_iter();
        let Some(documents) = given.next() else {
            return plan_err!("`{}` was called without its document", spec.name);
        };
        let mut options = Vec::with_capacity(spec.options().len());
        for (param, value) in spec.options().iter().zip(given) {
            let ColumnarValue::Scalar(value) = value else { return not_constant(spec, param.name) };
            let value = option_value(param, &value).map_err(|why| Error::Data(format!("`{}`: {why}", spec.name)))?;
            options.push(value);
        }
        let args = Args::new(spec, options)?;
        match documents {
            ColumnarValue::Array(documents) => Ok(ColumnarValue::Array(evaluate(spec, &documents, &args)?)),
            // A constant document is computed once, unless each row must get its own value.
            ColumnarValue::Scalar(document) if spec.effects.is_movable() => {
                let result = evaluate(spec, &document.to_array()?, &args)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?))
            }
            ColumnarValue::Scalar(document) => {
                let documents = document.to_array_of_size(call.number_rows)?;
                Ok(ColumnarValue::Array(evaluate(spec, &documents, &args)?))
            }
        }
    }
}

pub(super) fn not_constant<T>(spec: &OpSpec, param: &str) -> Result<T> {
    plan_err!("`{}`: `{param}` must be a constant, the same for every row", spec.name)
}

/// The type that an argument of type `given` is cast to; `None` if it does not fit the parameter.
fn coerced_type(wanted: ParamType, given: &DataType, is_column: bool) -> Option<DataType> {
    let is_text = |ty: &DataType| matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match (wanted, given) {
        // Documents keep their layout: casting a column would copy the corpus.
        (ParamType::Text, text) if is_column && is_text(text) => Some(text.clone()),
        (ParamType::Vector, DataType::Null) => Some(DataType::new_list(DataType::Float32, true)),
        (ParamType::Vector, list) => match list {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                item.data_type().is_numeric().then(|| list.clone())
            }
            _ => None,
        },
        (ParamType::Text | ParamType::Choice(_), DataType::Null) => Some(DataType::Utf8),
        (ParamType::Text | ParamType::Choice(_), DataType::Dictionary(_, text)) if is_text(text) => {
            Some(DataType::Utf8)
        }
        (ParamType::Text | ParamType::Choice(_), text) => is_text(text).then_some(DataType::Utf8),
        (ParamType::Int { .. }, ty) => (ty.is_integer() || ty.is_null()).then_some(DataType::Int64),
        (ParamType::Float { .. }, ty) => (ty.is_numeric() || ty.is_null()).then_some(DataType::Float64),
        (ParamType::Bool, ty) => (ty.is_null() || *ty == DataType::Boolean).then_some(DataType::Boolean),
        (ParamType::TextList | ParamType::ChoiceList(_), ty) => {
            let texts = DataType::new_list(DataType::Utf8, true);
            match ty {
                DataType::Null => Some(texts),
                DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                    (is_text(item.data_type()) || item.data_type().is_null()).then_some(texts)
                }
                _ => None,
            }
        }
    }
}

/// A constant of the plan as a value that the option takes.
pub(super) fn option_value(param: &Param, constant: &ScalarValue) -> Result<Value, String> {
    if constant.is_null() {
        return Err(format!("`{}` may not be NULL", param.name));
    }
    let value = match constant {
        ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => {
            Some(Value::Text(text.clone()))
        }
        ScalarValue::Boolean(Some(b)) => Some(Value::Bool(*b)),
        ScalarValue::List(list) => texts_of(&list.value(0)).map(Value::TextList),
        number if number.data_type().is_integer() => match number.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(n))) => Some(Value::Int(n)),
            _ => None,
        },
        number if number.data_type().is_numeric() => match number.cast_to(&DataType::Float64) {
            Ok(ScalarValue::Float64(Some(n))) => Some(Value::Float(n)),
            _ => None,
        },
        _ => None,
    };
    match value {
        Some(value) => param.accept(value),
        None => Err(format!("`{}` is {}, not {constant}", param.name, param.ty)),
    }
}

/// The texts of a list; `None` if one of them is null or not a text.
fn texts_of(items: &ArrayRef) -> Option<Vec<String>> {
    let items = arrow::compute::cast(items, &DataType::Utf8).ok()?;
    items.as_string::<i32>().iter().map(|text| text.map(str::to_string)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ops::Registry;
    use datafusion::prelude::SessionContext;

    fn context() -> SessionContext {
        let context = SessionContext::new();
        for spec in Registry::builtin().iter() {
            context.register_udf(scalar_udf(Arc::clone(spec)));
        }
        context
    }

    /// The first value of a query.
    async fn value(context: &SessionContext, query: &str) -> Result<String> {
        let batches = context.sql(query).await?.collect().await?;
        Ok(ScalarValue::try_from_array(batches[0].column(0), 0)?.to_string())
    }

    #[tokio::test]
    async fn columns_of_any_text_type_are_read() {
        let context = context();
        for ty in ["Utf8", "LargeUtf8", "Utf8View", "Dictionary(Int32, Utf8)"] {
            let query = format!(
                "SELECT sum(words(t)) FROM (SELECT arrow_cast(column1, '{ty}') AS t FROM (VALUES ('a b'), (NULL), ('c')))"
            );
            assert_eq!(value(&context, &query).await.unwrap(), "3", "{ty}");
        }
    }

    #[tokio::test]
    async fn options_may_be_any_constant_expression() {
        let context = context();
        assert_eq!(value(&context, "SELECT truncate_words('a b c', 1 + 1)").await.unwrap(), "a b");
        let query = "SELECT stop_words(t, ['a', 'b']) FROM (VALUES ('a b c')) AS v(t)";
        assert_eq!(value(&context, query).await.unwrap(), "2");
    }

    #[tokio::test]
    async fn calls_that_do_not_fit_name_the_parameter() {
        let context = context();
        let cases = [
            ("chars()", "`chars` needs `text`, the document; it is chars(text TEXT) -> BIGINT"),
            ("chars('a', 'b')", "`chars` takes 1 argument, not 2; it is chars(text TEXT) -> BIGINT"),
            ("words(7)", "`words` reads text, and `text` is Int64; write CAST(… AS VARCHAR) to read it"),
            ("truncate_words('a', -1)", "`truncate_words`: `max` is a whole number of at least 0, not -1"),
            ("truncate_words('a', NULL)", "`truncate_words`: `max` may not be NULL"),
            (
                "truncate_words('a', 'x')",
                "`truncate_words`: `max` is a whole number of at least 0, not a value of type Utf8",
            ),
            (
                "normalize_unicode('a', 'NFX')",
                "`normalize_unicode`: `form` is one of 'NFC', 'NFD', 'NFKC', 'NFKD', not 'NFX'",
            ),
            ("truncate_words(t, n)", "`truncate_words`: `max` must be a constant, the same for every row"),
        ];
        for (call, expected) in cases {
            let query = format!("SELECT {call} FROM (VALUES ('a b', 1), ('c', 2)) AS v(t, n)");
            let error = value(&context, &query).await.unwrap_err().strip_backtrace();
            assert!(error.ends_with(expected), "{call}\n  says   {expected}\n  really {error}");
        }
    }
}
