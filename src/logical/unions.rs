//! `UNION`, `INTERSECT` and `EXCEPT`, by the places of columns or by their names.

use super::Binder;
use super::row_sets::multiset;
use super::verbs::Bound;
use crate::diag::{Code, Span};
use crate::sources::EXTRA_COLUMN;
use crate::syntax::ast::{SetOperationKind, Source};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

impl Binder<'_> {
    pub(super) fn set_operation(
        &self,
        plan: LogicalPlan,
        kind: SetOperationKind,
        all: bool,
        sources: &[Source],
    ) -> Bound<LogicalPlan> {
        let mut plan = plan;
        for source in sources {
            let other = self.plan_factor(self.table_factor(source)?, source.span)?;
            let (with_extra, other) =
                with_extra_on_both(plan, other).map_err(|error| self.blame().explain(error, source.span))?;
            plan = with_extra;
            let (left, right) = (plan.schema().fields().len(), other.schema().fields().len());
            if left != right {
                let columns = |plan: &LogicalPlan| {
                    let names = plan.schema().fields().iter().map(|field| field.name().clone());
                    names.collect::<Vec<_>>().join(", ")
                };
                return Err(vec![
                    self.error(Code::Type, format!("the two sides have {left} and {right} columns"), source.span)
                        .at(format!("columns: {}", columns(&other)))
                        .help(format!("SELECT the same columns on both sides; the left side has: {}", columns(&plan))),
                ]);
            }
            plan = self.build(source.span, || {
                let left = LogicalPlanBuilder::from(plan);
                match (kind, all) {
                    (kind, true) => multiset(kind, left.build()?, other),
                    (SetOperationKind::Union, false) => left.union_distinct(other)?.build(),
                    (SetOperationKind::Intersect, false) => LogicalPlanBuilder::intersect(left.build()?, other, false),
                    (SetOperationKind::Except, false) => LogicalPlanBuilder::except(left.build()?, other, false),
                }
            })?;
        }
        Ok(plan)
    }

    /// `UNION [ALL] BY NAME`: a column that one side lacks is null there.
    pub(super) fn union_by_name(
        &self,
        plan: LogicalPlan,
        (kind, all): (SetOperationKind, bool),
        sources: &[Source],
        span: Span,
    ) -> Bound<LogicalPlan> {
        if kind != SetOperationKind::Union {
            let problem = self.error(Code::Unsupported, "only UNION takes columns BY NAME", span);
            return Err(vec![problem.help("SELECT the columns in the same order on both sides")]);
        }
        let mut plan = plan;
        for source in sources {
            let other = self.plan_factor(self.table_factor(source)?, source.span)?;
            plan = self.build(source.span, || {
                let left = LogicalPlanBuilder::from(plan);
                if all { left.union_by_name(other)?.build() } else { left.union_by_name_distinct(other)?.build() }
            })?;
        }
        Ok(plan)
    }
}

/// Both sides with the column for what fits no other, if one of them has it: whether a source does depends on how much of it
/// was looked at, which is not for its readers to know.
fn with_extra_on_both(left: LogicalPlan, right: LogicalPlan) -> Result<(LogicalPlan, LogicalPlan)> {
    let is_extra = |plan: &LogicalPlan| plan.schema().fields().last().is_some_and(|field| field.name() == EXTRA_COLUMN);
    Ok(match (is_extra(&left), is_extra(&right)) {
        (true, false) => (left, with_extra(right)?),
        (false, true) => (with_extra(left)?, right),
        _ => (left, right),
    })
}

fn with_extra(plan: LogicalPlan) -> Result<LogicalPlan> {
    let nothing = Expr::Literal(ScalarValue::Utf8(None), None).alias(EXTRA_COLUMN);
    let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).chain([nothing]).collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}
