//! The physical plan made step by step, for EXPLAIN VERBOSE.
//!
//! Invariant: the same planner and the same rules as in a run, in the same order.

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::DefaultPhysicalPlanner;

/// Plans an optimized query and shows the plan to `observe` as it was made first (`None`), and after each rule by its name.
pub async fn plan_rule_by_rule(
    state: &SessionState,
    optimized: &LogicalPlan,
    mut observe: impl FnMut(&dyn ExecutionPlan, Option<&str>),
) -> Result<()> {
    let without_rules =
        SessionStateBuilder::new_from_existing(state.clone()).with_physical_optimizer_rules(vec![]).build();
    let first = without_rules.query_planner().create_physical_plan(optimized, &without_rules).await?;
    observe(first.as_ref(), None);
    let planner = DefaultPhysicalPlanner::default();
    planner.optimize_physical_plan(first, state, |plan, rule| observe(plan, Some(rule.name())))?;
    Ok(())
}
