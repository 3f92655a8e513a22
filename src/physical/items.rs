//! A program as a list of items in the order in which they run: what can be put on one side or the other, or before a model
//! and after it.
//!
//! ```text
//! compute words(text), alpha_ratio(text)   a group of columns that one pass computes together
//! rule    words(text) >= 50
//! compute compression_ratio(text)          the same pass, but no kernel computes it: a group of its own
//! rule    compression_ratio(text) < 3
//! ```
//! Invariant: an item comes after all items whose columns it reads; each computed column is in one item, each rule too.

use crate::exec::{Program, ProjectedExpr, StepKind};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One thing that a program does to rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// Computes columns, all by one step of the program.
    Compute {
        /// The step.
        step: usize,
        /// The computed columns, as places among all columns.
        columns: Vec<usize>,
    },
    /// Drops rows.
    Rule(usize),
}

/// Which items come first where the order is free.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// As the program has its rules.
    AsPlanned,
    /// Rules that a device can evaluate before the others.
    DeviceFirst,
    /// The others before them.
    DeviceLast,
}

/// The items of a program. `can` says whether a device could compute a column or evaluate a rule.
pub(super) fn items(program: &Program, order: Order, can: &dyn Fn(&Item) -> bool) -> Vec<Item> {
    let mut list = Vec::new();
    let mut done: BTreeSet<usize> = (0..program.n_inputs).collect();
    let mut rules: Vec<usize> = (0..program.rules.len()).collect();
    let may_move = program.rules.iter().all(|rule| !rule.can_fail);
    if may_move && order != Order::AsPlanned {
        let on_device = |rule: &usize| {
            let computed = wanted(program, &program.rules[*rule].condition.columns);
            let group = |column: &usize| Item::Compute { step: step_of(program, *column), columns: vec![*column] };
            can(&Item::Rule(*rule)) && computed.iter().all(|column| can(&group(column)))
        };
        rules.sort_by_key(|rule| on_device(rule) != (order == Order::DeviceFirst));
    }
    for rule in rules {
        for column in wanted(program, &program.rules[rule].condition.columns) {
            emit(program, column, can, &mut done, &mut list);
        }
        list.push(Item::Rule(rule));
    }
    for column in program.outputs.iter().flat_map(|output| wanted(program, &output.columns)) {
        emit(program, column, can, &mut done, &mut list);
    }
    list
}

/// Adds the group of a computed column, unless it is there.
fn emit(
    program: &Program,
    column: usize,
    can: &dyn Fn(&Item) -> bool,
    done: &mut BTreeSet<usize>,
    list: &mut Vec<Item>,
) {
    if done.contains(&column) {
        return;
    }
    let step = step_of(program, column);
    let alone = |column: usize| Item::Compute { step, columns: vec![column] };
    let side = can(&alone(column));
    // Statistics of the same pass come along if they go to the same side.
    let columns: Vec<usize> = match &program.steps[step].work {
        StepKind::Pass { statistics, .. } => {
            statistics.iter().map(|(column, _)| *column).filter(|other| can(&alone(*other)) == side).collect()
        }
        StepKind::Call { column, .. } | StepKind::Expr { column, .. } => vec![*column],
    };
    done.extend(&columns);
    list.push(Item::Compute { step, columns });
}

fn step_of(program: &Program, column: usize) -> usize {
    program.step_of[column - program.n_inputs]
}

/// The computed columns that these need, each after those it reads itself.
pub(super) fn wanted(program: &Program, columns: &[usize]) -> Vec<usize> {
    let mut found = Vec::new();
    for &column in columns.iter().filter(|column| **column >= program.n_inputs) {
        let below = reads(program, column);
        found.extend(wanted(program, &below));
        found.push(column);
    }
    found
}

/// The columns that a computed column is made of.
pub(super) fn reads(program: &Program, column: usize) -> Vec<usize> {
    let expr = &program.computed[column - program.n_inputs];
    let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
    columns.sort_unstable();
    columns
}

impl Item {
    /// The columns that it reads, of the input and computed by other items.
    pub fn reads(&self, program: &Program) -> BTreeSet<usize> {
        match self {
            Item::Compute { columns, .. } => columns.iter().flat_map(|column| reads(program, *column)).collect(),
            Item::Rule(rule) => program.rules[*rule].condition.columns.iter().copied().collect(),
        }
    }

    /// The columns that it makes.
    pub fn makes(&self) -> &[usize] {
        match self {
            Item::Compute { columns, .. } => columns,
            Item::Rule(_) => &[],
        }
    }

    /// As a user would write it.
    pub fn label(&self, program: &Program) -> String {
        match self {
            Item::Compute { columns, .. } => {
                let label = |column: &usize| program.computed_labels[column - program.n_inputs].clone();
                columns.iter().map(label).collect::<Vec<_>>().join(", ")
            }
            Item::Rule(rule) => program.rules[*rule].label.clone(),
        }
    }

    /// How many numbers are computed from others for a row.
    pub fn n_operations(&self, program: &Program) -> usize {
        let mut n_nodes = 0;
        for expr in self.exprs(program).unwrap_or_default() {
            // Counting never fails.
            let _ = expr.apply(|_| {
                n_nodes += 1;
                Ok(TreeNodeRecursion::Continue)
            });
        }
        n_nodes
    }

    /// The expressions that it evaluates, over all columns of the program.
    pub fn exprs(&self, program: &Program) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        match self {
            Item::Compute { columns, .. } => {
                Ok(columns.iter().map(|column| Arc::clone(&program.computed[column - program.n_inputs])).collect())
            }
            Item::Rule(rule) => Ok(vec![ProjectedExpr::widened(&program.rules[*rule].condition)?]),
        }
    }
}
