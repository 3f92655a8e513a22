//! `DECONTAMINATE [ON text] AGAINST 'files' [WITH (…)]`, in SQL `FROM decontaminate(docs, against => 'files')`: documents that hold
//! texts of evaluations go, or the texts are cut out of them.

mod bind;
mod exec;
mod verb;

pub use verb::{Decontaminate, DecontaminateRequest};

use crate::Error;
use crate::diag::Code;
use crate::logical::{Binder, BoundVerb, Relations, Room};
use crate::sources::SourceSpec;
use crate::syntax::ast::{Slice, VerbCall};
use crate::verbs::call::TableCall;
use crate::verbs::dedup::bind::cql::{given, keyed};
use bind::{AskedDecontaminate, bind_decontaminate};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{Ident, Spanned, TableFunctionArgs};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;

/// Binds the verb.
#[derive(Debug)]
pub struct DecontaminateRoom;

impl Room for DecontaminateRoom {
    fn keyword(&self) -> &'static str {
        "DECONTAMINATE"
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        let on = call.slice("key_before_clause").map(|slice: Slice| keyed(binder, &input, slice)).transpose()?;
        let given = given(binder, &call.options)?;
        let Some(path) = call.name("path") else {
            return Err(vec![binder.error(Code::Syntax, "DECONTAMINATE needs the evaluation files", call.span)]);
        };
        let spec = SourceSpec { location: binder.parameter_path(&path)?, ..SourceSpec::default() };
        let evals = binder.relations().scan_with_file(&spec, SqlSpan::empty());
        let asked = AskedDecontaminate {
            place: binder.place(call.span),
            on,
            given,
            eval_rows: evals.map_err(|error| binder.blame().explain(error, path.span))?,
            evals: spec.location,
            evals_place: binder.place(path.span),
        };
        bind_decontaminate(input, asked).map_err(|error| binder.blame().explain(error, call.span))
    }

    fn table_functions(&self) -> &'static [&'static str] {
        &["decontaminate"]
    }

    fn bind_table_function(
        &self,
        relations: &Relations,
        function: &Ident,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let mut call = TableCall::read(relations, function, arguments, context)?;
        let place = relations.place(function.span);
        let against = call.take("against");
        let given = call.given()?;
        let Some(against) = against else {
            let problem = place.error(Code::Arguments, "`decontaminate` needs `against`, the evaluation files");
            return Err(Error::from(problem.help("write against => 'evals/*.jsonl'")).into());
        };
        if let Some(second) = call.on.get(1) {
            return Err(Error::from(second.place.error(Code::Arguments, "`decontaminate` reads one text")).into());
        }
        let spec = SourceSpec { location: call.text(&against, "against")?, ..SourceSpec::default() };
        let asked = AskedDecontaminate {
            place,
            eval_rows: relations.scan_with_file(&spec, against.span())?,
            on: call.on.into_iter().next(),
            given,
            evals: spec.location,
            evals_place: relations.place(against.span()),
        };
        bind_decontaminate(call.plan, asked)
    }
}
