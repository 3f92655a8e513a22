//! `PlaceOperators`: puts operators on devices, and fuses those that stay there into one kernel.
//!
//! ```text
//! AnnotateExec: id, text                            AnnotateExec: id, text
//!   │ pass over text (scan): words(text), …           │ compression_ratio(text) < 3          no kernel computes it
//!   │ words(text) >= 50                        ⇒      ToBackendExec: cpu ← gpu
//!   │ alpha_ratio(text) > 0.8                           DeviceExec: words(text) >= 50 AND …   one kernel, one launch
//!   │ compression_ratio(text) < 3                         ToBackendExec: gpu ← cpu            text
//! ```
//! It takes the node that [`OnePass`](super::OnePass) made apart into items (`physical/items.rs`), has them placed at the least
//! estimated cost (`place`), and puts one node for each run of neighbours in its place (`physical/pieces.rs`), the devices' ones
//! between two transfers. Where rules may change places, it also looks at orders in which those that a device can
//! evaluate come first or last, and takes the cheapest.
//!
//! An aggregation directly above is one more item (`groups.rs`). The vectors of a semantic deduplication are placed the
//! same way; its node stays, and is told of the devices.
//!
//! Sound because a piece hands on every column that a later one reads, and rows pass the pieces in order.
//! Refuses programs whose rules run as written, one by one (volatile conditions), and leaves a node as it is where
//! nothing is gained.

mod estimate;
mod groups;

use super::device_program::DeviceProgram;
use super::hardware::{Found, Hardware};
use super::items::{self, Item, Order, items};
use super::one_pass::Builder;
use super::pieces::Pieces;
use super::place::{
    Column, Item as PlaceItem, OnGpu, Placement, Problem, Segment as PlacedSegment, Side, item_line, place,
};
use super::transfer::{Kernel, on_device};
use crate::config::DeviceChoice;
use crate::cost::{FunctionPrices, Reason, ReasonCode, gpu_seconds};
use crate::exec::{AnnotateExec, AnnotateOptions, Program};
use crate::gpu::Type;
use crate::verb::VerbExec;
use crate::verbs::dedup::{Comparisons, Deduplication};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::LambdaExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use groups::Aggregation;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Puts operators on devices. See the module's text.
pub struct PlaceOperators {
    hardware: Arc<Hardware>,
    prices: FunctionPrices,
}

impl PlaceOperators {
    /// A rule that plans for `hardware` and asks `prices` what functions cost.
    pub fn new(hardware: Arc<Hardware>, prices: FunctionPrices) -> Self {
        Self { hardware, prices }
    }

    /// What takes the place of a node, and of an aggregation that reads it if groups come back from a device.
    fn replaced(
        &self,
        annotate: &AnnotateExec,
        aggregation: Option<&Aggregation<'_>>,
        found: &Found,
    ) -> Result<Option<Replaced>> {
        let program = annotate.program();
        // A lambda's variables are numbered after the columns of its input, which a piece changes.
        for expr in &program.computed {
            if expr.exists(|part| Ok(part.is::<LambdaExpr>()))? {
                return Ok(None);
            }
        }
        let able: Vec<Result<(), Reason>> = self.able(program)?;
        let can = |item: &Item| match item {
            Item::Compute { columns, .. } => columns.iter().all(|column| able[column - program.n_inputs].is_ok()),
            Item::Rule(rule) => able[program.computed.len() + rule].is_ok(),
        };
        let why = |item: &Item| {
            let places = match item {
                Item::Compute { columns, .. } => columns.iter().map(|column| column - program.n_inputs).collect(),
                Item::Rule(rule) => vec![program.computed.len() + rule],
            };
            places.into_iter().find_map(|place| able[place].as_ref().err().cloned())
        };
        let mut best: Option<(Vec<Item>, Problem, Placement)> = None;
        for order in [Order::AsPlanned, Order::DeviceFirst, Order::DeviceLast] {
            let list = items(program, order, &can);
            let problem = estimate::problem(annotate, &list, &why, self.hardware.config().device, found, aggregation)?;
            let placement = place(&problem, &found.machine)?;
            let rank = |problem: &Problem, placement: &Placement| {
                let sides = problem.items.iter().zip(&placement.items);
                let n_refused =
                    sides.filter(|(item, placed)| item.forced.is_some_and(|side| side != placed.side)).count();
                (n_refused, placement.total_s)
            };
            if best.as_ref().is_none_or(|(_, known, placed)| rank(&problem, &placement) < rank(known, placed)) {
                best = Some((list, problem, placement));
            }
        }
        match best {
            Some((list, problem, placement)) if !placement.segments.is_empty() => {
                self.build(annotate, aggregation, &list, &problem, &placement, found).map(Some)
            }
            // Everything stays here, and the plan says why.
            Some((_, problem, placement)) => {
                let notes = problem.items.iter().zip(&placement.items).map(|(item, placed)| item_line(item, placed));
                let plan = Arc::new(annotate.clone().with_notes(notes.collect()));
                Ok(Some(Replaced { plan, is_grouped: false }))
            }
            None => Ok(None),
        }
    }

    /// For each computed column, then for each rule, whether a device can do it.
    fn able(&self, program: &Program) -> Result<Vec<Result<(), Reason>>> {
        let mut able = vec![];
        // A text that is made on a device (a hash) is no text that operators there can read.
        let text_of_device = |columns: &[usize], able: &[Result<(), Reason>]| {
            let is_one = |column: &usize| {
                column.checked_sub(program.n_inputs).is_some_and(|slot| able[slot].is_ok())
                    && Type::of(program.schema.field(*column).data_type()) == Some(Type::Text)
            };
            match columns.iter().any(is_one) {
                true => Err(Reason::new(ReasonCode::Expression, "it reads a text that is made on the device")),
                false => Ok(()),
            }
        };
        for (slot, expr) in program.computed.iter().enumerate() {
            let reads = items::reads(program, program.n_inputs + slot);
            let taken = DeviceProgram::new(Arc::clone(&program.schema)).add_output(expr).map(|_| ());
            able.push(text_of_device(&reads, &able).and(taken));
        }
        for rule in &program.rules {
            able.push(match rule.can_fail {
                true => Err(ReasonCode::MayFail.into()),
                false => {
                    let condition = rule.condition.widened()?;
                    let taken = DeviceProgram::new(Arc::clone(&program.schema)).add_rule(&condition).map(|_| ());
                    text_of_device(&rule.condition.columns, &able).and(taken)
                }
            });
        }
        Ok(able)
    }

    fn build(
        &self,
        annotate: &AnnotateExec,
        aggregation: Option<&Aggregation<'_>>,
        list: &[Item],
        problem: &Problem,
        placement: &Placement,
        found: &Found,
    ) -> Result<Replaced> {
        let program = annotate.program();
        let names: Vec<String> = annotate.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut pieces = Pieces::new(program, annotate.options().ledger);
        let mut plan = Arc::clone(annotate.input());
        let mut runs = runs(placement);
        // An aggregation is the item after the last. On a device it is part of its piece; here it is the node that reads it.
        let is_grouped = aggregation.is_some() && runs.last().is_some_and(|(side, _)| *side == Side::Gpu);
        let alone = runs.pop_if(|(side, range)| *side == Side::Cpu && range.start == list.len());
        let line = |item: usize| item_line(&problem.items[item], &placement.items[item]);
        let further: Vec<String> = alone.into_iter().map(|(_, range)| line(range.start)).collect();
        for (number, (side, range)) in runs.iter().enumerate() {
            // A piece of the CPU that only picks columns is left to the piece before it.
            let is_last = number + 1 == runs.len();
            let end = range.end.min(list.len());
            let (piece, later) = (&list[range.start..end], &list[end..]);
            let chain = pieces.next(piece, later, &plan, is_last.then_some(&names[..]))?;
            let made = self.annotate(chain, &plan, annotate.options(), is_last)?;
            plan = match side {
                Side::Cpu => Arc::new(made.with_notes(range.clone().map(line).collect())),
                Side::Gpu => {
                    let segment = placement.items[range.start].segment.and_then(|at| placement.segments.get(at));
                    let Some(segment) = segment else {
                        return Err(crate::bug!("a device piece without a segment").into());
                    };
                    let groups = aggregation.filter(|_| is_last && is_grouped);
                    let further = if is_last { further.clone() } else { vec![] };
                    self.device(made, groups, &plan, segment, (problem, placement), further, found)?
                }
            };
        }
        if !is_grouped && plan.schema() != annotate.schema() {
            return Err(
                crate::bug!("placing changed the columns: {:?}, not {:?}", plan.schema(), annotate.schema()).into()
            );
        }
        Ok(Replaced { plan, is_grouped })
    }

    /// An aggregation over a program, placed again together.
    fn aggregated(
        &self,
        aggregate: &AggregateExec,
        annotate: &AnnotateExec,
        found: &Found,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(aggregation) = Aggregation::of(aggregate, annotate) else { return Ok(None) };
        let Some(Replaced { plan, is_grouped }) = self.replaced(annotate, Some(&aggregation), found)? else {
            return Ok(None);
        };
        match is_grouped {
            true => groups::over_groups(aggregate, plan).map(Some),
            false => {
                let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                Arc::new(aggregate.clone()).replace_children(vec![plan], options).map(Some)
            }
        }
    }

    /// A semantic deduplication whose vectors are compared where that is cheaper: a problem of one item.
    fn compared(&self, node: &VerbExec, found: &Found) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(dedup) = node.operator_as::<Deduplication>() else { return Ok(None) };
        let (Some(work), Some(device)) = (comparisons(node), &found.profile.device) else { return Ok(None) };
        let column = |label: &str, bytes_per_row: f64, is_output: bool| Column {
            label: label.to_string(),
            bytes_per_row,
            is_output,
        };
        // Of each row, its cluster or the row most like it comes back, with a product.
        let columns = vec![column("vectors", work.vector_bytes, false), column("products", 8.0, true)];
        let seconds = gpu_seconds(device, &work.on_gpu, &work.passed);
        let config = self.hardware.config();
        let item = PlaceItem {
            label: work.label,
            inputs: vec![],
            reads: vec![0],
            makes: vec![1],
            rows_in: work.passed.n_rows,
            drops_rows: false,
            cpu_seconds: found.profile.cpu.seconds(work.cpu_ns),
            gpu: Ok(OnGpu { seconds, scratch_bytes_per_row: 0.0 }),
            forced: (config.device == DeviceChoice::Gpu).then_some(Side::Gpu),
            resources: Default::default(),
        };
        let problem = Problem { columns, items: vec![item] };
        let placement = place(&problem, &found.machine)?;
        let Some((item, placed)) = problem.items.first().zip(placement.items.first()) else { return Ok(None) };
        let dedup = dedup.clone().with_placement(item_line(item, placed));
        Ok(Some(Arc::new(node.with_operator(match placed.side {
            Side::Gpu => dedup.with_engine(found.engine.clone(), config.require_gpu),
            Side::Cpu => dedup,
        }))))
    }

    fn annotate(
        &self,
        chain: Vec<Arc<dyn ExecutionPlan>>,
        input: &Arc<dyn ExecutionPlan>,
        options: AnnotateOptions,
        is_last: bool,
    ) -> Result<AnnotateExec> {
        let mut builder = Builder::new(&self.prices, &input.schema(), true);
        for node in chain.iter().rev() {
            builder.add(node.as_ref())?;
        }
        let Some(top) = chain.first() else { return Err(crate::bug!("a piece without nodes").into()) };
        let program = builder.finish(&top.schema(), true)?;
        let options = AnnotateOptions { fetch: options.fetch.filter(|_| is_last), ..options };
        AnnotateExec::try_new(Arc::new(program), chain, Arc::clone(input), options)
    }

    #[allow(clippy::too_many_arguments, reason = "what was placed, and what it was placed on")]
    fn device(
        &self,
        made: AnnotateExec,
        aggregation: Option<&Aggregation<'_>>,
        input: &Arc<dyn ExecutionPlan>,
        segment: &PlacedSegment,
        placed: (&Problem, &Placement),
        further: Vec<String>,
        found: &Found,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let program = made.program();
        let refused = |reason: Reason| crate::bug!("a device was to run what it cannot: {reason}");
        let mut kernel = DeviceProgram::new(input.schema());
        // Over the input alone: what the program computes on the way is found again by value.
        for rule in &program.rules {
            kernel.add_rule(&inlined(program, rule.condition.widened()?)?).map_err(refused)?;
        }
        let mut outputs = vec![];
        for (place, output) in program.outputs.iter().enumerate() {
            // Constants are made on the host.
            let is_constant = output.columns.is_empty();
            if !is_constant && output.as_column().is_none_or(|column| column >= program.n_inputs) {
                let result = kernel.add_output(&inlined(program, output.widened()?)?).map_err(refused)?;
                outputs.push((place, result));
            }
        }
        let mut groups = None;
        if let Some(Aggregation { node, work: Ok(wanted) }) = aggregation {
            let mut results = vec![];
            for &place in &wanted.outputs {
                results
                    .push(kernel.add_output(&inlined(program, program.outputs[place].widened()?)?).map_err(refused)?);
            }
            groups = Some(wanted.states(node, &results)?);
        }
        let (program, columns) = kernel.finish();
        let grouped = program.grouped(groups.as_ref().map(|groups| groups.grouping.clone()));
        let program = grouped.map_err(|why| crate::bug!("a device was to put together what it cannot: {why}"))?;
        let kernel = Kernel { program, columns, outputs, groups };
        on_device(made, input, kernel, segment, placed, further, found, self.hardware.config())
    }
}

/// What takes the place of a node.
struct Replaced {
    plan: Arc<dyn ExecutionPlan>,
    /// It gives groups of the aggregation above.
    is_grouped: bool,
}

/// The plan, which says of operators that the query wants on a GPU that there is none.
fn without_gpu(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let noted = plan.transform_up(|node| {
        let Some(annotate) = node.downcast_ref::<AnnotateExec>() else { return Ok(Transformed::no(node)) };
        let program = annotate.program();
        let wanted = program.hints.iter().zip(&program.computed_labels);
        let wanted = wanted.filter(|(hint, _)| hint.is_some_and(|hint| hint.device == DeviceChoice::Gpu));
        let notes: Vec<String> =
            wanted.map(|(_, label)| format!("! {label}   {}", Reason::from(ReasonCode::NoGpu))).collect();
        match notes.is_empty() {
            true => Ok(Transformed::no(node)),
            false => Ok(Transformed::yes(Arc::new(annotate.clone().with_notes(notes)) as Arc<dyn ExecutionPlan>)),
        }
    })?;
    Ok(noted.data)
}

/// Runs of neighbours on the same side.
fn runs(placement: &Placement) -> Vec<(Side, std::ops::Range<usize>)> {
    let mut runs: Vec<(Side, std::ops::Range<usize>)> = vec![];
    for (index, item) in placement.items.iter().enumerate() {
        match runs.last_mut() {
            Some((side, range)) if *side == item.side => range.end = index + 1,
            _ => runs.push((item.side, index..index + 1)),
        }
    }
    runs
}

/// An expression over a program's input, with computed columns written out.
fn inlined(
    program: &Program,
    expr: Arc<dyn datafusion::physical_expr::PhysicalExpr>,
) -> Result<Arc<dyn datafusion::physical_expr::PhysicalExpr>> {
    Pieces::new(program, false).over_input(expr)
}

impl fmt::Debug for PlaceOperators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaceOperators").finish_non_exhaustive()
    }
}

/// The vectors that a deduplication compares, if the node is one that does.
fn comparisons(node: &dyn ExecutionPlan) -> Option<Comparisons> {
    let node = node.downcast_ref::<VerbExec>()?;
    node.operator_as::<Deduplication>()?.comparisons(node.rows().as_ref())
}

impl PhysicalOptimizerRule for PlaceOperators {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if self.hardware.config().device == DeviceChoice::Cpu {
            return without_gpu(plan);
        }
        let is_placeable = |node: &AnnotateExec| node.options().learn && node.calls().next().is_some();
        let mut has_any = false;
        plan.exists(|node| {
            has_any |=
                node.downcast_ref::<AnnotateExec>().is_some_and(is_placeable) || comparisons(node.as_ref()).is_some();
            Ok(has_any)
        })?;
        // Nothing that a device could do: none is looked for, unless the run insists on one.
        if !has_any && !self.hardware.config().require_gpu {
            return Ok(plan);
        }
        let Some(found) = self.hardware.find()? else { return without_gpu(plan) };
        // What was replaced, by where its replacement is: an aggregation above may change the answer.
        let mut known: HashMap<*const (), AnnotateExec> = HashMap::new();
        let placed = plan.transform_up(|node| {
            let mut replaced = None;
            if let Some(annotate) = node.downcast_ref::<AnnotateExec>().filter(|node| is_placeable(node)) {
                replaced = self.replaced(annotate, None, &found)?.map(|replaced| replaced.plan);
                replaced.iter().for_each(|plan| _ = known.insert(Arc::as_ptr(plan).cast(), annotate.clone()));
            } else if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
                if let Some(annotate) = known.get(&Arc::as_ptr(aggregate.input()).cast()) {
                    replaced = self.aggregated(aggregate, annotate, &found)?;
                }
            } else if let Some(dedup) = node.downcast_ref::<VerbExec>() {
                replaced = self.compared(dedup, &found)?;
            }
            Ok(replaced.map_or(Transformed::no(node), Transformed::yes))
        })?;
        Ok(placed.data)
    }

    fn name(&self) -> &str {
        "PlaceOperators"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
