//! `KeepSortKeys`: every column of an `ORDER BY` counts.
//!
//! Stands in for DataFusion's `EliminateDuplicatedExpr`, which in version 55 also drops sort keys that it takes to be
//! determined by earlier ones; after a join of groups they may not be. What it does for groups, it still does.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// DataFusion's rule, but for sorts.
///
/// ```text
/// Sort: a, b   ⇒   Sort: a, b      (before: Sort: a, where `a` was thought to determine `b`)
/// ```
/// Sound because it does less. A key that stands twice costs nothing: `KeepInputOrder` and executors leave it out.
#[derive(Debug)]
pub struct KeepSortKeys {
    rest: EliminateDuplicatedExpr,
}

impl KeepSortKeys {
    /// The rule, if this is the one whose place it takes; else that one.
    pub fn in_place_of(rule: Arc<dyn OptimizerRule + Send + Sync>) -> Arc<dyn OptimizerRule + Send + Sync> {
        let keep = Self { rest: EliminateDuplicatedExpr::new() };
        if rule.name() == keep.rest.name() { Arc::new(keep) } else { rule }
    }
}

impl OptimizerRule for KeepSortKeys {
    fn name(&self) -> &str {
        "KeepSortKeys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rest.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Sort(_) => Ok(Transformed::no(plan)),
            other => self.rest.rewrite(other, config),
        }
    }
}
