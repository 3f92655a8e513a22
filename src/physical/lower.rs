//! Our plan nodes to their executors.

use crate::exec::{DecontaminateExec, DedupExec, DedupLayout, PieceColumn, RejectDetail, SampleExec, WriteExec};
use crate::logical::nodes::{Decontaminate, Dedup, Sample, Screen, SortColumn, Write};
use crate::physical::one_pass::screen_exec;
use crate::sinks::SinkSpec;
use crate::{Error, bug};
use arrow::compute::SortOptions;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Column, DFSchema, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{LexOrdering, OrderingRequirements, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::path::PathBuf;
use std::sync::Arc;

/// DataFusion's planner, taught our nodes.
#[derive(Debug)]
pub struct Lowering;

#[async_trait]
impl QueryPlanner for Lowering {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(Lowering)])
            .create_physical_plan(plan, session)
            .await
    }
}

#[async_trait]
impl ExtensionPlanner for Lowering {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        planning: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let (Some(node), [documents, evals]) = (node.as_any().downcast_ref::<Decontaminate>(), physical_inputs) {
            return Ok(Some(Arc::new(decontaminate_exec(node, documents, evals)?)));
        }
        let [input] = physical_inputs else { return Ok(None) };
        if let Some(sample) = node.as_any().downcast_ref::<Sample>() {
            let order = requirement(&sort_keys(&sample.order, sample.input.schema())?, input);
            return Ok(Some(Arc::new(SampleExec::new(input.clone(), sample.amount, sample.seed, order))));
        }
        if let Some(dedup) = node.as_any().downcast_ref::<Dedup>() {
            return Ok(Some(Arc::new(dedup_exec(dedup, input)?)));
        }
        if let Some(screen) = node.as_any().downcast_ref::<Screen>() {
            let schema = screen.input.schema();
            let condition = planner.create_physical_expr(&screen.predicate, schema, session, planning)?;
            return Ok(Some(Arc::new(screen_exec(condition, input)?)));
        }
        if let Some(write) = node.as_any().downcast_ref::<Write>() {
            return Ok(Some(Arc::new(WriteExec::new(input.clone(), sink_spec(write)?))));
        }
        Ok(None)
    }
}

/// What a plan's `INTO` says that the whole run needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteTarget {
    /// Where lines that cannot be read and documents that rules drop go.
    pub rejects: Option<PathBuf>,
    /// What is said of a dropped document.
    pub reject_detail: RejectDetail,
}

/// The `INTO` of a plan, if it has one.
pub fn write_of(plan: &LogicalPlan) -> Option<WriteTarget> {
    let LogicalPlan::Extension(extension) = plan else { return None };
    let write = extension.node.as_any().downcast_ref::<Write>()?;
    let option = |wanted: &str| write.options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let all = option("reject_detail").is_some_and(|value| value.eq_ignore_ascii_case("all"));
    let reject_detail = if all { RejectDetail::All } else { RejectDetail::First };
    Some(WriteTarget { rejects: option("rejects").map(PathBuf::from), reject_detail })
}

fn dedup_exec(dedup: &Dedup, input: &Arc<dyn ExecutionPlan>) -> Result<DedupExec> {
    let schema = dedup.input.schema();
    let request = &dedup.request;
    let place = |column: Option<&Column>| column.map(|column| schema.index_of_column(column)).transpose();
    let keep_by = request.keep.by.iter().map(|(name, descending, nulls_first)| {
        let index = schema.index_of_column(&Column::new_unqualified(name))?;
        Ok((index, SortOptions { descending: *descending, nulls_first: *nulls_first }))
    });
    let layout = DedupLayout {
        key: place(request.key.as_ref())?,
        value: place(request.value_read())?,
        keep_by: keep_by.collect::<Result<_>>()?,
        per: place(request.keep.per.as_ref().map(Column::new_unqualified).as_ref())?,
        // Where nobody asks for names, the column may have gone.
        id: request.id.as_ref().and_then(|column| schema.maybe_index_of_column(column)),
        visible: dedup.visible_columns(),
        wants_dropped: dedup.wants_dropped,
    };
    let order = requirement(&sort_keys(&dedup.order, schema)?, input);
    Ok(DedupExec::new(Arc::clone(input), Arc::clone(request), layout, order))
}

fn decontaminate_exec(
    node: &Decontaminate,
    documents: &Arc<dyn ExecutionPlan>,
    evals: &Arc<dyn ExecutionPlan>,
) -> Result<DecontaminateExec> {
    let schema = node.input.schema();
    let request = &node.request;
    let layout = DedupLayout {
        key: None,
        value: Some(schema.index_of_column(&request.text)?),
        keep_by: vec![],
        per: None,
        id: None,
        visible: node.visible_columns(),
        wants_dropped: node.wants_dropped,
    };
    let after = sort_keys(&node.order, schema)?;
    let evals_order = sort_keys(&node.evals_order, node.evals.schema())?;
    let orders = [requirement(&after, documents), requirement(&evals_order, evals)];
    let piece = node.piece.as_ref().map(|name| PieceColumn { name: name.clone(), after });
    Ok(DecontaminateExec::new(Arc::clone(documents), Arc::clone(evals), Arc::clone(request), layout, piece, orders))
}

/// The columns of an order by their places in the input.
fn sort_keys(order: &[SortColumn], schema: &DFSchema) -> Result<Vec<(usize, SortOptions)>> {
    let key = |key: &SortColumn| {
        let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
        Ok((schema.index_of_column(&key.column)?, options))
    };
    order.iter().map(key).collect()
}

/// An order as what an executor asks its input for.
fn requirement(keys: &[(usize, SortOptions)], input: &Arc<dyn ExecutionPlan>) -> Option<OrderingRequirements> {
    let schema = input.schema();
    let sort = |(index, options): &(usize, SortOptions)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(PhysicalColumn::new(schema.field(*index).name(), *index));
        PhysicalSortExpr::new(column, *options)
    };
    LexOrdering::new(keys.iter().map(sort)).map(|order| OrderingRequirements::new(order.into()))
}

fn sink_spec(write: &Write) -> Result<SinkSpec, Error> {
    let mut spec = SinkSpec { lines: write.lines.clone(), ..SinkSpec::new(&write.location) };
    for (name, value) in &write.options {
        spec.options.set(name, value).map_err(|_| bug!("the binder let option `{name}` = `{value}` pass"))?;
    }
    Ok(spec)
}
