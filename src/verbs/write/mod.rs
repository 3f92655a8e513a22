//! `INTO 'location' [WITH (…)]`, in SQL `COPY … TO 'location'`: the rows go to files.

mod bind;
mod exec;
mod inputs;
mod verb;

pub use verb::Write;

use crate::logical::{Binder, BoundVerb, CopyTo, Room};
use crate::syntax::ast::VerbCall;
use bind::{OutputPlaces, bind_into, bind_write};
use datafusion::logical_expr::LogicalPlan;

/// Binds the verb.
#[derive(Debug)]
pub struct IntoRoom;

impl Room for IntoRoom {
    fn keyword(&self) -> &'static str {
        "INTO"
    }

    fn ends_pipeline(&self) -> bool {
        true
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        bind_into(binder, input, call)
    }

    fn bind_copy(&self, binder: &Binder<'_>, input: &LogicalPlan, copy: &CopyTo) -> Option<BoundVerb<LogicalPlan>> {
        // SQL's parser does not keep the places of options.
        let places = OutputPlaces { path: copy.span, options: &[] };
        Some(bind_write(binder, input.clone(), copy.location.clone(), copy.options.clone(), &places))
    }
}
