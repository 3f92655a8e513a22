//! `BatchModels`: calls of models leave the pass for a node of their own, which runs them on batches of the size that they ask for.
//!
//! ```text
//! AnnotateExec: id, score(text) AS s          ModelExec: id, score(text) AS s
//!   │ compute score(text)                       AnnotateExec: id, text
//!   │ words(text) >= 50                    ⇒      │ words(text) >= 50
//!   │ label(text) = 'news'                        │ label(text) = 'news'
//!                                                 ModelExec: label(text)
//!                                                   AnnotateExec: …
//! ```
//! The program of the pass has its rules in the order in which they cost least, so models come after all that is cheaper, wherever they
//! stand in the query. A model runs when the first rule reads it, and those that only the output reads after the last rule. Models that
//! share their work (`Model::share_key`) and read the same columns run when the first of them does.
//!
//! Sound because a piece hands on every column that a later one reads, and rows pass the pieces in order. Not optional: a row that a
//! model does not take can only be set aside by the node. Without `OnePass` it takes filters and projections one by one, with their
//! conditions as they are written.
//! Refuses expressions with lambdas, whose variables are numbered after the columns below; their models run in place.

use super::items::{Item, Order, items, wanted};
use super::one_pass::{Builder, has_model_call, resources};
use super::pieces::{GivenColumn, Pieces};
use crate::Error;
use crate::config::DeviceChoice;
use crate::cost::FunctionPrices;
use crate::exec::{AnnotateExec, AnnotateOptions, ModelExec, ModelOutput, Program};
use crate::logical::{Hint, ModelCall, Resources, is_model_call};
use crate::ops::{ModelDevice, ModelSetting};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CaseExpr, LambdaExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Gives models batches. See the module's text.
pub struct BatchModels {
    prices: FunctionPrices,
    batch_bytes: usize,
    setting: ModelSetting,
    require_gpu: bool,
}

impl BatchModels {
    /// A rule that asks `prices` what functions cost, lets models use what `setting` says, and with `require_gpu` refuses those that
    /// would run on the CPU.
    pub fn new(prices: FunctionPrices, batch_bytes: usize, setting: ModelSetting, require_gpu: bool) -> Self {
        Self { prices, batch_bytes, setting, require_gpu }
    }

    /// A filter or projection as a program of its own.
    fn alone(&self, node: &Arc<dyn ExecutionPlan>) -> Result<Option<AnnotateExec>> {
        let (mut calls, mut has_lambda) = (false, false);
        node.apply_expressions(&mut |expr: &Arc<dyn PhysicalExpr>| {
            calls |= has_model_call(expr)?;
            has_lambda |= expr.exists(|part| Ok(part.is::<LambdaExpr>()))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        let filter = node.downcast_ref::<FilterExec>();
        if !calls || has_lambda || (filter.is_none() && !node.is::<ProjectionExec>()) {
            return Ok(None);
        }
        let Some(&input) = node.children().first() else { return Ok(None) };
        let options = AnnotateOptions {
            batch_bytes: self.batch_bytes,
            fetch: filter.and_then(FilterExec::fetch),
            learn: false,
            ledger: false,
            resources: Resources::default(),
        };
        self.annotate(vec![Arc::clone(node)], input, options).map(Some)
    }

    fn annotate(
        &self,
        chain: Vec<Arc<dyn ExecutionPlan>>,
        input: &Arc<dyn ExecutionPlan>,
        options: AnnotateOptions,
    ) -> Result<AnnotateExec> {
        let mut builder = Builder::new(&self.prices, &input.schema(), options.learn);
        for node in chain.iter().rev() {
            builder.add(node.as_ref())?;
        }
        let Some(top) = chain.first() else { return Err(crate::bug!("a piece without nodes").into()) };
        let program = builder.finish(&top.schema(), options.learn)?;
        let options = AnnotateOptions { resources: resources(&program), ..options };
        AnnotateExec::try_new(Arc::new(program), chain, Arc::clone(input), options)
    }

    /// The pieces of a program before, between and after its models.
    fn cut(&self, annotate: &AnnotateExec) -> Result<Arc<dyn ExecutionPlan>> {
        let program = annotate.program();
        let options = annotate.options();
        let names: Vec<String> = annotate.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut pieces = Pieces::new(program, options.ledger);
        let mut plan = Arc::clone(annotate.input());
        let mut left = items(program, Order::AsPlanned, &|_| true);
        while let Some(Stage { before, models, later }) = next_stage(program, &left, &pieces)? {
            if !before.is_empty() {
                let models_and_later: Vec<Item> = models.iter().chain(&later).cloned().collect();
                let chain = pieces.next(&before, &models_and_later, &plan, None)?;
                plan = Arc::new(self.annotate(chain, &plan, AnnotateOptions { fetch: None, ..options })?);
            }
            let made: Vec<usize> = models.iter().flat_map(Item::makes).copied().collect();
            let is_last = later.is_empty() && options.fetch.is_none() && {
                let is_there = |column: usize| pieces.has(column) || made.contains(&column);
                program.outputs.iter().all(|output| output.as_column().is_some_and(is_there))
            };
            let given = pieces.with_models(&made, &later, is_last.then_some(&names[..]))?;
            plan = Arc::new(self.model_node(program, given, plan)?);
            if is_last {
                return Ok(plan);
            }
            left = later;
        }
        let chain = pieces.next(&left, &[], &plan, Some(&names[..]))?;
        Ok(Arc::new(self.annotate(chain, &plan, options)?))
    }

    fn model_node(
        &self,
        program: &Program,
        given: Vec<GivenColumn>,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<ModelExec> {
        let outputs = given.into_iter().map(|GivenColumn { expr, name, column }| {
            let slot = column.checked_sub(program.n_inputs);
            let label = slot.map_or_else(
                || program.schema.field(column).name().clone(),
                |slot| program.computed_labels[slot].clone(),
            );
            let hint = slot.and_then(|slot| program.hints[slot]).unwrap_or_default();
            ModelOutput { expr, name, label, setting: self.setting(hint) }
        });
        let node = ModelExec::try_new(outputs.collect(), input)?;
        let on_cpu = node.groups().iter().find(|group| group.facts().device == ModelDevice::Cpu);
        if let Some(group) = on_cpu.filter(|_| self.require_gpu) {
            let (label, why) = (group.label(), &group.facts().device_reason);
            let refused = format!("the run insists on a GPU, and `{label}` would run on the CPU: {why}");
            return Err(Error::Data(refused).into());
        }
        Ok(node)
    }

    /// What the query lets a call use.
    fn setting(&self, hint: Hint) -> ModelSetting {
        let device = if hint.device == DeviceChoice::Auto { self.setting.device } else { hint.device };
        let batch_rows = hint.resources.batch_size.map(|n_rows| usize::try_from(n_rows).unwrap_or(usize::MAX));
        ModelSetting { device, batch_rows: batch_rows.or(self.setting.batch_rows), ..self.setting.clone() }
    }
}

/// The next models to run, what comes before them, and what after.
struct Stage {
    before: Vec<Item>,
    models: Vec<Item>,
    later: Vec<Item>,
}

/// The models that come next: the first, and those that can run beside it. `None` if none is left.
fn next_stage(program: &Program, left: &[Item], pieces: &Pieces<'_>) -> Result<Option<Stage>> {
    let models: Vec<usize> = (0..left.len()).filter(|at| is_model(program, &left[*at])).collect();
    let Some(&first) = models.first() else { return Ok(None) };
    let is_made_by_model: BTreeSet<usize> =
        models.iter().flat_map(|at| left[*at].makes()).copied().filter(|column| !pieces.has(*column)).collect();
    let mut chosen: Vec<usize> = vec![];
    for &at in &models {
        let reads = needs(program, &left[at]);
        let waits = reads.iter().any(|column| is_made_by_model.contains(column));
        let passes_rule = left[first..at].iter().any(|item| matches!(item, Item::Rule(_)));
        // Past a rule only what costs nothing more: the work is shared, and its columns are there.
        let is_shared = || {
            let beside = chosen.iter().any(|other| share(program, &left[*other], &left[at]));
            beside && reads.iter().all(|column| pieces.has(*column))
        };
        if !waits && (!passes_rule || is_shared()) {
            chosen.push(at);
        }
    }
    let mut wanted_before: BTreeSet<usize> = BTreeSet::new();
    for (at, item) in left.iter().enumerate() {
        if chosen.contains(&at) || (at < first && matches!(item, Item::Rule(_))) {
            wanted_before.extend(needs(program, item));
        }
    }
    let mut stage = Stage { before: vec![], models: vec![], later: vec![] };
    for (at, item) in left.iter().enumerate() {
        let comes_before = match item {
            Item::Rule(_) => at < first,
            Item::Compute { columns, .. } => columns.iter().any(|column| wanted_before.contains(column)),
        };
        match (chosen.contains(&at), comes_before) {
            (true, _) => stage.models.push(item.clone()),
            (false, true) => stage.before.push(item.clone()),
            (false, false) => stage.later.push(item.clone()),
        }
    }
    Ok(Some(stage))
}

/// All computed columns that an item needs, also through others.
fn needs(program: &Program, item: &Item) -> BTreeSet<usize> {
    let own = item.makes();
    let reads: Vec<usize> = item.reads(program).into_iter().collect();
    wanted(program, &reads).into_iter().filter(|column| !own.contains(column)).collect()
}

/// Whether an item computes a model.
fn is_model(program: &Program, item: &Item) -> bool {
    call_of(program, item).is_some()
}

/// The call of a model that an item computes, which may be guarded.
fn call_of(program: &Program, item: &Item) -> Option<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)> {
    let Item::Compute { columns, .. } = item else { return None };
    let [column] = columns[..] else { return None };
    let expr = program.computed.get(column.checked_sub(program.n_inputs)?)?;
    if is_model_call(expr) {
        return Some((Arc::clone(expr), Arc::clone(expr)));
    }
    let [(when, call)] = expr.downcast_ref::<CaseExpr>()?.when_then_expr() else { return None };
    is_model_call(call).then(|| (Arc::clone(call), Arc::clone(when)))
}

/// Whether two models share their work on the same rows.
fn share(program: &Program, one: &Item, other: &Item) -> bool {
    let call = |item: &Item| {
        let (call, when) = call_of(program, item)?;
        let when = (!is_model_call(&when)).then_some(when);
        let call = ModelCall::of(call.as_ref())?;
        Some((call.model.share_key()?, call.columns, when))
    };
    call(one).is_some_and(|one| call(other) == Some(one))
}

impl fmt::Debug for BatchModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchModels").field("setting", &self.setting).finish_non_exhaustive()
    }
}

impl PhysicalOptimizerRule for BatchModels {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let done = plan.transform_up(|node| {
            let alone;
            let annotate = match node.downcast_ref::<AnnotateExec>() {
                Some(annotate) => annotate,
                None => match self.alone(&node)? {
                    Some(made) => {
                        alone = made;
                        &alone
                    }
                    None => return Ok(Transformed::no(node)),
                },
            };
            let mut all = items(annotate.program(), Order::AsPlanned, &|_| true).into_iter();
            if !all.any(|item| is_model(annotate.program(), &item)) {
                return Ok(Transformed::no(node));
            }
            let cut = self.cut(annotate)?;
            if cut.schema() != node.schema() {
                return Err(
                    crate::bug!("models changed the columns: {:?}, not {:?}", cut.schema(), node.schema()).into()
                );
            }
            Ok(Transformed::yes(cut))
        })?;
        Ok(done.data)
    }

    fn name(&self) -> &str {
        "BatchModels"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
