//! CQL's `DEDUP`: slices of the text to planned expressions.

use super::asked::{Asked, AskedIndex, AskedKeep, AskedOrder, Given, Keyed, which_of};
use super::request::bind_dedup;
use crate::dedup::AgainstMode;
use crate::logical::{Binder, BoundVerb};
use crate::syntax::ast::{OptionItem, Slice, VerbCall};
use crate::verbs::dedup::read::{KeepClause, clauses};
use datafusion::logical_expr::LogicalPlan;

/// Binds the verb over the pipeline so far.
pub fn bind_verb(binder: &Binder<'_>, plan: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
    let dedup = clauses(binder, call)?;
    let mut problems = Vec::new();
    let mut on = Vec::new();
    for slice in &dedup.on {
        match keyed(binder, &plan, *slice) {
            Ok(key) => on.push(key),
            Err(found) => problems.extend(found),
        }
    }
    let keep = dedup.keep.as_ref().map(|keep| asked_keep(binder, &plan, keep)).transpose();
    let keep = keep.unwrap_or_else(|found| {
        problems.extend(found);
        None
    });
    let given = given(binder, dedup.options).unwrap_or_else(|found| {
        problems.extend(found);
        vec![]
    });
    if !problems.is_empty() {
        return Err(problems);
    }
    let against = match &dedup.against {
        Some(against) => Some(AskedIndex {
            path: binder.parameter_path(&against.path)?,
            mode: if against.read_only { AgainstMode::ReadOnly } else { AgainstMode::Append },
            place: binder.place(against.span),
        }),
        None => None,
    };
    let asked = Asked { method: dedup.method, place: binder.place(dedup.method_span), on, given, keep, against };
    bind_dedup(plan, asked, &binder.catalog()).map_err(|error| binder.blame().explain(error, call.span))
}

/// What is compared.
pub fn keyed(binder: &Binder<'_>, plan: &LogicalPlan, slice: Slice) -> BoundVerb<Keyed> {
    let expr = binder.expr(plan, slice)?;
    Ok(Keyed { expr: binder.check(plan, &expr, slice.span)?, place: binder.place(slice.span) })
}

fn asked_keep(binder: &Binder<'_>, plan: &LogicalPlan, keep: &KeepClause) -> BoundVerb<AskedKeep> {
    let mut by = Vec::new();
    for slice in &keep.by {
        let mut order = binder.reader().order_by(slice.span).map_err(|problem| vec![problem])?;
        binder.rewrite(&mut order)?;
        by.push(AskedOrder {
            expr: binder.check(plan, &order.expr, slice.span)?,
            descending: order.options.asc == Some(false),
            nulls_first: order.options.nulls_first,
            place: binder.place(slice.span),
        });
    }
    let per = keep.per.iter().map(|slice| keyed(binder, plan, *slice)).collect::<BoundVerb<Vec<_>>>()?;
    Ok(AskedKeep { which: which_of(keep.which), per, by, place: binder.place(keep.span) })
}

/// The options of `WITH`, with their places.
pub fn given(binder: &Binder<'_>, options: &[OptionItem]) -> BoundVerb<Vec<Given>> {
    let mut given = Vec::new();
    for option in options {
        given.push(Given {
            name: option.name.text.clone(),
            value: binder.option_text(option)?,
            name_place: binder.place(option.name.span),
            value_place: binder.place(option.value_span),
        });
    }
    Ok(given)
}
