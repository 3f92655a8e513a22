//! The lines of rows that come from several branches of a `UNION ALL`.
//!
//! The sink gets one description for all rows, so the branches must agree on what becomes of a field. A branch without lines
//! has nulls for them.

use super::KeepSourceLines;
use super::carried::{Carried, Origin};
use crate::sources::LINE_COLUMN;
use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Union, lit};
use std::sync::Arc;

impl KeepSourceLines {
    pub(super) fn union(&self, union: &Union) -> Result<Option<Carried>> {
        let mut branches: Vec<Option<Carried>> = vec![];
        for input in &union.inputs {
            branches.push(self.visit(input)?.map(lines_last).transpose()?);
        }
        let with_lines: Vec<&Carried> = branches.iter().flatten().collect();
        let [first, rest @ ..] = with_lines.as_slice() else { return Ok(None) };
        if rest.iter().any(|branch| branch.others != first.others) {
            return Ok(None);
        }
        let n_columns = union.schema.fields().len();
        let mut origins: Vec<Origin> = (0..n_columns).map(|column| merged(&with_lines, column)).collect();
        let fields = all_fields(&with_lines);
        // A field that only some sources know is among the other fields of the rest, and stays as those do.
        let is_shared = |name: &String| with_lines.iter().all(|branch| knows(branch, name));
        let stays = |name: &String| {
            let at = origins.iter().position(|origin| matches!(origin, Origin::Field(field) if field == name));
            at.is_some_and(|at| union.schema.field(at).name() == name)
        };
        if fields.iter().any(|(name, _)| !is_shared(name) && !stays(name)) {
            return Ok(None);
        }
        origins.push(Origin::Line);
        let carried = Carried {
            fields,
            others: first.others,
            has_others_column: with_lines.iter().any(|branch| branch.has_others_column),
            may_lack_lines: with_lines.len() < branches.len() || with_lines.iter().any(|branch| branch.may_lack_lines),
            plan: LogicalPlan::Union(Union { inputs: vec![], schema: Arc::clone(&union.schema) }),
            origins,
        };
        let mut inputs = vec![];
        for (input, branch) in union.inputs.iter().zip(&branches) {
            let (plan, line) = match branch {
                Some(branch) => (&branch.plan, branch.line()),
                None => (input.as_ref(), lit(ScalarValue::Utf8(None))),
            };
            let columns = plan.schema().columns().into_iter().take(n_columns).zip(union.schema.columns());
            let exprs = columns.map(|(column, wanted)| match column == wanted {
                true => Expr::Column(column),
                false => Expr::Column(column).alias_qualified(wanted.relation, wanted.name),
            });
            let exprs = exprs.chain([line.alias(LINE_COLUMN)]).collect();
            inputs.push(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan.clone()))?)));
        }
        let line = (None, Arc::new(Field::new(LINE_COLUMN, DataType::Utf8, true)));
        let columns = union.schema.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
        let schema = DFSchema::new_with_metadata(columns.chain([line]).collect(), union.schema.metadata().clone())?;
        Ok(Some(Carried { plan: LogicalPlan::Union(Union { inputs, schema: Arc::new(schema) }), ..carried }))
    }
}

/// The same with the lines in the last column.
fn lines_last(branch: Carried) -> Result<Carried> {
    if branch.origins.last() == Some(&Origin::Line) {
        return Ok(branch);
    }
    let columns = branch.plan.schema().columns().into_iter().map(Expr::Column).zip(branch.origins.iter().cloned());
    let (lines, mut columns): (Vec<_>, Vec<_>) = columns.partition(|(_, origin)| *origin == Origin::Line);
    columns.extend(lines);
    let (exprs, origins) = columns.into_iter().unzip();
    branch.under(|input| Ok(LogicalPlan::Projection(Projection::try_new(exprs, input)?)), origins)
}

fn knows(branch: &Carried, name: &str) -> bool {
    branch.fields.iter().any(|(field, _)| field == name)
}

/// What a column of the union is: the same of every line, or computed.
fn merged(branches: &[&Carried], column: usize) -> Origin {
    let origins = || branches.iter().map(|branch| branch.origins.get(column).cloned().unwrap_or(Origin::Computed));
    let Some(first) = origins().find(|origin| *origin != Origin::Nothing) else { return Origin::Nothing };
    let agrees = |(branch, origin): (&&Carried, Origin)| match (&first, &origin) {
        // What a branch gives no value for must not be in its lines either.
        (Origin::Field(name), Origin::Nothing) => !knows(branch, name),
        (Origin::Others, Origin::Nothing) => !branch.has_others_column,
        (first, origin) => first == origin,
    };
    if branches.iter().zip(origins()).all(agrees) { first } else { Origin::Computed }
}

/// The fields of all branches. One that has several types is of the type `Null`: nobody can tell which values it could hold.
fn all_fields(branches: &[&Carried]) -> Vec<(String, DataType)> {
    let mut fields: Vec<(String, DataType)> = vec![];
    for (name, data_type) in branches.iter().flat_map(|branch| &branch.fields) {
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if known != data_type => *known = DataType::Null,
            Some(_) => {}
            None => fields.push((name.clone(), data_type.clone())),
        }
    }
    fields
}
