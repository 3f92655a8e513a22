//! `ASSERT condition, … [GROUP BY key, …]`, in SQL `FROM assert(docs, condition, …, by => …)`: rows pass, and the run ends with an error
//! if a condition on aggregates of all of them does not hold.
//!
//! ```text
//! partition 0 ──rows──► on they go            conditions: avg(n) > 5 AND count(*) >= 10
//!             └─► accumulators ┐              aggregates: avg(n), count(*)
//! partition 1 ──rows──► …      ├─► combined when the last row has passed ──► conditions
//!             └─► accumulators ┘
//! ```
//! What is above reads its last row only after the conditions held, so nothing is committed if they do not.

mod bind;
mod exec;
mod verb;

use crate::Error;
use crate::diag::Code;
use crate::logical::{Binder, BoundVerb, Relations, Room};
use crate::syntax::ast::VerbCall;
use crate::verbs::call::TableCall;
use crate::verbs::dedup::bind::cql::keyed;
use bind::Asked;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{Ident, TableFunctionArgs};

/// Binds the verb.
#[derive(Debug)]
pub struct AssertRoom;

impl Room for AssertRoom {
    fn keyword(&self) -> &'static str {
        "ASSERT"
    }

    fn keeps_columns(&self) -> bool {
        true
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        let all = |rule: &str| -> BoundVerb<Vec<_>> {
            call.slices(rule).into_iter().map(|slice| keyed(binder, &input, slice)).collect()
        };
        let asked = Asked { conditions: all("assert_condition")?, by: all("assert_key")? };
        asked.bind(input).map_err(|error| binder.blame().explain(error, call.span))
    }

    fn table_functions(&self) -> &'static [&'static str] {
        &["assert"]
    }

    fn bind_table_function(
        &self,
        relations: &Relations,
        function: &Ident,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let mut call = TableCall::read(relations, function, arguments, context)?;
        let by = call.take("by");
        let schema = call.plan.schema().clone();
        let by = match by {
            Some(key) => {
                use datafusion::sql::sqlparser::ast::Spanned;
                let place = relations.place(key.span());
                vec![crate::verbs::dedup::bind::asked::Keyed { expr: context.sql_to_expr(key, &schema)?, place }]
            }
            None => vec![],
        };
        if call.on.is_empty() || !call.named.is_empty() {
            let place = relations.place(function.span);
            let problem = place.error(Code::Arguments, "`assert` takes a table, conditions, and `by`");
            return Err(Error::from(problem.help("write `assert(docs, count(*) >= 10, by => source)`")).into());
        }
        Asked { conditions: call.on, by }.bind(call.plan)
    }
}
