//! `KeepAboveTotals`: a condition on the one row of an aggregation without groups stays above it.
//!
//! Stands in for DataFusion's `PushDownFilter`, which in version 55 pushes a condition that reads no column, or none any
//! more, as `2 IS NULL`, below such an aggregation; which then gives its row also if the condition is false.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// DataFusion's rule, but for filters directly above totals.
///
/// ```text
/// Filter: false                    ⇒   Filter: false
///   Aggregate: groupBy=[], max(v)        Aggregate: groupBy=[], max(v)
/// ```
/// Sound because it does less: no other condition could pass, since there is no group to read.
#[derive(Debug, Default)]
pub struct KeepAboveTotals {
    rest: PushDownFilter,
}

impl KeepAboveTotals {
    /// The rule, if this is the one whose place it takes; else that one.
    pub fn in_place_of(rule: Arc<dyn OptimizerRule + Send + Sync>) -> Arc<dyn OptimizerRule + Send + Sync> {
        let keep = Self::default();
        if rule.name() == keep.rest.name() { Arc::new(keep) } else { rule }
    }
}

impl OptimizerRule for KeepAboveTotals {
    // The name by which it can be looked for among DataFusion's.
    fn name(&self) -> &str {
        self.rest.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rest.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Filter(filter) = &plan
            && let LogicalPlan::Aggregate(aggregate) = filter.input.as_ref()
            && aggregate.group_expr.is_empty()
        {
            return Ok(Transformed::no(plan));
        }
        self.rest.rewrite(plan, config)
    }
}
