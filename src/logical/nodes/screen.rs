//! A filter whose dropped rows are wanted: `INTO … WITH (rejects = …)`.
//!
//! It sees every row of its input, whole: no rule pushes it into a source, past another node, or takes columns from
//! below it.

use super::only_input;
use datafusion::common::DFSchemaRef;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use std::fmt;

/// Keeps the rows for which the condition is true; the others go to the drop ledger.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub struct Screen {
    /// The rows to look at.
    pub input: LogicalPlan,
    /// The condition.
    pub predicate: Expr,
}

impl UserDefinedLogicalNodeCore for Screen {
    fn name(&self) -> &str {
        "Screen"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.predicate.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Screen: {}", self.predicate)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(predicate) = exprs.pop() else { return Err(crate::bug!("a screen has a condition").into()) };
        // Rules that rewrite expressions keep their names by an alias; a condition has no use for one.
        Ok(Self { input: only_input("Screen", inputs)?, predicate: predicate.unalias() })
    }
}
