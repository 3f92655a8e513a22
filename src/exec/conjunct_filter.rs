//! `ConjunctFilterExec`: a filter whose conditions run one by one, each on the rows that the ones before left, and
//! each counted.
//!
//! ```text
//! ConjunctFilterExec: lang = en, words(text) > 50
//!     lang = en              in 300  dropped 120
//!     words(text) > 50       in 180  dropped 22
//! ```
//! Gives the rows that DataFusion's `FilterExec` gives for the conditions joined by AND, in the same order.
//! DataFusion's evaluates the right side of an AND on every row unless the left keeps less than a fifth.
//! Its properties and statistics are those of that `FilterExec`, which it keeps inside.
//! Not here: evaluating (`conjuncts.rs`), and the order of the conditions (`physical::SplitFilters`).

use super::coalesce::{BatchSize, Coalescer};
use super::conjuncts::{self, Conjunct, ConjunctCounts, ConjunctMetrics};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, RecordBatchStream,
    ReplaceChildrenOptions, SendableRecordBatchStream, StatisticsArgs,
};
use futures::{Stream, StreamExt};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Keeps the rows for which every condition is true. See the module's text.
#[derive(Debug, Clone)]
pub struct ConjunctFilterExec {
    conjuncts: Arc<[Conjunct]>,
    /// The same filter in DataFusion's form: input, projection, fetch, properties.
    whole: FilterExec,
    batch_bytes: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl ConjunctFilterExec {
    /// The filter that does what `filter` does, with its condition split into `conjuncts`, in this order.
    pub fn try_new(filter: &FilterExec, conjuncts: Vec<Arc<dyn PhysicalExpr>>, batch_bytes: usize) -> Result<Self> {
        let whole = FilterExecBuilder::from(filter).with_predicate(conjunction(conjuncts.iter().cloned())).build()?;
        let input = filter.input();
        let conjuncts = conjuncts.into_iter().map(|expr| Conjunct::new(expr, input)).collect::<Result<Arc<[_]>>>()?;
        Ok(Self { conjuncts, whole, batch_bytes, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// The conditions in the order in which they run.
    pub fn conjuncts(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        self.conjuncts.iter().map(|conjunct| &conjunct.expr)
    }

    /// What each condition did so far; may be asked while the query runs.
    pub fn counts(&self) -> Vec<ConjunctCounts> {
        conjuncts::counts(&self.conjuncts, &self.metrics.clone_inner())
    }
}

impl DisplayAs for ConjunctFilterExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let labels: Vec<&str> = self.conjuncts.iter().map(|conjunct| conjunct.label.as_str()).collect();
        write!(f, "ConjunctFilterExec: {}", labels.join(", "))?;
        if let Some(projection) = self.whole.projection() {
            let schema = self.whole.input().schema();
            let names: Vec<&str> = projection.iter().map(|&index| schema.field(index).name().as_str()).collect();
            write!(f, ", projection=[{}]", names.join(", "))?;
        }
        if let Some(fetch) = self.whole.fetch() {
            write!(f, ", fetch={fetch}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for ConjunctFilterExec {
    fn name(&self) -> &str {
        "ConjunctFilterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.whole.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.whole.input()]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        datafusion::physical_plan::apply_expression_roots(self.conjuncts(), f)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) else {
            return Err(crate::bug!("a filter takes one input").into());
        };
        let filter = FilterExecBuilder::from(&self.whole).with_input(input).build()?;
        Ok(Arc::new(Self::try_new(&filter, self.conjuncts().cloned().collect(), self.batch_bytes)?))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let n_conjuncts = self.conjuncts.len();
        let target = BatchSize { rows: context.session_config().batch_size(), bytes: self.batch_bytes };
        Ok(Box::pin(ConjunctFilterStream {
            schema: self.schema(),
            conjuncts: Arc::clone(&self.conjuncts),
            conjunct_metrics: (0..n_conjuncts).map(|i| ConjunctMetrics::new(&self.metrics, i, partition)).collect(),
            projection: self.whole.projection().as_ref().map(|indices| indices.to_vec()),
            rows_to_fetch: self.whole.fetch(),
            coalescer: Coalescer::new(self.schema(), target),
            input: Some(self.whole.input().execute(partition, context)?),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.whole.child_stats_requests(partition)
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.whole.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }

    fn gather_filters_for_pushdown(
        &self,
        phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        match phase {
            // Filters made while running, as a join's: they pass through to the source.
            FilterPushdownPhase::Post => self.whole.gather_filters_for_pushdown(phase, parent_filters, config),
            // This filter is made after the filters of the query were pushed down; it has none to give.
            FilterPushdownPhase::Pre => Ok(FilterDescription::all_unsupported(&parent_filters, &self.children())),
        }
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(child_pushdown_result))
    }

    fn fetch(&self) -> Option<usize> {
        self.whole.fetch()
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let whole = FilterExecBuilder::from(&self.whole).with_fetch(fetch).build().ok()?;
        Some(Arc::new(Self { whole, ..self.clone() }))
    }
}

struct ConjunctFilterStream {
    schema: SchemaRef,
    conjuncts: Arc<[Conjunct]>,
    conjunct_metrics: Vec<ConjunctMetrics>,
    projection: Option<Vec<usize>>,
    rows_to_fetch: Option<usize>,
    coalescer: Coalescer,
    /// `None` once it ended or nothing more is needed; its resources are then free.
    input: Option<SendableRecordBatchStream>,
    metrics: BaselineMetrics,
}

impl ConjunctFilterStream {
    fn filter(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let output = self.projection.as_deref();
        let mut kept = conjuncts::filter(batch, &self.conjuncts, &self.conjunct_metrics, output, &self.schema)?;
        if let Some(rows_to_fetch) = &mut self.rows_to_fetch {
            kept = kept.slice(0, kept.num_rows().min(*rows_to_fetch));
            *rows_to_fetch -= kept.num_rows();
            if *rows_to_fetch == 0 {
                self.input = None;
            }
        }
        self.coalescer.push(kept)
    }

    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        while let Some(input) = &mut self.input {
            match ready!(input.poll_next_unpin(cx)) {
                Some(Ok(batch)) => {
                    let elapsed = self.metrics.elapsed_compute().clone();
                    let _timer = elapsed.timer();
                    if let Some(kept) = self.filter(&batch).transpose() {
                        return Poll::Ready(Some(kept));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.input = None,
            }
        }
        Poll::Ready(self.coalescer.flush().transpose())
    }
}

impl Stream for ConjunctFilterStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.poll_batch(cx);
        self.metrics.record_poll(polled)
    }
}

impl RecordBatchStream for ConjunctFilterStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};
    use arrow::compute::concat_batches;
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::common::ScalarValue;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{binary, col, is_not_null, lit};
    use datafusion::physical_plan::{collect, displayable};
    use datafusion::prelude::{SessionConfig, SessionContext};
    use proptest::prelude::*;

    type Row = (Option<i64>, Option<i64>, Option<String>);

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Int64, true),
            Field::new("t", DataType::Utf8, true),
        ]))
    }

    fn source(batches: &[Vec<Row>]) -> Arc<dyn ExecutionPlan> {
        let batch = |rows: &Vec<Row>| {
            let a = Int64Array::from_iter(rows.iter().map(|row| row.0));
            let b = Int64Array::from_iter(rows.iter().map(|row| row.1));
            let t = StringArray::from_iter(rows.iter().map(|row| row.2.as_deref()));
            RecordBatch::try_new(schema(), vec![Arc::new(a), Arc::new(b), Arc::new(t)]).unwrap()
        };
        let batches = batches.iter().map(batch).collect();
        MemorySourceConfig::try_new_exec(&[batches], schema(), None).unwrap()
    }

    fn compare(name: &str, op: Operator, value: ScalarValue) -> Arc<dyn PhysicalExpr> {
        binary(col(name, &schema()).unwrap(), op, lit(value), &schema()).unwrap()
    }

    /// All rows that `plan` gives, as text, and the batches.
    fn run(plan: Arc<dyn ExecutionPlan>) -> Result<RecordBatch> {
        let config = SessionConfig::new().with_batch_size(5);
        let context = SessionContext::new_with_config(config).task_ctx();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let schema = plan.schema();
        let batches = runtime.block_on(collect(plan, context))?;
        Ok(concat_batches(&schema, &batches)?)
    }

    fn conjunct() -> impl Strategy<Value = Arc<dyn PhysicalExpr>> {
        let op = prop::sample::select(vec![Operator::Lt, Operator::GtEq, Operator::NotEq, Operator::IsDistinctFrom]);
        prop_oneof![
            (prop::sample::select(vec!["a", "b"]), op, prop::option::of(-3..4_i64))
                .prop_map(|(name, op, value)| compare(name, op, ScalarValue::Int64(value))),
            Just(
                binary(col("a", &schema()).unwrap(), Operator::LtEq, col("b", &schema()).unwrap(), &schema()).unwrap()
            ),
            "[xy]".prop_map(|text| compare("t", Operator::Eq, ScalarValue::Utf8(Some(text)))),
            prop::sample::select(vec!["a", "b", "t"]).prop_map(|n| is_not_null(col(n, &schema()).unwrap()).unwrap()),
            prop::option::of(any::<bool>()).prop_map(|value| lit(ScalarValue::Boolean(value))),
        ]
    }

    proptest! {
        #[test]
        fn keeps_the_rows_that_datafusions_filter_keeps(
            batches in prop::collection::vec(
                prop::collection::vec(
                    (prop::option::of(-3..4_i64), prop::option::of(-3..4_i64), prop::option::of("[xy]")),
                    0..9,
                ),
                1..5,
            ),
            conjuncts in prop::collection::vec(conjunct(), 1..5),
            projection in prop::option::of(prop::sample::subsequence(vec![0, 1, 2], 0..3)),
            fetch in prop::option::of(1..6_usize),
        ) {
            let filter = FilterExecBuilder::new(conjunction(conjuncts.iter().cloned()), source(&batches))
                .apply_projection(projection).unwrap().with_fetch(fetch).build().unwrap();
            let split = Arc::new(ConjunctFilterExec::try_new(&filter, conjuncts, 40).unwrap());
            let expected = run(Arc::new(filter)).unwrap();
            let got = run(Arc::clone(&split) as _).unwrap();
            prop_assert_eq!(got, expected);
            let counts = split.counts();
            for (before, after) in counts.iter().zip(&counts[1..]) {
                prop_assert_eq!(before.rows_in - before.rows_dropped, after.rows_in);
            }
        }
    }

    fn rows(values: &[Option<i64>]) -> Vec<Vec<Row>> {
        vec![values.iter().map(|&value| (value, Some(1), None)).collect()]
    }

    fn divide_by_a() -> Arc<dyn PhysicalExpr> {
        let schema = schema();
        let quotient = binary(lit(10_i64), Operator::Divide, col("a", &schema).unwrap(), &schema).unwrap();
        binary(quotient, Operator::Gt, lit(2_i64), &schema).unwrap()
    }

    fn filter(conjuncts: Vec<Arc<dyn PhysicalExpr>>, batches: &[Vec<Row>]) -> Arc<ConjunctFilterExec> {
        let whole = FilterExec::try_new(conjunction(conjuncts.clone()), source(batches)).unwrap();
        Arc::new(ConjunctFilterExec::try_new(&whole, conjuncts, 1 << 20).unwrap())
    }

    #[test]
    fn a_later_condition_never_sees_a_dropped_row() {
        let guard = compare("a", Operator::NotEq, ScalarValue::Int64(Some(0)));
        let plan = filter(vec![guard, divide_by_a()], &rows(&[Some(0), Some(2), None, Some(9)]));
        assert_eq!(run(Arc::clone(&plan) as _).unwrap().num_rows(), 1);
        let counts = plan.counts();
        assert_eq!((counts[0].rows_in, counts[0].rows_dropped), (4, 2), "the NULL counts as dropped");
        assert_eq!((counts[1].rows_in, counts[1].rows_dropped), (2, 1));
    }

    #[test]
    fn an_error_names_its_condition() {
        let plan = filter(vec![divide_by_a()], &rows(&[Some(0)]));
        let message = crate::Error::from(run(plan).unwrap_err()).to_string();
        assert!(message.ends_with("in the condition `10 / a > 2`"), "{message}");
    }

    #[test]
    fn explain_shows_conditions_in_their_order_without_column_numbers() {
        let plan = filter(vec![divide_by_a(), is_not_null(col("t", &schema()).unwrap()).unwrap()], &[]);
        let shown = displayable(plan.as_ref()).one_line().to_string();
        assert_eq!(shown.trim(), "ConjunctFilterExec: 10 / a > 2, t IS NOT NULL");
    }
}
