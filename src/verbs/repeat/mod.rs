//! `REPEAT n [AS copy]`, in SQL `FROM repeat(docs, n, name => 'copy')`: each row `n` times, one copy after the other.
//!
//! `n` is a number of each row: good documents may come more often than others, and a row with 0, or without a number, goes.

mod exec;

use crate::Error;
use crate::diag::Code;
use crate::logical::{Binder, BoundVerb, Place, Relations, Room, type_name};
use crate::syntax::ast::VerbCall;
use crate::verb::{Planning, RowOrder, Verb, verb_plan};
use crate::verbs::call::TableCall;
use crate::verbs::dedup::bind::asked::Keyed;
use crate::verbs::dedup::bind::cql::keyed;
use crate::verbs::dedup::bind::label::written;
use arrow::datatypes::{DataType, Field};
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::{Ident, TableFunctionArgs};
use std::sync::Arc;

/// Binds the verb.
#[derive(Debug)]
pub struct RepeatRoom;

/// What a query asks of `REPEAT`.
struct Asked {
    times: Keyed,
    name: Option<String>,
    place: Place,
}

impl Room for RepeatRoom {
    fn keyword(&self) -> &'static str {
        "REPEAT"
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        let Some(times) = call.slice("repeat_times") else {
            return Err(vec![binder.error(Code::Syntax, "REPEAT takes a number of times", call.span)]);
        };
        let times = keyed(binder, &input, times)?;
        let asked = Asked { times, name: call.name("name").map(|name| name.text), place: binder.place(call.span) };
        asked.bind(input).map_err(|error| binder.blame().explain(error, call.span))
    }

    fn table_functions(&self) -> &'static [&'static str] {
        &["repeat"]
    }

    fn bind_table_function(
        &self,
        relations: &Relations,
        function: &Ident,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let mut call = TableCall::read(relations, function, arguments, context)?;
        let name = call.take("name").map(|name| call.text(&name, "name")).transpose()?;
        let place = relations.place(function.span);
        let times = call.on.pop().filter(|_| call.on.is_empty() && call.named.is_empty());
        let Some(times) = times else {
            let problem = place.error(Code::Arguments, "`repeat` takes a table, a number, and `name`");
            return Err(
                Error::from(problem.help("write `repeat(docs, 2)` or `repeat(docs, n, name => 'copy')`")).into()
            );
        };
        Asked { times, name, place }.bind(call.plan)
    }
}

impl Asked {
    fn bind(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        self.times.refuse_other_rows("REPEAT").map_err(Error::from)?;
        let given = self.times.expr.get_type(plan.schema())?;
        if !given.is_integer() && given != DataType::Null {
            let message = format!("REPEAT takes a whole number, this is {}", type_name(&given));
            let problem = self.times.place.error(Code::Type, message);
            return Err(Error::from(problem.help("CAST(… AS BIGINT), floor or round makes one")).into());
        }
        if let Some(name) = self.name.as_ref().filter(|name| plan.schema().has_column_with_unqualified_name(name)) {
            let problem = self.place.error(Code::Duplicate, format!("there is a column `{name}` already"));
            return Err(Error::from(problem.help("give the new one another name")).into());
        }
        let label = written(&self.times.expr);
        let mut times = "_repeat_times".to_string();
        while plan.schema().has_column_with_unqualified_name(&times) {
            times.push('_');
        }
        let added = cast(self.times.expr, DataType::Int64).alias(&times);
        let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).chain([added]).collect();
        let rows = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
        verb_plan(Repeat { label, times: [Column::new_unqualified(times)], name: self.name }, vec![rows])
    }
}

/// Gives each row so many times.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// The number as written.
    label: String,
    /// The hidden column that holds it.
    times: [Column; 1],
    /// A column that numbers the copies of a row, from 1.
    name: Option<String>,
}

impl Verb for Repeat {
    fn name(&self) -> &'static str {
        "Repeat"
    }

    fn details(&self) -> String {
        self.name.as_ref().map_or_else(|| self.label.clone(), |name| format!("{} AS {name}", self.label))
    }

    fn order(&self) -> RowOrder {
        RowOrder::Splits
    }

    fn hidden(&self) -> &[Column] {
        &self.times
    }

    fn adds(&self) -> Vec<Field> {
        self.name.iter().map(|name| Field::new(name, DataType::Int64, false)).collect()
    }

    fn takes_later_rows_alone(&self) -> bool {
        true
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let [times] = &self.times;
        planning.exec(exec::RepeatRows { verb: self.clone(), times: planning.index_of(times)? })
    }
}
