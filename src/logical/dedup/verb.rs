//! CQL's `DEDUP` and `DECONTAMINATE`: slices of the text to planned expressions.

use super::asked::{Asked, AskedIndex, AskedKeep, AskedOrder, Given, Keyed, which_of};
use super::bind::bind_dedup;
use super::decontaminate::{AskedDecontaminate, bind_decontaminate};
use crate::dedup::AgainstMode;
use crate::diag::Span;
use crate::logical::Binder;
use crate::logical::positions::Place;
use crate::logical::verbs::Bound;
use crate::sources::SourceSpec;
use crate::syntax::ast::{Decontaminate, Dedup, KeepClause, OptionItem, Slice};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;

impl Binder<'_> {
    pub(in crate::logical) fn dedup(&self, plan: LogicalPlan, dedup: &Dedup, span: Span) -> Bound<LogicalPlan> {
        let mut problems = Vec::new();
        let mut on = Vec::new();
        for slice in &dedup.on {
            match self.keyed(&plan, *slice) {
                Ok(key) => on.push(key),
                Err(found) => problems.extend(found),
            }
        }
        let keep = dedup.keep.as_ref().map(|keep| self.asked_keep(&plan, keep)).transpose();
        let keep = keep.unwrap_or_else(|found| {
            problems.extend(found);
            None
        });
        let given = self.given(&dedup.options).unwrap_or_else(|found| {
            problems.extend(found);
            vec![]
        });
        if !problems.is_empty() {
            return Err(problems);
        }
        let against = match &dedup.against {
            Some(against) => Some(AskedIndex {
                path: self.parameter_path(&against.path)?,
                mode: if against.read_only { AgainstMode::ReadOnly } else { AgainstMode::Append },
                place: self.here(against.span),
            }),
            None => None,
        };
        let asked = Asked { method: dedup.method, place: self.here(dedup.method_span), on, given, keep, against };
        bind_dedup(plan, asked, &self.catalog()).map_err(|error| self.blame().explain(error, span))
    }

    pub(in crate::logical) fn decontaminate(
        &self,
        plan: LogicalPlan,
        decontaminate: &Decontaminate,
        span: Span,
    ) -> Bound<LogicalPlan> {
        let on = decontaminate.on.map(|slice| self.keyed(&plan, slice)).transpose()?;
        let given = self.given(&decontaminate.options)?;
        let path = &decontaminate.against;
        let spec = SourceSpec { location: self.parameter_path(path)?, ..SourceSpec::default() };
        let evals = self.relations.scan_with_file(&spec, SqlSpan::empty());
        let evals = evals.map_err(|error| self.blame().explain(error, path.span))?;
        let asked = AskedDecontaminate {
            place: self.here(span),
            on,
            given,
            evals: spec.location,
            eval_rows: evals,
            evals_place: self.here(path.span),
        };
        bind_decontaminate(plan, asked).map_err(|error| self.blame().explain(error, span))
    }

    fn here(&self, span: Span) -> Place {
        Place { source: self.source.clone(), span, call: None }
    }

    fn keyed(&self, plan: &LogicalPlan, slice: Slice) -> Bound<Keyed> {
        let expr = self.expr(plan, slice)?;
        Ok(Keyed { expr: self.check(plan, &expr, slice.span)?, place: self.here(slice.span) })
    }

    fn asked_keep(&self, plan: &LogicalPlan, keep: &KeepClause) -> Bound<AskedKeep> {
        let mut by = Vec::new();
        for slice in &keep.by {
            let mut order = self.reader().order_by(slice.span).map_err(|problem| vec![problem])?;
            self.rewrite(&mut order)?;
            by.push(AskedOrder {
                expr: self.check(plan, &order.expr, slice.span)?,
                descending: order.options.asc == Some(false),
                nulls_first: order.options.nulls_first,
                place: self.here(slice.span),
            });
        }
        let per = keep.per.iter().map(|slice| self.keyed(plan, *slice)).collect::<Bound<Vec<_>>>()?;
        Ok(AskedKeep { which: which_of(keep.which), per, by, place: self.here(keep.span) })
    }

    fn given(&self, options: &[OptionItem]) -> Bound<Vec<Given>> {
        let mut given = Vec::new();
        for option in options {
            given.push(Given {
                name: option.name.text.clone(),
                value: self.option_text(option)?,
                name_place: self.here(option.name.span),
                value_place: self.here(option.value_span),
            });
        }
        Ok(given)
    }
}
