//! `KeepSourceLines`: what was read from JSON Lines and is written to JSON Lines is written from its own line.
//!
//! This file holds the rule and its walk over the plan; `keep_source_lines/` holds what is known of a plan's columns
//! (`carried.rs`) and the branches of a `UNION ALL` (`union.rs`).
//! Not here: keeping the lines (the sources), and making the new ones (`sinks::json`).

mod carried;
#[cfg(test)]
mod tests;
mod union;

use crate::sources::{LINE_COLUMN, LineField, LineFields};
use crate::verb::VerbNode;
use carried::{Carried, Origin};
use datafusion::common::JoinType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::{
    Distinct, DistinctOn, Expr, Filter, Join, Limit, LogicalPlan, Projection, Sort, SubqueryAlias, TableScan,
    TableScanBuilder, TableSource, Window,
};
use datafusion::optimizer::AnalyzerRule;
use std::fmt;
use std::sync::Arc;

/// Gives the same source with one more column at its end, [`LINE_COLUMN`], and which fields of the line the other columns
/// are. `None` if its rows are not read from JSON Lines.
pub type LineHook = Arc<dyn Fn(&Arc<dyn TableSource>) -> Option<(Arc<dyn TableSource>, LineFields)> + Send + Sync>;

/// Carries the line of each row to the `INTO` that writes it.
///
/// ```text
/// Write: 'b.jsonl'                     ⇒    Write: 'b.jsonl', source lines unchanged
///   Filter: words(text) > 50                  Projection: _source_line
///     TableScan: a.jsonl                        Filter: words(text) > 50
///                                                 TableScan: a.jsonl projection=[.., _source_line]
/// ```
/// The sink writes the line, or the line with the changes that the query makes (`sinks::SourceLines`). So rows keep what
/// columns cannot hold, and columns that nobody computes with are not read.
///
/// Sound because a column is taken from the line only if every node on its way passes it on as it is.
/// Refuses nodes that make rows of several rows (grouping), that it does not know, and sources of other formats: their rows
/// are written from their columns. Of a join, the lines of the left side are carried; those of `UNION ALL`, from every branch.
pub struct KeepSourceLines {
    lines: LineHook,
}

impl KeepSourceLines {
    /// A rule that asks `lines` for sources with lines. Belongs before `KeepInputOrder`, which sorts what this
    /// carries, and before types are coerced.
    pub fn new(lines: LineHook) -> Self {
        Self { lines }
    }
}

impl fmt::Debug for KeepSourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeepSourceLines")
    }
}

impl AnalyzerRule for KeepSourceLines {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_down(|node| {
            let Some(verb) = VerbNode::of(&node) else { return Ok(Transformed::no(node)) };
            match self.write(verb)? {
                Some(write) => Ok(Transformed::new(write.into_plan(), true, TreeNodeRecursion::Stop)),
                None => Ok(Transformed::no(node)),
            }
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "KeepSourceLines"
    }
}

impl KeepSourceLines {
    fn write(&self, write: &VerbNode) -> Result<Option<VerbNode>> {
        let Some(not_in_lines) = write.verb.writes_lines() else { return Ok(None) };
        if names_a_line(write.rows())? {
            return Ok(None);
        }
        let Some(carried) = self.visit(write.rows())? else { return Ok(None) };
        let (input, lines) = carried.into_output(&not_in_lines)?;
        write.over(input)?.with_verb(write.verb.with_lines(lines)?).map(Some)
    }

    /// The plan with the lines of its rows, if it passes them on.
    fn visit(&self, plan: &LogicalPlan) -> Result<Option<Carried>> {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Projection(projection) => {
                let Some(input) = self.visit(&projection.input)? else { return Ok(None) };
                let (mut exprs, mut origins) = (named(projection), vec![]);
                for expr in &projection.expr {
                    origins.push(input.origin_of(expr)?);
                }
                exprs.push(input.line());
                origins.push(Origin::Line);
                let over = |input| Ok(LogicalPlan::Projection(Projection::try_new(exprs, input)?));
                input.under(over, origins).map(Some)
            }
            LogicalPlan::Filter(filter) => self.through(&filter.input, |input| {
                Ok(LogicalPlan::Filter(Filter::try_new(filter.predicate.clone(), input)?))
            }),
            LogicalPlan::Sort(Sort { expr, input, fetch }) => {
                self.through(input, |input| Ok(LogicalPlan::Sort(Sort { expr: expr.clone(), input, fetch: *fetch })))
            }
            LogicalPlan::Limit(Limit { skip, fetch, input }) => self.through(input, |input| {
                Ok(LogicalPlan::Limit(Limit { skip: skip.clone(), fetch: fetch.clone(), input }))
            }),
            LogicalPlan::SubqueryAlias(alias) => self.through(&alias.input, |input| {
                Ok(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, alias.alias.clone())?))
            }),
            LogicalPlan::Window(window) => {
                let Some(input) = self.visit(&window.input)? else { return Ok(None) };
                let computed = window.window_expr.iter().map(|_| Origin::Computed);
                let origins = input.origins.iter().cloned().chain(computed).collect();
                let over = |input| Ok(LogicalPlan::Window(Window::try_new(window.window_expr.clone(), input)?));
                input.under(over, origins).map(Some)
            }
            LogicalPlan::Distinct(distinct) => self.distinct(distinct),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Extension(_) => VerbNode::of(plan).map_or(Ok(None), |node| self.verb(node)),
            _ => Ok(None),
        }
    }

    /// A node that passes on the columns of its input.
    fn through(
        &self,
        input: &LogicalPlan,
        over: impl FnOnce(Arc<LogicalPlan>) -> Result<LogicalPlan>,
    ) -> Result<Option<Carried>> {
        let Some(input) = self.visit(input)? else { return Ok(None) };
        let origins = input.origins.clone();
        input.under(over, origins).map(Some)
    }

    fn scan(&self, scan: &TableScan) -> Result<Option<Carried>> {
        let Some((source, lines)) = (self.lines)(&scan.source) else { return Ok(None) };
        let schema = source.schema();
        let line = schema.index_of(LINE_COLUMN)?;
        let projection = scan.projection.clone().map(|columns| columns.into_iter().chain([line]).collect::<Vec<_>>());
        let shown = projection.clone().unwrap_or_else(|| (0..schema.fields().len()).collect());
        let origin = |index: usize| match lines.columns.get(index) {
            _ if index == line => Origin::Line,
            Some(field) => Origin::from(field),
            None => Origin::Computed,
        };
        let named = lines.columns.iter().zip(schema.fields()).filter_map(|(field, column)| match field {
            LineField::Named(name) => Some((name.clone(), column.data_type().clone())),
            LineField::Others | LineField::None => None,
        });
        let scan = TableScanBuilder::new(scan.table_name.clone(), source)
            .with_projection(projection)
            .with_filters(scan.filters.clone())
            .with_fetch(scan.fetch)
            .build()?;
        Ok(Some(Carried {
            plan: LogicalPlan::TableScan(scan),
            origins: shown.into_iter().map(origin).collect(),
            fields: named.collect(),
            others: lines.others,
            has_others_column: lines.columns.contains(&LineField::Others),
            may_lack_lines: false,
        }))
    }

    /// Of equal rows the line of the first, which is the one that stays.
    fn distinct(&self, distinct: &Distinct) -> Result<Option<Carried>> {
        let input = match distinct {
            Distinct::All(input) => input,
            Distinct::On(distinct) => &distinct.input,
        };
        let Some(input) = self.visit(input)? else { return Ok(None) };
        let (on, mut select, by) = match distinct {
            Distinct::All(input) => {
                let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
                (columns.clone(), columns, None)
            }
            Distinct::On(distinct) => {
                (distinct.on_expr.clone(), distinct.select_expr.clone(), distinct.sort_expr.clone())
            }
        };
        let mut origins = select.iter().map(|expr| input.origin_of(expr)).collect::<Result<Vec<_>>>()?;
        select.push(input.line());
        origins.push(Origin::Line);
        let over = |input| Ok(LogicalPlan::Distinct(Distinct::On(DistinctOn::try_new(on, select, by, input)?)));
        input.under(over, origins).map(Some)
    }

    fn join(&self, join: &Join) -> Result<Option<Carried>> {
        use JoinType::*;
        let n_right = match join.join_type {
            Inner | Left | Right | Full => join.right.schema().fields().len(),
            LeftSemi | LeftAnti => 0,
            LeftMark | RightSemi | RightAnti | RightMark => return Ok(None),
        };
        let Some(left) = self.visit(&join.left)? else { return Ok(None) };
        let right = (0..n_right).map(|_| Origin::Computed);
        let origins = left.origins.iter().cloned().chain(right).collect();
        let over = |left| {
            let join = join.clone();
            let (kind, constraint) = (join.join_type, join.join_constraint);
            let (nulls, is_null_aware) = (join.null_equality, join.null_aware);
            let join = Join::try_new(left, join.right, join.on, join.filter, kind, constraint, nulls, is_null_aware)?;
            Ok(LogicalPlan::Join(join))
        };
        let mut joined = left.under(over, origins)?;
        // Rows of the right side without a partner come from no line of the left.
        joined.may_lack_lines |= matches!(join.join_type, Right | Full);
        Ok(Some(joined))
    }

    /// A verb whose rows are rows of its input, whatever becomes of their order.
    fn verb(&self, node: &VerbNode) -> Result<Option<Carried>> {
        if !node.verb.order().passes_rows() {
            return Ok(None);
        }
        let Some(mut input) = self.visit(node.rows())? else { return Ok(None) };
        if let Some(rewritten) = node.verb.rewrites() {
            input.change(Some(rewritten));
        }
        let node = node.over(input.plan.clone())?;
        let origins = node.visible_columns().into_iter().map(|column| input.origins[column].clone());
        let added = node.verb.adds().into_iter().map(|_| Origin::Computed);
        let origins = origins.chain(added).collect();
        input.under(|_| Ok(node.into_plan()), origins).map(Some)
    }
}

/// The columns of a projection under their names, which coercion may have made others than those of their expressions.
fn named(projection: &Projection) -> Vec<Expr> {
    let columns = projection.expr.iter().cloned().zip(projection.schema.iter());
    let named = columns.map(|(expr, (qualifier, field))| {
        let is_named_so = expr.qualified_name() == (qualifier.cloned(), field.name().clone());
        if is_named_so { expr } else { expr.alias_qualified(qualifier.cloned(), field.name()) }
    });
    named.collect()
}

/// Whether a column of the query is called like that of the lines.
fn names_a_line(plan: &LogicalPlan) -> Result<bool> {
    let mut is_named = false;
    plan.apply_with_subqueries(|node| {
        is_named |= node.schema().fields().iter().any(|field| field.name() == LINE_COLUMN);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_named)
}
