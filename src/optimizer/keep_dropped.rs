//! `KeepDropped`: filters whose dropped rows are wanted become screens.
//!
//! Not here: writing the dropped rows (`exec::Ledger`).

use crate::logical::nodes::{Decontaminate, Dedup, Screen, Write};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Makes every filter on the way of the documents a [`Screen`], if the query writes with `rejects`.
///
/// ```text
/// Write: 'clean/', rejects = rejects/            Write: 'clean/', rejects = rejects/
///   Filter: words(text) > 50              ⇒        Screen: words(text) > 50
/// ```
/// Sound: a screen keeps the rows that the filter keeps. Refuses filters with a subquery, which become joins, and the
/// side inputs of joins: what they drop are no documents.
#[derive(Debug)]
pub struct KeepDropped;

impl AnalyzerRule for KeepDropped {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let wants_dropped = match &plan {
            LogicalPlan::Extension(extension) => extension
                .node
                .as_any()
                .downcast_ref::<Write>()
                .is_some_and(|write| write.options.iter().any(|(name, _)| name == "rejects")),
            _ => false,
        };
        if !wants_dropped {
            return Ok(plan);
        }
        screened(plan)
    }

    fn name(&self) -> &str {
        "KeepDropped"
    }
}

fn screened(plan: LogicalPlan) -> Result<LogicalPlan> {
    let screened = plan.transform_down(|node| match node {
        LogicalPlan::Filter(filter) if !has_subquery(&filter.predicate)? => {
            let screen = Screen { input: Arc::unwrap_or_clone(filter.input), predicate: filter.predicate };
            Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(screen) })))
        }
        LogicalPlan::Extension(Extension { node }) => {
            let dedup = node.as_any().downcast_ref::<Dedup>().cloned();
            let decontaminate = node.as_any().downcast_ref::<Decontaminate>().cloned();
            let node: Arc<dyn UserDefinedLogicalNode> = match (dedup, decontaminate) {
                (Some(dedup), _) => Arc::new(dedup.wanting_dropped()),
                (None, Some(decontaminate)) => Arc::new(decontaminate.wanting_dropped()),
                (None, None) => return Ok(Transformed::no(LogicalPlan::Extension(Extension { node }))),
            };
            Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
        }
        LogicalPlan::Join(mut join) => {
            join.left = Arc::new(screened(Arc::unwrap_or_clone(join.left))?);
            Ok(Transformed::new(LogicalPlan::Join(join), true, TreeNodeRecursion::Jump))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(screened.data)
}

fn has_subquery(predicate: &Expr) -> Result<bool> {
    predicate.exists(|node| Ok(matches!(node, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_))))
}
