//! A program cut into pieces, each of which runs on one side, or before and after models: a chain of nodes for each piece, one on top of the other.
//!
//! A piece hands on the columns that later pieces read; those that it computed get names that begin with
//! [`COMPUTED`](crate::exec::COMPUTED), so that no column of the data is meant by accident.

use super::items::Item;
use crate::exec::{COMPUTED, Program, ProjectedExpr};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A column that a node for models gives out.
pub(super) struct GivenColumn {
    /// What it is, over the node's input.
    pub expr: Arc<dyn PhysicalExpr>,
    pub name: String,
    /// Its place among the program's columns.
    pub column: usize,
}

/// Makes one piece after the other, from the lowest up.
pub(super) struct Pieces<'a> {
    program: &'a Program,
    /// Which of the program's columns the node made last gives out.
    columns: Vec<usize>,
    /// Whether every column of the input is handed on to the end, because dropped rows are written whole.
    keep_inputs: bool,
}

impl<'a> Pieces<'a> {
    pub fn new(program: &'a Program, keep_inputs: bool) -> Self {
        Self { program, columns: (0..program.n_inputs).collect(), keep_inputs }
    }

    /// The nodes of the next piece over `input`, the last to run first. `later` are the items of the pieces after it;
    /// `names` are those of the output, for the last piece.
    pub fn next(
        &mut self,
        items: &[Item],
        later: &[Item],
        input: &Arc<dyn ExecutionPlan>,
        names: Option<&[String]>,
    ) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        let mut chain: Vec<Arc<dyn ExecutionPlan>> = vec![];
        let mut below = Arc::clone(input);
        let mut conditions = vec![];
        for item in items.iter().filter(|item| matches!(item, Item::Rule(_))) {
            for condition in item.exprs(self.program)? {
                conditions.push(self.over_input(condition)?);
            }
        }
        if !conditions.is_empty() {
            below = Arc::new(FilterExec::try_new(conjunction(conditions), below)?);
            chain.push(Arc::clone(&below));
        }
        let mut given: Vec<(Arc<dyn PhysicalExpr>, String)> = vec![];
        match names {
            Some(names) => {
                for (output, name) in self.program.outputs.iter().zip(names) {
                    given.push((self.over_input(output.widened()?)?, name.clone()));
                }
            }
            None => {
                let handed = self.handed_on(later);
                for &column in &handed {
                    given.push((self.over_input(self.column(column))?, self.name(column)));
                }
                self.columns = handed;
            }
        }
        let exprs = given.into_iter().map(|(expr, alias)| ProjectionExpr { expr, alias });
        chain.push(Arc::new(ProjectionExec::try_new(exprs.collect::<Vec<_>>(), below)?));
        chain.reverse();
        Ok(chain)
    }

    /// The columns that a node for models gives out over the piece before it: calls of models for the columns `models`, and what
    /// later items read; or, with names, the output.
    pub fn with_models(
        &mut self,
        models: &[usize],
        later: &[Item],
        names: Option<&[String]>,
    ) -> Result<Vec<GivenColumn>> {
        let handed = match names {
            Some(_) => self.program.outputs.iter().filter_map(ProjectedExpr::as_column).collect(),
            None => self.handed_on(later),
        };
        let mut given = vec![];
        for (place, &column) in handed.iter().enumerate() {
            let slot = column.checked_sub(self.program.n_inputs);
            let made = slot.filter(|_| models.contains(&column));
            given.push(GivenColumn {
                expr: match made {
                    Some(slot) => self.over_input(Arc::clone(&self.program.computed[slot]))?,
                    None => self.over_input(self.column(column))?,
                },
                name: names.map_or_else(|| self.name(column), |names| names[place].clone()),
                column,
            });
        }
        self.columns = handed;
        Ok(given)
    }

    /// Whether the node made last gives out a column.
    pub fn has(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    /// The columns that pieces after this one read.
    fn handed_on(&self, later: &[Item]) -> Vec<usize> {
        let mut wanted: BTreeSet<usize> = later.iter().flat_map(|item| item.reads(self.program)).collect();
        wanted.extend(self.program.outputs.iter().flat_map(|output| output.columns.iter().copied()));
        if self.keep_inputs {
            wanted.extend(0..self.program.n_inputs);
        }
        for made in later.iter().flat_map(Item::makes) {
            wanted.remove(made);
        }
        wanted.into_iter().collect()
    }

    fn column(&self, column: usize) -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new(self.program.schema.field(column).name(), column))
    }

    fn name(&self, column: usize) -> String {
        match column.checked_sub(self.program.n_inputs) {
            Some(slot) => format!("{COMPUTED}{}", self.program.computed_labels[slot]),
            None => self.program.schema.field(column).name().clone(),
        }
    }

    /// An expression over all columns, with what the input does not have computed in place. Equal computations are
    /// found again when the piece's own program is made.
    pub fn over_input(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let done = expr.transform_down(|node| {
            let Some(column) = node.downcast_ref::<Column>().map(Column::index) else {
                return Ok(Transformed::no(node));
            };
            let replaced: Arc<dyn PhysicalExpr> = match self.columns.iter().position(|given| *given == column) {
                Some(place) => Arc::new(Column::new(&self.name(column), place)),
                None => match column.checked_sub(self.program.n_inputs) {
                    Some(slot) => self.over_input(Arc::clone(&self.program.computed[slot]))?,
                    None => return Err(crate::bug!("column {column} was not handed on").into()),
                },
            };
            Ok(Transformed::new(replaced, true, TreeNodeRecursion::Jump))
        })?;
        Ok(done.data)
    }
}
