//! `DEDUP method ON … [KEEP …] [AGAINST INDEX …] [WITH (…)]`, in SQL `FROM dedup_exact(docs, text, …)`: rows that repeat others go.
//!
//! ```text
//! read.rs clauses ──► bind/ keys as hidden columns ──► verb.rs in the plan ──► exec/ keys decide, documents follow
//! ```

pub(in crate::verbs) mod bind;
pub(in crate::verbs) mod exec;
mod read;
mod verb;

pub use bind::first_rows::first_rows;
pub use exec::{Comparisons, DedupColumns, Deduplication};
pub use verb::{Dedup, DedupRequest};

use crate::diag::Diagnostic;
use crate::logical::{Binder, BoundVerb, Positions, Relations, Room};
use crate::syntax::ast::VerbCall;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{FunctionArg, Ident, TableFunctionArgs};

/// Binds the verb.
#[derive(Debug)]
pub struct DedupRoom;

impl Room for DedupRoom {
    fn keyword(&self) -> &'static str {
        "DEDUP"
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        bind::cql::bind_verb(binder, input, call)
    }

    fn table_functions(&self) -> &'static [&'static str] {
        &bind::sql::TABLE_FUNCTIONS
    }

    fn bind_table_function(
        &self,
        relations: &Relations,
        function: &Ident,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        bind::sql::bind_table_function(relations, function, arguments, context)
    }

    fn open_arguments(&self, arguments: &mut [FunctionArg], positions: &Positions) -> Vec<Diagnostic> {
        bind::sql::open_keep_texts(arguments, positions)
    }
}
