//! A plan on its way up, with the line of each row and what its columns are of that line.
//!
//! Invariant: the plan has all columns of the plan that it replaces, under the same names, and the lines in one more.

use crate::sinks::{OutputColumn, SourceLines};
use crate::sources::{EXTRA_COLUMN, LINE_COLUMN, LineField, OtherFields, free_column_name};
use arrow::datatypes::DataType;
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use std::sync::Arc;

/// What a column is of the line that its row was read from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// The field of this name, as it is.
    Field(String),
    /// What fits no column of the source.
    Others,
    /// The line itself.
    Line,
    /// Null in every row: nothing that the line would have.
    Nothing,
    /// Not in the line.
    Computed,
}

impl From<&LineField> for Origin {
    fn from(field: &LineField) -> Self {
        match field {
            LineField::Named(name) => Origin::Field(name.clone()),
            LineField::Others => Origin::Others,
            LineField::None => Origin::Computed,
        }
    }
}

impl Origin {
    fn field(&self) -> Option<String> {
        match self {
            Origin::Field(name) => Some(name.clone()),
            Origin::Others | Origin::Line | Origin::Nothing | Origin::Computed => None,
        }
    }
}

/// Whether a column has the name of that for what fits no other: `_extra`, longer by `_` where the data have that name.
fn is_extra(name: &str) -> bool {
    name.trim_end_matches('_') == EXTRA_COLUMN
}

/// A plan whose rows have their lines.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    pub plan: LogicalPlan,
    /// Of each column of the plan.
    pub origins: Vec<Origin>,
    /// The fields that the source has columns for, and their types.
    pub fields: Vec<(String, DataType)>,
    pub others: OtherFields,
    /// The source has a column for what fits no other.
    pub has_others_column: bool,
    /// Some rows may have no line: their columns are written.
    pub may_lack_lines: bool,
}

impl Carried {
    /// The column of the lines.
    pub fn line(&self) -> Expr {
        let at = self.origins.iter().position(|origin| *origin == Origin::Line).unwrap_or(self.origins.len() - 1);
        Expr::Column(Column::from(self.plan.schema().qualified_field(at)))
    }

    /// The same below another node.
    pub fn under(
        self,
        over: impl FnOnce(Arc<LogicalPlan>) -> Result<LogicalPlan>,
        origins: Vec<Origin>,
    ) -> Result<Self> {
        let plan = over(Arc::new(self.plan))?;
        if plan.schema().fields().len() != origins.len() {
            return Err(crate::bug!(
                "{} columns, and {} are known: {plan}",
                plan.schema().fields().len(),
                origins.len()
            )
            .into());
        }
        Ok(Self { plan, origins, ..self })
    }

    /// What an expression over this plan is of the line.
    pub fn origin_of(&self, expr: &Expr) -> Result<Origin> {
        Ok(match expr {
            Expr::Alias(alias) => self.origin_of(&alias.expr)?,
            Expr::Column(column) => self.origins[self.plan.schema().index_of_column(column)?].clone(),
            Expr::Literal(value, _) if value.is_null() => Origin::Nothing,
            Expr::Cast(cast) if self.origin_of(&cast.expr)? == Origin::Nothing => Origin::Nothing,
            _ => Origin::Computed,
        })
    }

    /// A node above changes this column in its place.
    pub fn change(&mut self, column: Option<&Column>) {
        let index = column.and_then(|column| self.plan.schema().maybe_index_of_column(column));
        if let Some(origin) = index.and_then(|index| self.origins.get_mut(index)) {
            *origin = Origin::Computed;
        }
    }

    /// What is left for a sink: the columns that are not in the lines, and the lines. Columns that name folders are not
    /// written, but the sink reads them.
    pub fn into_output(self, partition_by: &[String]) -> Result<(LogicalPlan, SourceLines)> {
        let schema = self.plan.schema();
        let mut exprs = vec![];
        let mut columns = vec![];
        let mut keeps_others = self.others == OtherFields::Held && !self.has_others_column;
        for (index, origin) in self.origins.iter().enumerate() {
            let (qualifier, field) = schema.qualified_field(index);
            let name = field.name().clone();
            let is_partition = partition_by.contains(&name);
            if *origin == Origin::Line {
                continue;
            }
            let field = origin.field();
            let is_of_line = field.is_some() || *origin == Origin::Others && is_extra(&name);
            if is_partition || !is_of_line || self.may_lack_lines {
                exprs.push(Expr::Column(Column::from((qualifier, schema.field(index)))));
            }
            match is_of_line && field.is_none() {
                _ if is_partition => {}
                true => keeps_others = self.others == OtherFields::Held,
                // A column that had to be called otherwise than its field has the field's name in the output.
                false => match field.filter(|field| free_column_name(field) == name) {
                    Some(field) => columns.push(OutputColumn { name: field.clone(), field: Some(field) }),
                    None => columns.push(OutputColumn { name, field: origin.field() }),
                },
            }
        }
        let lines = SourceLines { fields: self.fields.clone(), keeps_others, columns };
        exprs.push(self.line().alias(LINE_COLUMN));
        Ok((LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(self.plan))?), lines))
    }
}
