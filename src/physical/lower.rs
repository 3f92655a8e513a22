//! Verbs of the logical plan to their executors.

use crate::exec::RejectDetail;
use crate::physical::one_pass::recorded_filter;
use crate::sinks::SinkSpec;
use crate::verb::{Planning, VerbNode};
use crate::verbs::write::Write;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
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
        let Some(node) = node.as_any().downcast_ref::<VerbNode>() else { return Ok(None) };
        let schema = node.rows().schema();
        let exprs = node.verb.expressions();
        let exprs = exprs.iter().map(|expr| planner.create_physical_expr(expr, schema, session, planning));
        let planning = Planning {
            node,
            inputs: physical_inputs,
            expressions: exprs.collect::<Result<_>>()?,
            recorded_filter: &recorded_filter,
        };
        node.verb.plan(&planning).map(Some)
    }
}

/// What a plan's `INTO` says that the whole run needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteTarget {
    /// Where the rows go.
    pub spec: SinkSpec,
    /// Where lines that cannot be read and documents that rules drop go.
    pub rejects: Option<PathBuf>,
    /// What is said of a dropped document.
    pub reject_detail: RejectDetail,
}

/// The `INTO` of a plan, if it has one.
pub fn write_of(plan: &LogicalPlan) -> Option<WriteTarget> {
    let write = VerbNode::of(plan)?.verb.as_any().downcast_ref::<Write>()?;
    let all = write.option("reject_detail").is_some_and(|value| value.eq_ignore_ascii_case("all"));
    let reject_detail = if all { RejectDetail::All } else { RejectDetail::First };
    Some(WriteTarget { spec: write.spec().ok()?, rejects: write.option("rejects").map(PathBuf::from), reject_detail })
}
