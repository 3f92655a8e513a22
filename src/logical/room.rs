//! How the binder reaches the verbs that have a folder of their own (`src/verbs/`).
//!
//! A verb is bound by its room, from what the grammar found of it; SQL reaches the same room by a table function, by
//! `TABLESAMPLE` or by `COPY … TO`. The binder is given a list of rooms and knows none by name.

use super::catalog::Relations;
use super::positions::Positions;
use super::verbs::Bound;
use super::{Binder, Rooms};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::VerbCall;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{
    FunctionArg, Ident, ObjectName, ObjectNamePart, TableFactor, TableFunctionArgs, TableSample, VisitMut, VisitorMut,
};
use std::fmt;
use std::ops::ControlFlow;

/// A verb as the binder knows it.
pub trait Room: fmt::Debug + Sync {
    /// The word after `|>`, in capitals; its grammar rule is called `…_verb`.
    fn keyword(&self) -> &'static str;

    /// Binds the verb over the pipeline so far.
    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> Bound<LogicalPlan>;

    /// It can only be the last verb of a statement.
    fn ends_pipeline(&self) -> bool {
        false
    }

    /// The columns after it are those before it, so later verbs can be checked even if this one is wrong.
    fn keeps_columns(&self) -> bool {
        false
    }

    /// What SQL calls it after `FROM`.
    fn table_functions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Binds a call after `FROM` of one of these functions.
    fn bind_table_function(
        &self,
        _relations: &Relations,
        function: &Ident,
        _arguments: TableFunctionArgs,
        _context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        Err(crate::bug!("`{function}` is no table function").into())
    }

    /// Reads texts in the arguments of such a call that hold expressions, so that names in them are found like others.
    fn open_arguments(&self, _arguments: &mut [FunctionArg], _positions: &Positions) -> Vec<Diagnostic> {
        vec![]
    }

    /// Binds SQL's `TABLESAMPLE`, if this verb is what it means.
    fn bind_table_sample(
        &self,
        _relations: &Relations,
        _input: &LogicalPlan,
        _sample: &TableSample,
    ) -> Option<Result<LogicalPlan>> {
        None
    }

    /// Binds SQL's `COPY … TO`, if this verb is what it means.
    fn bind_copy(&self, _binder: &Binder<'_>, _input: &LogicalPlan, _copy: &CopyTo) -> Option<Bound<LogicalPlan>> {
        None
    }
}

/// `COPY … TO 'location' OPTIONS (…)`
#[derive(Debug, Clone)]
pub struct CopyTo {
    /// The file or folder.
    pub location: String,
    /// The options as written.
    pub options: Vec<(String, String)>,
    /// Where the location stands.
    pub span: Span,
}

/// The room of a table function, and the function's name as written.
pub(super) fn table_function(rooms: Rooms, name: &ObjectName) -> Option<(&'static dyn Room, Ident)> {
    let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return None };
    let is_its = |room: &&&dyn Room| room.table_functions().iter().any(|name| name.eq_ignore_ascii_case(&ident.value));
    rooms.iter().find(is_its).map(|room| (*room, ident.clone()))
}

/// Lets each room read the texts in calls of its functions.
pub(super) fn open_arguments<T: VisitMut>(tree: &mut T, rooms: Rooms, positions: &Positions) -> Bound<()> {
    let mut opener = Opener { rooms, positions, problems: vec![] };
    let _ = tree.visit(&mut opener);
    if opener.problems.is_empty() { Ok(()) } else { Err(opener.problems) }
}

struct Opener<'a> {
    rooms: Rooms,
    positions: &'a Positions,
    problems: Vec<Diagnostic>,
}

impl VisitorMut for Opener<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: Some(arguments), .. } = factor
            && let Some((room, _)) = table_function(self.rooms, name)
        {
            self.problems.extend(room.open_arguments(&mut arguments.args, self.positions));
        }
        ControlFlow::Continue(())
    }
}
