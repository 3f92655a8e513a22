//! `SHUFFLE [SEED s]`: all rows in another order, the same one on every run.
//!
//! The order depends on the seed and on the number of rows before each row, so the input must be in a defined order.

mod exec;

use crate::logical::{Binder, BoundVerb, Room};
use crate::syntax::ast::VerbCall;
use crate::verb::{Planning, RowOrder, Verb, verb_plan};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Binds the verb.
#[derive(Debug)]
pub struct ShuffleRoom;

impl Room for ShuffleRoom {
    fn keyword(&self) -> &'static str {
        "SHUFFLE"
    }

    fn keeps_columns(&self) -> bool {
        true
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        let seed = binder.seed(&input, call)?;
        verb_plan(Shuffle { seed }, vec![input]).map_err(|error| binder.blame().explain(error, call.span))
    }
}

/// Puts rows into another order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shuffle {
    /// Another seed, another order.
    seed: u64,
}

impl Verb for Shuffle {
    fn name(&self) -> &'static str {
        "Shuffle"
    }

    fn details(&self) -> String {
        format!("SEED {}", self.seed)
    }

    fn order(&self) -> RowOrder {
        RowOrder::Makes
    }

    fn depends_on_cuts(&self) -> bool {
        true
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        planning.exec(*self)
    }
}
