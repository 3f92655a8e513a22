//! `KeepDropped`: filters whose dropped rows are wanted record them.
//!
//! Not here: writing the dropped rows (`exec::Ledger`).

use crate::verb::{RecordedFilter, VerbNode, verb_plan};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Makes every filter on the way of the documents a [`RecordedFilter`], if the query writes with `rejects`.
///
/// ```text
/// Write: 'clean/', rejects = rejects/            Write: 'clean/', rejects = rejects/
///   Filter: words(text) > 50              ⇒        RecordedFilter: words(text) > 50
/// ```
/// Sound: a recorded filter keeps the rows that the filter keeps. Refuses filters with a subquery, which become joins, and the
/// side inputs of joins: what they drop are no documents.
#[derive(Debug)]
pub struct KeepDropped;

impl AnalyzerRule for KeepDropped {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let wants_ledger = VerbNode::of(&plan).is_some_and(|node| node.verb.wants_ledger());
        if wants_ledger { recorded(plan) } else { Ok(plan) }
    }

    fn name(&self) -> &str {
        "KeepDropped"
    }
}

fn recorded(plan: LogicalPlan) -> Result<LogicalPlan> {
    let recorded_plan = plan.transform_down(|node| match node {
        LogicalPlan::Filter(filter) if !has_subquery(&filter.predicate)? => {
            let input = Arc::unwrap_or_clone(filter.input);
            Ok(Transformed::yes(verb_plan(RecordedFilter { predicate: filter.predicate }, vec![input])?))
        }
        LogicalPlan::Extension(_) => {
            let verb = VerbNode::of(&node).and_then(|verb| Some((verb, verb.verb.recording_drops()?)));
            match verb {
                Some((verb, recording)) => Ok(Transformed::yes(verb.with_verb(recording)?.into_plan())),
                None => Ok(Transformed::no(node)),
            }
        }
        LogicalPlan::Join(mut join) => {
            join.left = Arc::new(recorded(Arc::unwrap_or_clone(join.left))?);
            Ok(Transformed::new(LogicalPlan::Join(join), true, TreeNodeRecursion::Jump))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(recorded_plan.data)
}

fn has_subquery(predicate: &Expr) -> Result<bool> {
    predicate.exists(|node| Ok(matches!(node, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_))))
}
