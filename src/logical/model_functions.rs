//! An operator that holds a model as a DataFusion function, and its calls in a plan.
//!
//! A call is opened when its type is first asked for, while the query is bound, so that a file that is missing or wrong is a mistake
//! at the call; it is opened again only when one of its files has changed.
//! In a plan, `BatchModels` takes the calls out of expressions and has them run on large batches. What it cannot take out (a
//! constant call, the condition of a join) is computed here, on the batches that come.

use super::functions::{all_constant, checked, coerced, documentation, not_constant, option_value, signature};
use crate::models::{self, ModelKey, Prepared};
use crate::ops::{Args, Cpu, Model, ModelSetting, OpSpec, Value};
use crate::{Error, bug};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether a function is an operator that holds a model.
pub fn is_model(function: &ScalarUDF) -> bool {
    function.inner().is::<ModelFunction>()
}

/// The operator with its constants, and what they open. `None` if the expression is no call of a model.
pub fn model_of(expr: &Expr) -> Option<(String, Arc<dyn Model>)> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let function = call.func.inner().downcast_ref::<ModelFunction>()?;
    let constants = call.args.iter().skip(function.spec.n_columns()).map(|arg| match arg {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    });
    let args = function.options(&constants.collect::<Option<Vec<_>>>()?).ok()?;
    Some((written(&function.spec, &args), function.opened(&args).ok()?))
}

/// A call of a model in a physical plan.
#[derive(Debug, Clone)]
pub struct ModelCall {
    /// The operator.
    pub spec: Arc<OpSpec>,
    /// Its constants.
    pub args: Arc<Args>,
    /// The expressions that give its columns.
    pub columns: Vec<Arc<dyn PhysicalExpr>>,
    /// What it opens.
    pub model: Arc<dyn Model>,
}

impl ModelCall {
    /// The call that `expr` is, if it is one of a model.
    pub fn of(expr: &dyn PhysicalExpr) -> Option<Self> {
        let call = ScalarFunctionExpr::try_downcast_func::<ModelFunction>(expr)?;
        let function = call.fun().inner().downcast_ref::<ModelFunction>()?;
        let (columns, constants) = call.args().split_at_checked(function.spec.n_columns())?;
        let constants = constants.iter().map(|option| option.downcast_ref::<Literal>().map(Literal::value));
        let args = function.options(&constants.collect::<Option<Vec<_>>>()?).ok()?;
        let model = function.opened(&args).ok()?;
        Some(Self { spec: Arc::clone(&function.spec), args: Arc::new(args), columns: columns.to_vec(), model })
    }

    /// The operator with its constants, as they tell its results apart.
    pub fn written(&self) -> String {
        written(&self.spec, &self.args)
    }
}

/// Whether an expression is a call of a model.
pub fn is_model_call(expr: &Arc<dyn PhysicalExpr>) -> bool {
    ScalarFunctionExpr::try_downcast_func::<ModelFunction>(expr.as_ref()).is_some()
}

fn written(spec: &OpSpec, args: &Args) -> String {
    let values: Vec<String> = args.values().iter().map(Value::to_string).collect();
    format!("{}({})", spec.name, values.join(", "))
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct ModelFunction {
    spec: Arc<OpSpec>,
    signature: Signature,
    documentation: Documentation,
    /// The models that were opened, by the constants of their calls.
    opened: Mutex<HashMap<String, Arc<dyn Model>>>,
    /// Those that were prepared to compute something here.
    prepared: Mutex<HashMap<String, Prepared>>,
}

impl PartialEq for ModelFunction {
    fn eq(&self, other: &Self) -> bool {
        self.spec.name == other.spec.name
    }
}

impl Eq for ModelFunction {}

impl Hash for ModelFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.spec.name.hash(state);
    }
}

impl ModelFunction {
    pub fn new(spec: Arc<OpSpec>) -> Self {
        Self {
            signature: signature(&spec),
            documentation: documentation(&spec),
            spec,
            opened: Mutex::default(),
            prepared: Mutex::default(),
        }
    }

    /// The constants of a call.
    fn options(&self, constants: &[&ScalarValue]) -> Result<Args, Error> {
        let values = self.spec.options().iter().zip(constants).map(|(param, constant)| {
            option_value(param, constant).map_err(|why| Error::Data(format!("`{}`: {why}", self.spec.name)))
        });
        Args::new(&self.spec, values.collect::<Result<_, Error>>()?)
    }

    /// What these constants lead to.
    fn opened(&self, args: &Args) -> Result<Arc<dyn Model>, Error> {
        let key = written(&self.spec, args);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened.get(&key).filter(|model| model.files().iter().all(|file| file.is_unchanged())) {
            return Ok(Arc::clone(model));
        }
        let Cpu::Model(code) = &self.spec.cpu else { return Err(bug!("`{}` holds no model", self.spec.name)) };
        let model = (code.open)(args)?;
        opened.insert(key, Arc::clone(&model));
        Ok(model)
    }

    /// The values of a call that nobody took out of its expression.
    fn compute(&self, args: &Args, columns: &[ArrayRef]) -> Result<ArrayRef, Error> {
        let key = written(&self.spec, args);
        let group = [self.opened(args)?];
        let rows = models::model_rows(columns, None)?;
        if rows.rows().is_empty() {
            return Ok(arrow::array::new_null_array(&group[0].returns(), columns.first().map_or(0, |c| c.len())));
        }
        let known = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let prepared = match known {
            Some(prepared) => prepared,
            None => {
                let shared = ModelKey::new(std::slice::from_ref(&key), &group, &ModelSetting::default());
                let prepared = models::prepared(&shared, &group)?;
                self.prepared.lock().unwrap_or_else(PoisonError::into_inner).insert(key, prepared.clone());
                prepared
            }
        };
        let mut computed = models::compute(prepared.model(), &group, &rows)?;
        if let Some((_, reason)) = computed.rejected.first() {
            return Err(Error::Data(format!(
                "`{}` cannot take a row: {reason}\nhere it cannot be set aside: compute the value in an EXTEND before",
                self.spec.name
            )));
        }
        computed.columns.pop().ok_or_else(|| bug!("one model gives one column"))
    }
}

impl ScalarUDFImpl for ModelFunction {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of `{}` is known when its model is opened", self.spec.name)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(coerced(&self.spec, arg_types))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let spec = &self.spec;
        checked(spec, &args)?;
        let constants = spec.params.iter().zip(args.scalar_arguments).skip(spec.n_columns());
        let mut values = vec![];
        for (param, constant) in constants {
            let Some(constant) = constant else {
                return plan_err!(
                    "`{}`: `{}` decides what is opened; write it as a constant or a $parameter",
                    spec.name,
                    param.name
                );
            };
            values.push(*constant);
        }
        let opened = self.options(&values).and_then(|args| self.opened(&args));
        match opened {
            Ok(model) => Ok(Arc::new(Field::new(spec.name, model.returns(), true))),
            Err(error @ (Error::Bug(_) | Error::Interrupted)) => Err(error.into()),
            Err(error) => plan_err!("`{}`: {error}", spec.name),
        }
    }

    /// Changes nothing; it is the one place where the planner shows us the argument expressions.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        all_constant(&self.spec, &args)?;
        Ok(ExprSimplifyResult::Original(args))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let n_columns = self.spec.n_columns();
        let is_constant = call.args.iter().take(n_columns).all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let n_rows = if is_constant { 1 } else { call.number_rows };
        let (mut columns, mut constants) = (vec![], vec![]);
        for (position, arg) in call.args.into_iter().enumerate() {
            match (arg, self.spec.params.get(position)) {
                (column, _) if position < n_columns => columns.push(column.into_array(n_rows)?),
                (ColumnarValue::Scalar(value), _) => constants.push(value),
                (_, Some(param)) => return not_constant(&self.spec, param.name),
                _ => return internal_err!("`{}` was called with too many arguments", self.spec.name),
            }
        }
        let args = self.options(&constants.iter().collect::<Vec<_>>())?;
        let values = self.compute(&args, &columns)?;
        match is_constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?)),
            false => Ok(ColumnarValue::Array(values)),
        }
    }
}
