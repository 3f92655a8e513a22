//! `ProjectModelCalls`: what sorts, groups, windows and joins ask of a model is a column below them.
//!
//! Not here: filters and columns of the query, whose models the physical plan takes out (`physical::BatchModels`).

use crate::logical::is_model;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, Join, LogicalPlan, Projection, Sort, Window};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Computes expressions with models in a projection below nodes that would compute them row by row, or several times.
///
/// ```text
/// Sort: score(text) DESC      Projection: id, text
///   TableScan: docs       ⇒     Sort: __model_0 DESC
///                                 Projection: id, text, score(text) AS __model_0
///                                   TableScan: docs
/// ```
/// The whole expression moves, with what stands around the call, so that a CASE still says for which rows it is computed. Sound
/// because these nodes compute it for each row of their input. Refuses conditions of joins that read both sides: there the model runs
/// on the batches that come.
#[derive(Debug)]
pub struct ProjectModelCalls;

impl AnalyzerRule for ProjectModelCalls {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut n_columns = 0;
        let done = plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Sort(sort) => of_sort(sort, &mut n_columns),
            LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate, &mut n_columns),
            LogicalPlan::Window(window) => of_window(window, &mut n_columns),
            LogicalPlan::Join(join) => of_join(join, &mut n_columns),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(done.data)
    }

    fn name(&self) -> &str {
        "ProjectModelCalls"
    }
}

/// Expressions that become columns below a node.
struct Below<'n> {
    found: Vec<(Expr, Column)>,
    n_columns: &'n mut usize,
}

impl<'n> Below<'n> {
    fn new(n_columns: &'n mut usize) -> Self {
        Self { found: vec![], n_columns }
    }

    /// The expression with columns in place of its largest parts that are computed for a row alone and ask a model.
    fn taken(&mut self, expr: Expr) -> Result<Expr> {
        let taken = expr.transform_down(|part| {
            if !has_model(&part)? {
                return Ok(Transformed::new(part, false, TreeNodeRecursion::Jump));
            }
            let of_rows = matches!(
                part,
                Expr::AggregateFunction(_) | Expr::WindowFunction(_) | Expr::GroupingSet(_) | Expr::Alias(_)
            );
            if of_rows
                || part.exists(|part| Ok(matches!(part, Expr::AggregateFunction(_) | Expr::WindowFunction(_))))?
            {
                return Ok(Transformed::no(part));
            }
            let known = self.found.iter().find(|(known, _)| *known == part).map(|(_, column)| column.clone());
            let column = known.unwrap_or_else(|| {
                let column = Column::new_unqualified(format!("__model_{}", self.n_columns));
                *self.n_columns += 1;
                self.found.push((part, column.clone()));
                column
            });
            Ok(Transformed::new(Expr::Column(column), true, TreeNodeRecursion::Jump))
        })?;
        Ok(taken.data)
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The input with the columns beside its own.
    fn over(self, input: &Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
        if self.found.is_empty() {
            return Ok(Arc::clone(input));
        }
        let own = input.schema().columns().into_iter().map(Expr::Column);
        let made = self.found.into_iter().map(|(expr, column)| expr.alias(column.name));
        let columns = own.chain(made).collect();
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(input))?)))
    }
}

fn has_model(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::ScalarFunction(call) if is_model(&call.func))))
}

/// The columns of `schema`, and no others, of a node.
fn only(schema: &DFSchema, node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let columns = schema.columns().into_iter().map(Expr::Column).collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(node))?)))
}

fn of_sort(mut sort: Sort, n_columns: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let mut below = Below::new(n_columns);
    for key in &mut sort.expr {
        key.expr = below.taken(key.expr.clone())?;
    }
    if below.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    }
    let schema = Arc::clone(sort.input.schema());
    let input = below.over(&sort.input)?;
    only(&schema, LogicalPlan::Sort(Sort { input, ..sort }))
}

fn of_aggregate(aggregate: Aggregate, n_columns: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let mut below = Below::new(n_columns);
    let node = LogicalPlan::Aggregate(aggregate);
    let names = NamePreserver::new(&node);
    let mut taken = |expr: &Expr| -> Result<Expr> {
        let name = names.save(expr);
        Ok(name.restore(below.taken(expr.clone())?))
    };
    let LogicalPlan::Aggregate(aggregate) = &node else { return Ok(Transformed::no(node)) };
    let groups = aggregate.group_expr.iter().map(&mut taken).collect::<Result<Vec<_>>>()?;
    let functions = aggregate.aggr_expr.iter().map(&mut taken).collect::<Result<Vec<_>>>()?;
    if below.is_empty() {
        return Ok(Transformed::no(node));
    }
    let made = Aggregate::try_new(below.over(&aggregate.input)?, groups, functions)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(made)))
}

fn of_window(window: Window, n_columns: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let mut below = Below::new(n_columns);
    let schema = Arc::clone(&window.schema);
    let input = Arc::clone(&window.input);
    let node = LogicalPlan::Window(window);
    let names = NamePreserver::new(&node);
    let LogicalPlan::Window(window) = &node else { return Ok(Transformed::no(node)) };
    let exprs = window.window_expr.iter().map(|expr| {
        let name = names.save(expr);
        Ok(name.restore(below.taken(expr.clone())?))
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    if below.is_empty() {
        return Ok(Transformed::no(node));
    }
    only(&schema, LogicalPlan::Window(Window::try_new(exprs, below.over(&input)?)?))
}

fn of_join(join: Join, n_columns: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let mut on = vec![];
    let mut left = Below::new(&mut *n_columns);
    for (key, _) in &join.on {
        on.push(left.taken(key.clone())?);
    }
    let filter = join.filter.clone().map(|filter| of_side(&mut left, filter, join.left.schema())).transpose()?;
    let (n_left, left) = (left.found.len(), left.over(&join.left)?);
    let mut right = Below::new(n_columns);
    let mut keys = vec![];
    for (own, (_, key)) in on.into_iter().zip(&join.on) {
        keys.push((own, right.taken(key.clone())?));
    }
    let filter = filter.map(|filter| of_side(&mut right, filter, join.right.schema())).transpose()?;
    if n_left + right.found.len() == 0 {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let right = right.over(&join.right)?;
    let schema = Arc::clone(&join.schema);
    let made = Join::try_new(
        left,
        right,
        keys,
        filter,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    only(&schema, LogicalPlan::Join(made))
}

/// The condition of a join, with columns for the calls of models that read one side alone.
fn of_side(below: &mut Below<'_>, filter: Expr, side: &DFSchema) -> Result<Expr> {
    let taken = filter.transform_down(|part| match &part {
        Expr::ScalarFunction(call) if is_model(&call.func) => {
            let is_own = part.column_refs().iter().all(|column| side.has_column(column));
            let part = if is_own { below.taken(part)? } else { part };
            Ok(Transformed::new(part, is_own, TreeNodeRecursion::Jump))
        }
        _ => Ok(Transformed::no(part)),
    })?;
    Ok(taken.data)
}
