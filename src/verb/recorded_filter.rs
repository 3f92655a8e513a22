//! A filter whose dropped rows are wanted: `INTO … WITH (rejects = …)`.
//!
//! It sees every row of its input, whole: no rule pushes it into a source, past another node, or takes columns from
//! below it. No user writes it; `KeepDropped` puts it in the place of filters.

use super::{Planning, RowOrder, Verb};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Keeps the rows for which the condition is true; the others go to the drop ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedFilter {
    /// The condition.
    pub predicate: Expr,
}

impl Verb for RecordedFilter {
    fn name(&self) -> &'static str {
        "RecordedFilter"
    }

    fn details(&self) -> String {
        self.predicate.to_string()
    }

    fn order(&self) -> RowOrder {
        RowOrder::Indifferent
    }

    fn needs_whole_rows(&self) -> bool {
        true
    }

    fn takes_later_rows_alone(&self) -> bool {
        true
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.predicate.clone()]
    }

    fn with_expressions(&self, mut exprs: Vec<Expr>) -> Result<Arc<dyn Verb>> {
        match (exprs.pop(), exprs.is_empty()) {
            (Some(predicate), true) => Ok(Arc::new(Self { predicate })),
            _ => Err(crate::bug!("a filter has one condition").into()),
        }
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        match (planning.expressions.as_slice(), planning.inputs) {
            ([condition], [rows]) => (planning.recorded_filter)(Arc::clone(condition), rows),
            _ => Err(crate::bug!("a filter has one condition and one input").into()),
        }
    }
}
