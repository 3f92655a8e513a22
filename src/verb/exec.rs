//! `VerbExec`: the one executor that runs a verb.
//!
//! Invariant: a verb that depends on the order of its rows asks for that order. It takes one partition of each input, unless it
//! can do its work in stages and each partition of the rows has the positions of a scan in ascending order: then it takes
//! the partitions as they are, and gives as many, in the same order, or one in an order of its own.

use super::node::number_field;
use super::order::RowOrder;
use super::replay::{Replay, ReplayFrom, own_splits, with_config};
use crate::sources::{is_position, text_bytes_per_row};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionMapping, ProjectionTargets};
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::TryStreamExt;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a verb does with rows.
pub trait SetOperator: Any + fmt::Debug + Send + Sync {
    /// What EXPLAIN calls the node: `SampleExec`.
    fn name(&self) -> &'static str;

    /// What EXPLAIN says after the name.
    fn details(&self) -> String;

    /// The step as the funnel names it, `SAMPLE 10 ROWS SEED 0`; `None` if it is no step of the rows' way.
    fn label(&self) -> Option<String>;

    /// What becomes of the order of the rows, as the [`Verb`](super::Verb) says.
    fn order(&self) -> RowOrder;

    /// Whether rows come while others are still read.
    fn emission(&self, _rows: &Arc<dyn ExecutionPlan>) -> EmissionType {
        EmissionType::Final
    }

    /// Whether rows become fewer or more.
    fn cardinality(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }

    /// What EXPLAIN says below the node.
    fn notes(&self) -> Vec<String> {
        vec![]
    }

    /// What EXPLAIN ANALYZE says below the node.
    fn counted_notes(&self, _metrics: &MetricsSet) -> Vec<String> {
        vec![]
    }

    /// The metric that counts rows where none come out.
    fn rows_counter(&self) -> Option<&'static str> {
        None
    }

    /// How often it goes through whole rows again after it has read them, which it keeps for that; 0: it keeps no rows.
    fn n_replays(&self) -> u32 {
        0
    }

    /// What its buffers take, if it has some of a size that settings name, and how that comes about.
    fn buffers(&self, _sizes: BufferSizes) -> Option<(usize, String)> {
        None
    }

    /// Whether it writes rows into the drop ledger.
    fn records_drops(&self) -> bool {
        false
    }

    /// Begins to run: a stream for each partition of the rows, or one if they do not stay in theirs.
    fn start(&self, start: Start<'_>) -> Result<Vec<SendableRecordBatchStream>>;
}

/// What sizes of buffers follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferSizes {
    /// What a batch aims at.
    pub batch_bytes: usize,
    /// Threads that work at once.
    pub n_threads: usize,
    /// What a query may hold; `None`: anything.
    pub limit_bytes: Option<usize>,
}

/// What an operator starts with.
pub struct Start<'a> {
    /// The rows: one stream in order, or partitions that ascend in `position`.
    pub rows: Vec<SendableRecordBatchStream>,
    /// What else it reads, each in its order.
    pub others: Vec<SendableRecordBatchStream>,
    /// Where the rows come from.
    pub input: &'a Arc<dyn ExecutionPlan>,
    /// Where they come from again, if the operator goes through them again and has not kept them.
    pub replay: ReplayFrom,
    /// The column that puts rows of several partitions in order.
    pub position: Option<usize>,
    /// How many streams of rows come out.
    pub n_outputs: usize,
    /// Where columns are.
    pub layout: &'a Layout,
    /// What comes out.
    pub schema: SchemaRef,
    /// The run.
    pub context: Arc<TaskContext>,
    /// Its counters.
    pub metrics: &'a ExecutionPlanMetricsSet,
    /// Tells this node from others of the plan.
    pub node: usize,
}

impl Start<'_> {
    /// The rows, for an operator that takes them in one stream.
    pub fn only_rows(&mut self) -> Result<SendableRecordBatchStream> {
        match (self.rows.pop(), self.rows.is_empty()) {
            (Some(rows), true) => Ok(rows),
            _ => Err(crate::bug!("an operator has one stream of rows").into()),
        }
    }

    /// The columns of the rows.
    pub fn rows_schema(&self) -> SchemaRef {
        self.rows.first().map_or_else(|| Arc::new(Schema::empty()), |rows| rows.schema())
    }
}

/// Where in the rows columns are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layout {
    /// The columns that come out.
    pub visible: Vec<usize>,
    /// The column whose values change.
    pub rewritten: Option<usize>,
    /// What each input is sorted by.
    pub orders: Vec<Vec<(usize, SortOptions)>>,
    /// Columns that are added after the visible ones.
    pub added: Vec<Field>,
    /// The name of a last column that numbers the rows.
    pub number: Option<String>,
}

/// Runs a verb.
#[derive(Clone)]
pub struct VerbExec {
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    operator: Arc<dyn SetOperator>,
    layout: Layout,
    /// It was planned over partitions. Never changes: what stands above relies on it.
    is_planned_over_partitions: bool,
    /// The rows come in partitions that ascend in this column.
    position: Option<usize>,
    replay: Replay,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Partitions of the run under way that nobody has asked for yet.
    waiting: Arc<Mutex<Vec<Option<SendableRecordBatchStream>>>>,
}

/// The counter of bytes of text that came out.
const TEXT_BYTES_OUT: &str = "text_bytes_out";

impl VerbExec {
    /// `operator` over its inputs, the rows first.
    pub fn new(inputs: Vec<Arc<dyn ExecutionPlan>>, operator: Arc<dyn SetOperator>, layout: Layout) -> Self {
        let is_planned_over_partitions =
            operator.order().takes_partitions() && position_of_partitions(&inputs[0], &layout).is_some();
        Self::with(inputs, operator, layout, is_planned_over_partitions, Replay::default())
    }

    fn with(
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        operator: Arc<dyn SetOperator>,
        layout: Layout,
        is_planned_over_partitions: bool,
        replay: Replay,
    ) -> Self {
        let rows = &inputs[0];
        let position = position_of_partitions(rows, &layout).filter(|_| is_planned_over_partitions);
        let keeps_partitions = position.is_some() && operator.order().keeps_partitions();
        let n_partitions = if keeps_partitions { rows.output_partitioning().partition_count() } else { 1 };
        let properties = Arc::new(PlanProperties::new(
            order_of_output(rows, operator.order(), &layout),
            Partitioning::UnknownPartitioning(n_partitions),
            operator.emission(rows),
            rows.boundedness(),
        ));
        let (metrics, waiting) = (ExecutionPlanMetricsSet::new(), Arc::default());
        Self { inputs, operator, layout, is_planned_over_partitions, position, replay, properties, metrics, waiting }
    }

    /// Whether each partition has the rows of one partition of its input, or what became of them, in their order.
    pub fn keeps_partitions(&self) -> bool {
        self.takes_partitions() && self.operator.order().keeps_partitions()
    }

    /// Whether the rows come in partitions.
    fn takes_partitions(&self) -> bool {
        self.position.is_some()
    }

    /// What it does.
    pub fn operator(&self) -> &dyn SetOperator {
        self.operator.as_ref()
    }

    /// What it does, if that is an `O`.
    pub fn operator_as<O: SetOperator>(&self) -> Option<&O> {
        (self.operator.as_ref() as &dyn Any).downcast_ref()
    }

    /// The same with another operator, which has the same layout.
    pub fn with_operator(&self, operator: impl SetOperator) -> Self {
        let (inputs, layout, replay) = (self.inputs.clone(), self.layout.clone(), self.replay.clone());
        Self::with(inputs, Arc::new(operator), layout, self.is_planned_over_partitions, replay)
    }

    /// The same with its rows from there again.
    pub fn with_replay(&self, replay: Replay) -> Self {
        let (inputs, operator, layout) = (self.inputs.clone(), Arc::clone(&self.operator), self.layout.clone());
        Self::with(inputs, operator, layout, self.is_planned_over_partitions, replay)
    }

    /// What EXPLAIN says below the node.
    pub fn notes(&self) -> Vec<String> {
        let replay = (self.operator.n_replays() > 0).then(|| self.replay.note.clone());
        self.operator.notes().into_iter().chain(replay).collect()
    }

    /// Bytes of text in the rows that came out, for a verb that the funnel names.
    pub fn text_bytes_out(&self) -> Option<u64> {
        self.metrics.clone_inner().sum_by_name(TEXT_BYTES_OUT).map(|n_bytes| n_bytes.as_usize() as u64)
    }

    /// Rows whose text is counted, if the verb is a step of the funnel.
    fn with_text_bytes(&self, rows: SendableRecordBatchStream, partition: usize) -> SendableRecordBatchStream {
        if self.operator.label().is_none() {
            return rows;
        }
        let n_bytes = MetricBuilder::new(&self.metrics).counter(TEXT_BYTES_OUT, partition);
        let counted = rows.inspect_ok(move |batch| n_bytes.add(text_bytes_per_row(batch).iter().sum::<u64>() as usize));
        Box::pin(RecordBatchStreamAdapter::new(self.schema(), counted))
    }

    /// Tells this node from others of the plan.
    pub fn id(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The input with the rows.
    pub fn rows(&self) -> &Arc<dyn ExecutionPlan> {
        &self.inputs[0]
    }

    fn start(&self, context: Arc<TaskContext>) -> Result<Vec<SendableRecordBatchStream>> {
        let n_partitions = |input: &Arc<dyn ExecutionPlan>| input.output_partitioning().partition_count();
        let is_whole = |(number, input)| n_partitions(input) == 1 || (number == 0 && self.takes_partitions());
        if !self.inputs.iter().enumerate().all(is_whole) {
            return Err(crate::bug!("{} needs its input in one partition", self.operator.name()).into());
        }
        // Inputs first: nodes nearer to the source come first in the ledger.
        let rows = (0..n_partitions(self.rows())).map(|number| {
            let own = own_splits(self.rows(), number).filter(|_| self.replay.from == ReplayFrom::Source);
            let context = match own {
                Some(own) => with_config(&context, context.session_config().clone().with_extension(Arc::new(own))),
                None => Arc::clone(&context),
            };
            self.rows().execute(number, context)
        });
        let rows = rows.collect::<Result<_>>()?;
        let others = self.inputs[1..].iter().map(|input| input.execute(0, Arc::clone(&context)));
        let others = others.collect::<Result<_>>()?;
        let (schema, node) = (self.schema(), self.id());
        let (layout, metrics, position) = (&self.layout, &self.metrics, self.position);
        let n_outputs = self.properties.partitioning.partition_count();
        let (input, replay) = (self.rows(), self.replay.from);
        let start = Start { rows, others, input, replay, position, n_outputs, layout, schema, context, metrics, node };
        self.operator.start(start)
    }
}

/// The one column that puts the rows in order, if they come in several partitions each of which ascends in it.
fn position_of_partitions(rows: &Arc<dyn ExecutionPlan>, layout: &Layout) -> Option<usize> {
    let [(index, options)] = layout.orders.first()?.as_slice() else { return None };
    let schema = rows.schema();
    let field = schema.field(*index);
    let is_position = is_position(field.name()) && *field.data_type() == DataType::UInt64 && !field.is_nullable();
    let order = [PhysicalSortExpr::new(column(&schema, *index), *options)];
    let ascends = !options.descending && rows.equivalence_properties().ordering_satisfy(order).unwrap_or(false);
    let is_in_partitions = rows.output_partitioning().partition_count() > 1;
    Some(*index).filter(|_| is_position && ascends && is_in_partitions)
}

fn output_schema(rows: &Schema, layout: &Layout) -> SchemaRef {
    let mut fields: Vec<FieldRef> = layout.visible.iter().map(|index| Arc::clone(&rows.fields()[*index])).collect();
    fields.extend(layout.added.iter().cloned().map(Arc::new));
    fields.extend(layout.number.iter().map(|name| Arc::new(number_field(name))));
    Arc::new(Schema::new_with_metadata(fields, rows.metadata().clone()))
}

/// What is known of the order and of equal columns of the rows that come out.
fn order_of_output(rows: &Arc<dyn ExecutionPlan>, order: RowOrder, layout: &Layout) -> EquivalenceProperties {
    let from = rows.schema();
    let schema = output_schema(&from, layout);
    let sorted = |index: usize, options: SortOptions| PhysicalSortExpr::new(column(&schema, index), options);
    let number = layout.number.as_ref().map(|_| sorted(schema.fields().len() - 1, SortOptions::new(false, false)));
    let mut known = match order {
        RowOrder::Makes | RowOrder::Ends => EquivalenceProperties::new(Arc::clone(&schema)),
        RowOrder::Indifferent | RowOrder::Keeps | RowOrder::Splits => {
            // Rows only go, and columns only move. Nothing is said of a column that is rewritten.
            let moved = layout.visible.iter().enumerate().filter(|(_, index)| layout.rewritten != Some(**index));
            let mapping: ProjectionMapping = moved
                .map(|(to, index)| (column(&from, *index), ProjectionTargets::from(vec![(column(&schema, to), to)])))
                .collect();
            rows.equivalence_properties().project(&mapping, Arc::clone(&schema))
        }
    };
    match (order, number) {
        (RowOrder::Makes, Some(number)) => known.add_ordering([number]),
        // The pieces of a row come one after the other.
        (RowOrder::Splits, Some(number)) => {
            let place = |index: &usize| layout.visible.iter().position(|visible| visible == index);
            let keys = layout.orders.first().into_iter().flatten();
            let keys = keys.map(|(index, options)| Some(sorted(place(index)?, *options)));
            if let Some(keys) = keys.collect::<Option<Vec<_>>>() {
                known.add_ordering(keys.into_iter().chain([number]));
            }
        }
        _ => {}
    }
    known
}

fn column(schema: &SchemaRef, index: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(schema.field(index).name(), index))
}

impl fmt::Debug for VerbExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerbExec")
            .field("operator", &self.operator)
            .field("inputs", &self.inputs)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for VerbExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.operator.name(), self.operator.details())
    }
}

impl ExecutionPlan for VerbExec {
    fn name(&self) -> &str {
        self.operator.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let mut required = vec![Distribution::SinglePartition; self.inputs.len()];
        if self.takes_partitions() {
            required[0] = Distribution::UnspecifiedDistribution;
        }
        InputDistributionRequirements::new(required)
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        // Rows that were dealt out again would have no place among their neighbours.
        vec![false; self.inputs.len()]
    }

    // The order decides, even if the output is sorted again.
    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let required = |(input, keys): (&Arc<dyn ExecutionPlan>, &Vec<(usize, SortOptions)>)| {
            let schema = input.schema();
            let keys = keys.iter().map(|(index, options)| PhysicalSortExpr::new(column(&schema, *index), *options));
            LexOrdering::new(keys).map(|order| OrderingRequirements::new(order.into()))
        };
        self.inputs.iter().zip(&self.layout.orders).map(required).collect()
    }

    // Most keep it; but a rule that reads this would move a sort from above to below, and so change what is decided here.
    // What is written has the order of the input, which a rule would else remove as useless.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.operator.order() == RowOrder::Ends; self.inputs.len()]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != self.inputs.len() {
            return Err(crate::bug!("{} takes {} inputs", self.name(), self.inputs.len()).into());
        }
        let (operator, layout, replay) = (Arc::clone(&self.operator), self.layout.clone(), self.replay.clone());
        Ok(Arc::new(Self::with(children, operator, layout, self.is_planned_over_partitions, replay)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = waiting.get_mut(partition).and_then(Option::take) {
            return Ok(rows);
        }
        // The first partition of a run starts all of them: none can be decided about without the others.
        let started = self.start(context)?.into_iter().enumerate();
        *waiting = started.map(|(partition, rows)| Some(self.with_text_bytes(rows, partition))).collect();
        let rows = waiting.get_mut(partition).and_then(Option::take);
        rows.ok_or_else(|| crate::bug!("{} has no partition {partition}", self.name()).into())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.operator.cardinality()
    }
}

/// The sum of a counter.
pub fn counter(metrics: &MetricsSet, name: &str) -> u64 {
    metrics.sum_by_name(name).map_or(0, |count| count.as_usize() as u64)
}
