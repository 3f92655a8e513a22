//! The verb `JOIN`.

use super::plan::{own_name, with_named_keys};
use crate::diag::Span;
use crate::logical::Binder;
use crate::logical::tree::{all_columns, ident, named_table, object_name, select_from};
use crate::logical::verbs::Bound;
use crate::syntax::ast::{JoinCondition, JoinKind, Source};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{Join, JoinConstraint, JoinOperator, SetExpr, TableFactor, TableWithJoins};

impl Binder<'_> {
    pub(in crate::logical) fn join(
        &self,
        plan: LogicalPlan,
        kind: JoinKind,
        source: &Source,
        condition: &JoinCondition,
        span: Span,
    ) -> Bound<LogicalPlan> {
        let relation = self.table_factor(source)?;
        let constraint = match condition {
            JoinCondition::None => JoinConstraint::None,
            JoinCondition::Using(columns) => {
                self.existing_columns(&plan, columns.iter())?;
                let right = self.plan_factor(relation.clone(), source.span)?;
                self.existing_columns(&right, columns.iter())?;
                JoinConstraint::Using(columns.iter().map(|name| object_name(ident(name))).collect())
            }
            JoinCondition::On(condition) => {
                let right = self.plan_factor(relation.clone(), source.span)?;
                let both = self.build(span, || LogicalPlanBuilder::from(plan.clone()).cross_join(right)?.build())?;
                JoinConstraint::On(self.expr(&both, *condition)?)
            }
        };
        let join_operator = match kind {
            JoinKind::Inner => JoinOperator::Inner(constraint),
            JoinKind::Left => JoinOperator::Left(constraint),
            JoinKind::Right => JoinOperator::Right(constraint),
            JoinKind::Full => JoinOperator::FullOuter(constraint),
            JoinKind::Cross => JoinOperator::CrossJoin(constraint),
            JoinKind::LeftSemi => JoinOperator::LeftSemi(constraint),
            JoinKind::LeftAnti => JoinOperator::LeftAnti(constraint),
        };
        let join = Join { relation, global: false, join_operator };
        // The other kinds of joins name their keys themselves.
        if let (JoinCondition::Using(names), JoinKind::LeftSemi | JoinKind::LeftAnti) = (condition, kind) {
            let keys: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
            let plan = self.build(span, || with_named_keys(plan, "left", &keys))?;
            let plan = self.plan_joined(plan, join, span)?;
            let columns: Vec<Expr> = plan.schema().columns().iter().map(own_name).collect();
            return self.build(span, || LogicalPlanBuilder::from(plan).project(columns)?.build());
        }
        if let JoinCondition::Using(_) = condition {
            // A join in brackets is planned by us: the shared columns stand once.
            let joined = TableWithJoins { relation: named_table(self.relations.pipe(plan), None), joins: vec![join] };
            let relation = TableFactor::NestedJoin { table_with_joins: Box::new(joined), alias: None };
            return self.plan_factor(relation, span);
        }
        self.plan_joined(plan, join, span)
    }

    fn plan_joined(&self, plan: LogicalPlan, join: Join, span: Span) -> Bound<LogicalPlan> {
        let mut query = select_from(named_table(self.relations.pipe(plan), None), vec![all_columns()]);
        if let SetExpr::Select(select) = query.body.as_mut()
            && let Some(from) = select.from.first_mut()
        {
            from.joins.push(join);
        }
        self.plan_query(query, span)
    }
}
