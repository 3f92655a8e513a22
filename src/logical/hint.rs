//! Where operators are to run and what they may use: `ON GPU WITH (gpus = 0.25)` after a verb, and in SQL
//! `on_gpu(words(text), 'gpus = 0.25')`.
//!
//! Both put a marking function around calls of operators: it gives back its first argument, and no rule of the optimizer
//! looks into it. The executor's builder takes it off and keeps the [`Hint`].

use super::Binder;
use super::catalog::option_error;
use super::functions::is_operator;
use super::model_functions::is_model;
use super::verbs::Bound;
use crate::config::{DeviceChoice, SettingError, parse_bytes};
use crate::diag::{Code, did_you_mean};
use crate::syntax::ast;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::sync::{Arc, LazyLock};

/// What a query says about where operators run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Hint {
    /// The side; [`DeviceChoice::Auto`] leaves it open.
    pub device: DeviceChoice,
    /// What they may use.
    pub resources: Resources,
}

/// What operators may use of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Resources {
    /// Cores that a batch takes while the CPU works on it.
    pub cpus: Option<f64>,
    /// The part of a GPU that a batch holds while it is under way.
    pub gpus: Option<f64>,
    /// Device memory that all batches under way may take together.
    pub gpu_memory_bytes: Option<u64>,
    /// Rows in a batch.
    pub batch_size: Option<u64>,
}

/// The names of the options, with what they take.
const OPTIONS: [&str; 4] = ["gpus", "gpu_memory", "cpus", "batch_size"];

fn share(value: &str, most: f64) -> Result<f64, String> {
    match value.parse() {
        Ok(share) if share > 0.0 && share <= most => Ok(share),
        _ => Err(format!("`{value}` is not a number above 0 and up to {most}")),
    }
}

/// The part of a GPU that something holds: at most all of it.
pub fn gpu_share(value: &str) -> Result<f64, String> {
    share(value, 1.0)
}

impl Resources {
    /// Sets one option.
    fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        match name {
            "gpus" => self.gpus = Some(gpu_share(value).map_err(SettingError::Value)?),
            "cpus" => self.cpus = Some(share(value, 4096.0).map_err(SettingError::Value)?),
            "gpu_memory" => self.gpu_memory_bytes = Some(parse_bytes(value).map_err(SettingError::Value)? as u64),
            "batch_size" => match value.parse() {
                Ok(n_rows) if n_rows > 0 => self.batch_size = Some(n_rows),
                _ => return Err(SettingError::Value(format!("`{value}` is not a positive whole number"))),
            },
            _ => return Err(SettingError::Unknown { help: did_you_mean(name, OPTIONS) }),
        }
        Ok(())
    }

    /// As options: `gpus = 0.25, batch_size = 64`.
    fn text(&self) -> String {
        let mut options = vec![];
        options.extend(self.gpus.map(|share| format!("gpus = {share}")));
        options.extend(self.gpu_memory_bytes.map(|bytes| format!("gpu_memory = {bytes}")));
        options.extend(self.cpus.map(|cpus| format!("cpus = {cpus}")));
        options.extend(self.batch_size.map(|n_rows| format!("batch_size = {n_rows}")));
        options.join(", ")
    }

    /// Both; of two values the narrower.
    pub fn and(self, other: Resources) -> Resources {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        let most = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        Resources {
            cpus: most(self.cpus, other.cpus),
            gpus: most(self.gpus, other.gpus),
            gpu_memory_bytes: least(self.gpu_memory_bytes, other.gpu_memory_bytes),
            batch_size: least(self.batch_size, other.batch_size),
        }
    }

    /// Batches that may be on one device at a time, if so many are wanted.
    pub fn batches_on_device(&self, wanted: u32) -> u32 {
        let share = self.gpus.map_or(wanted, |gpus| (1.0 / gpus) as u32);
        wanted.min(share).max(1)
    }

    /// Batches that `threads` may work on at a time on the CPU.
    pub fn batches_on_cpu(&self, threads: usize) -> usize {
        self.cpus.map_or(threads, |cpus| (threads as f64 / cpus) as usize).clamp(1, threads.max(1))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut resources = Self::default();
        for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').ok_or(format!("`{option}`: write name = value"))?;
            resources.set(name.trim(), value.trim()).map_err(|refused| match refused {
                SettingError::Value(message) => format!("option `{}`: {message}", name.trim()),
                SettingError::Unknown { help } => {
                    let help = help.unwrap_or_else(|| format!("the options are {}", OPTIONS.join(", ")));
                    format!("no option `{}`; {help}", name.trim())
                }
            })?;
        }
        Ok(resources)
    }
}

/// The marking functions, for a session.
pub fn hint_udfs() -> impl Iterator<Item = Arc<ScalarUDF>> {
    FUNCTIONS.iter().cloned()
}

/// Whether a function is a mark.
pub fn is_hint(function: &ScalarUDF) -> bool {
    function.inner().is::<HintFunction>()
}

static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 3]> = LazyLock::new(|| {
    [DeviceChoice::Gpu, DeviceChoice::Cpu, DeviceChoice::Auto].map(|device| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(HintFunction { device, signature }))
    })
});

/// An expression without its mark, and what the mark says.
pub fn unhinted(expr: &Arc<dyn PhysicalExpr>) -> Option<(Arc<dyn PhysicalExpr>, Hint)> {
    let call = ScalarFunctionExpr::try_downcast_func::<HintFunction>(expr.as_ref())?;
    let device = call.fun().inner().downcast_ref::<HintFunction>()?.device;
    let (inner, options) = call.args().split_first()?;
    let text = options.first().and_then(|option| option.downcast_ref::<Literal>()).map(Literal::value);
    let resources = text.and_then(|text| text.try_as_str().flatten()).unwrap_or_default();
    let resources = Resources::parse(resources).unwrap_or_default();
    Some((Arc::clone(inner), Hint { device, resources }))
}

/// `on_gpu(x)`, `on_cpu(x)`, `with_resources(x, 'options')`: x.
#[derive(Debug, PartialEq, Eq, Hash)]
struct HintFunction {
    device: DeviceChoice,
    signature: Signature,
}

impl ScalarUDFImpl for HintFunction {
    fn name(&self) -> &str {
        match self.device {
            DeviceChoice::Gpu => "on_gpu",
            DeviceChoice::Cpu => "on_cpu",
            DeviceChoice::Auto => "with_resources",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        arg_types.first().cloned().ok_or_else(|| crate::bug!("a mark without an expression").into())
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [_] | [_, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View] => Ok(arg_types.to_vec()),
            _ => plan_err!("`{}` takes an expression, and options as a text: 'gpus = 0.25'", self.name()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.scalar_arguments.get(1).copied() {
            Some(Some(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)))) => {
                if let Err(message) = Resources::parse(text) {
                    return plan_err!("`{}`: {message}", self.name());
                }
            }
            Some(_) => return plan_err!("the options of `{}` must be a constant text", self.name()),
            None => {}
        }
        args.arg_fields.first().cloned().ok_or_else(|| crate::bug!("a mark without an expression").into())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.into_iter().next().ok_or_else(|| crate::bug!("a mark without an expression").into())
    }
}

impl Binder<'_> {
    /// Marks the operators of the nodes that a verb put on top of `n_below` nodes.
    pub(super) fn hinted(&self, plan: LogicalPlan, n_below: usize, hint: &ast::Hint) -> Bound<LogicalPlan> {
        let mut resources = Resources::default();
        let mut problems = vec![];
        for option in &hint.options {
            let value = self.option_text(option)?;
            if let Err(refused) = resources.set(&option.name.text, &value) {
                let span = if matches!(refused, SettingError::Value(_)) { option.value_span } else { option.name.span };
                problems.push(option_error(self.error(Code::OptionValue, "", span), &option.name.text, refused));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let function = match hint.device {
            Some(ast::HintDevice::Gpu) => &FUNCTIONS[0],
            Some(ast::HintDevice::Cpu) => &FUNCTIONS[1],
            None => &FUNCTIONS[2],
        };
        let text = resources.text();
        let mark = |expr: Expr| {
            let marked = expr.transform_up(|part| match &part {
                Expr::ScalarFunction(call) if is_operator(&call.func) || is_model(&call.func) => {
                    let mut args = vec![part];
                    args.extend((!text.is_empty()).then(|| lit(text.clone())));
                    Ok(Transformed::yes(function.call(args)))
                }
                _ => Ok(Transformed::no(part)),
            })?;
            Ok::<_, datafusion::error::DataFusionError>(marked)
        };
        let mut n_left = depth(&plan).saturating_sub(n_below);
        let marked = plan.transform_down(|node| {
            if n_left == 0 || node.inputs().len() > 1 {
                return Ok(Transformed::new(node, false, TreeNodeRecursion::Stop));
            }
            n_left -= 1;
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(mark(expr)?.update_data(|expr| name.restore(expr)))
            })
        });
        marked.map(|marked| marked.data).map_err(|error| self.blame().explain(error, hint.span))
    }
}

/// How many nodes are on the way down a plan's first inputs.
pub(super) fn depth(plan: &LogicalPlan) -> usize {
    1 + plan.inputs().first().map_or(0, |input| depth(input))
}
