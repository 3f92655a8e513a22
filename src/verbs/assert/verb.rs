//! `ASSERT` in the plan.

use super::bind::results_schema;
use super::exec::{AssertRows, PlannedAggregate, PlannedCondition};
use crate::verb::{Planning, RowOrder, Verb};
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{AggregateUDF, Expr};
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::{Column as PhysicalColumn, Literal};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Conditions on all rows together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assert {
    pub request: Arc<AssertRequest>,
}

/// What is to hold.
#[derive(Debug, PartialEq)]
pub(super) struct AssertRequest {
    /// The verb as the funnel names it.
    pub label: String,
    pub conditions: Vec<Condition>,
    /// What the conditions are about.
    pub aggregates: Vec<Aggregate>,
    /// The groups: hidden columns, and what they were made of.
    pub by: Vec<(Column, String)>,
    pub hidden: Vec<Column>,
}

/// One condition.
#[derive(Debug, PartialEq)]
pub(super) struct Condition {
    /// As one would write it.
    pub shown: String,
    /// Over the results of aggregates, columns `_0`, `_1`, ….
    pub expr: Expr,
    /// The aggregates that it is about.
    pub about: Vec<usize>,
}

/// An aggregate of the rows.
#[derive(Debug, PartialEq)]
pub(super) struct Aggregate {
    pub shown: String,
    pub function: Arc<AggregateUDF>,
    pub args: Vec<Argument>,
    pub is_distinct: bool,
    pub filter: Option<Column>,
    pub result: FieldRef,
}

/// What an aggregate reads.
#[derive(Debug, PartialEq)]
pub(super) enum Argument {
    Column(Column),
    Constant(ScalarValue),
}

impl Verb for Assert {
    fn name(&self) -> &'static str {
        "Assert"
    }

    fn details(&self) -> String {
        self.request.label.trim_start_matches("ASSERT ").to_string()
    }

    fn order(&self) -> RowOrder {
        RowOrder::Keeps
    }

    fn hidden(&self) -> &[Column] {
        &self.request.hidden
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let request = &self.request;
        let schema: Arc<Schema> = Arc::clone(planning.node.rows().schema().inner());
        let mut aggregates = Vec::new();
        for aggregate in &request.aggregates {
            let arg = |arg: &Argument| -> Result<Arc<dyn PhysicalExpr>> {
                Ok(match arg {
                    Argument::Column(column) => Arc::new(PhysicalColumn::new(&column.name, planning.index_of(column)?)),
                    Argument::Constant(value) => Arc::new(Literal::new(value.clone())),
                })
            };
            let args = aggregate.args.iter().map(arg).collect::<Result<Vec<_>>>()?;
            let function = AggregateExprBuilder::new(Arc::clone(&aggregate.function), args)
                .schema(Arc::clone(&schema))
                .alias(aggregate.result.name())
                .with_distinct(aggregate.is_distinct)
                .build()?;
            let filter = aggregate.filter.as_ref().map(|column| planning.index_of(column)).transpose()?;
            aggregates.push(PlannedAggregate { shown: aggregate.shown.clone(), function: Arc::new(function), filter });
        }
        let results = Arc::new(results_schema(&request.aggregates));
        let results_df = DFSchema::try_from(results.as_ref().clone())?;
        let condition = |condition: &Condition| {
            let expr = create_physical_expr(
                &condition.expr,
                &results_df,
                &ExecutionProps::new(),
                &PhysicalPlanningContext::default(),
            )?;
            Ok(PlannedCondition { shown: condition.shown.clone(), expr, about: condition.about.clone() })
        };
        planning.exec(AssertRows {
            verb: self.clone(),
            aggregates: Arc::new(aggregates),
            conditions: request.conditions.iter().map(condition).collect::<Result<Vec<_>>>()?.into(),
            by: request.by.iter().map(|(column, _)| planning.index_of(column)).collect::<Result<Vec<_>>>()?,
            results,
        })
    }
}
