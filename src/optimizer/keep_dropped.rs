//! `KeepDropped`: filters whose dropped rows are wanted record them.
//!
//! Not here: writing the dropped rows (`exec::Ledger`).

use super::guard_failing_conditions::{has_subquery, unfenced};
use crate::verb::{RecordedFilter, VerbNode, verb_plan};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Filter, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Makes every filter on the way of the documents a [`RecordedFilter`], if the query writes with `rejects`.
///
/// ```text
/// Write: 'clean/', rejects = rejects/            Write: 'clean/', rejects = rejects/
///   Filter: words(text) > 50              ⇒        RecordedFilter: words(text) > 50
/// ```
/// Sound: a recorded filter keeps the rows that the filter keeps. A condition with a subquery becomes a join and records
/// nothing, so those before it and after it get filters of their own, in the order in which they were written:
///
/// ```text
/// Filter: words(text) > 50 AND host NOT IN (…)         Filter: host NOT IN (…)
///                                               ⇒        RecordedFilter: words(text) > 50
/// ```
/// Refuses the side inputs of joins: what they drop are no documents.
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
        LogicalPlan::Filter(filter) => recorded_filter(filter),
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

fn recorded_filter(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let filter = unfenced(filter)?;
    let conditions = split_conjunction_owned(filter.predicate.clone());
    if conditions.iter().all(has_subquery) {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let mut plan = Arc::unwrap_or_clone(filter.input);
    for alike in conditions.chunk_by(|one, next| has_subquery(one) == has_subquery(next)) {
        let Some(predicate) = conjunction(alike.iter().cloned()) else { continue };
        plan = if alike.iter().all(has_subquery) {
            LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?)
        } else {
            verb_plan(RecordedFilter { predicate }, vec![plan])?
        };
    }
    Ok(Transformed::yes(plan))
}
