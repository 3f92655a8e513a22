//! `KeepInputOrder`: rows come out in the order in which they went in, whatever the threads.
//!
//! This file holds the rule and its walk over the plan; `keep_input_order/` holds what is carried (`carried.rs`),
//! nodes with several inputs (`combine.rs`, `position.rs`), the first of equal rows (`distinct.rs`), and functions whose
//! result depends on the order (`functions.rs`, `one_order.rs`).
//! Not here: reading the position of a row (the sources), and the physical merge (DataFusion).

mod carried;
mod combine;
mod distinct;
mod functions;
mod one_order;
mod position;
#[cfg(test)]
mod tests;

use crate::sources::POSITION_COLUMN;
use crate::verb::{RowOrder, VerbNode};
use arrow::datatypes::FieldRef;
use carried::{Carried, Key, Order, column, is_hidden, with_columns};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchemaRef, TableReference};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::utils::generate_sort_key;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Extension, Filter, Limit, LogicalPlan, Projection, Sort, SortExpr, Subquery,
    SubqueryAlias, TableScan, TableScanBuilder, TableSource, Unnest, Values, Window, lit,
};
use datafusion::optimizer::AnalyzerRule;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Gives the same source with one more column at its end, [`POSITION_COLUMN`], in which the rows of each partition
/// ascend. `None` if the source cannot.
pub type PositionHook = Arc<dyn Fn(&Arc<dyn TableSource>) -> Option<Arc<dyn TableSource>> + Send + Sync>;

/// Gives a verb over these rows that keeps the first of those with equal keys. `None` if they cannot be compared.
pub type FirstRowsHook = Arc<dyn Fn(&LogicalPlan, &[Expr]) -> Result<Option<VerbNode>> + Send + Sync>;

/// Makes the order of the output, and of what `LIMIT`, `SAMPLE`, `DEDUP` and `INTO` see, the order of the input.
///
/// ```text
/// Projection: text          ⇒    Projection: text
///   TableScan: docs                Sort: _seq_0
///                                    Projection: text, _seq_0
///                                      TableScan: docs projection=[text, _seq]
/// ```
/// The scan declares that it is sorted by `_seq`, so for a chain of row-local operators the sort becomes a merge of
/// its partitions, and nothing is sorted. Real sorts are left after joins, grouping and the user's `ORDER BY`.
///
/// What the order of a node's rows is: a join, left then right, and last what has no partner on the left; `UNION ALL`,
/// branch after branch; `DISTINCT` and `DISTINCT ON`, by the first of equal rows; `GROUP BY`, by the group; `ORDER BY`, as
/// asked, equal rows in input order.
/// `array_agg` and the like, and `row_number()`, see rows in that order too.
///
/// Refuses sources without positions and queries that read themselves: the plan above them is left as it is.
/// Correlated subqueries are not entered. A node that it does not know is an error.
pub struct KeepInputOrder {
    position: PositionHook,
    first_rows: FirstRowsHook,
}

impl KeepInputOrder {
    /// A rule that asks `position` for sources with positions, and `first_rows` for what `DISTINCT ON` does. Belongs after
    /// type coercion.
    pub fn new(position: PositionHook, first_rows: FirstRowsHook) -> Self {
        Self { position, first_rows }
    }
}

impl fmt::Debug for KeepInputOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeepInputOrder")
    }
}

impl AnalyzerRule for KeepInputOrder {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let n_names = Cell::new(carried::n_names_taken(&plan)?);
        Walk { position: &self.position, first_rows: &self.first_rows, n_names }.root(plan)
    }

    fn name(&self) -> &str {
        "KeepInputOrder"
    }
}

/// One walk over one plan.
struct Walk<'a> {
    position: &'a PositionHook,
    first_rows: &'a FirstRowsHook,
    /// Hidden columns are numbered, so that no two in a plan are called the same.
    n_names: Cell<usize>,
}

impl Walk<'_> {
    fn name(&self) -> String {
        let n = self.n_names.get();
        self.n_names.set(n + 1);
        format!("{POSITION_COLUMN}_{n}")
    }

    /// A plan whose rows a user sees.
    fn root(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        match plan {
            LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Dml(_)
            | LogicalPlan::Ddl(_)
            | LogicalPlan::Statement(_) => Ok(plan.map_children(|child| Ok(Transformed::yes(self.root(child)?)))?.data),
            plan => self.sorted(plan),
        }
    }

    /// The plan with its rows in order and its columns as they were.
    fn sorted(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let schema = Arc::clone(plan.schema());
        self.visit(plan)?.sorted().strip(&schema)
    }

    /// The plan with its columns as they were, where nobody asks for the order of its rows.
    fn unordered(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let schema = Arc::clone(plan.schema());
        self.visit(plan)?.strip(&schema)
    }

    /// The plan with columns that tell the order of its rows, if it is known.
    fn visit(&self, plan: LogicalPlan) -> Result<Carried> {
        let plan = plan.map_subqueries(|subquery| self.subquery(subquery))?.data;
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Values(values) => self.values(values),
            LogicalPlan::EmptyRelation(_) => Ok(Carried::known(plan, Order::of(vec![]).already_sorted())),
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::Filter(filter) => {
                let input = self.visit(Arc::unwrap_or_clone(filter.input))?;
                let order = input.order.map(Order::not_sorted);
                let plan = LogicalPlan::Filter(Filter::try_new(filter.predicate, Arc::new(input.plan))?);
                Ok(Carried { plan, order })
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.visit(Arc::unwrap_or_clone(alias.input))?;
                let plan = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input.plan), alias.alias)?);
                Ok(Carried { plan, order: input.order })
            }
            LogicalPlan::Sort(sort) => self.sort(sort),
            LogicalPlan::Limit(limit) => {
                let input = self.visit(Arc::unwrap_or_clone(limit.input))?.sorted();
                let plan = LogicalPlan::Limit(Limit { input: Arc::new(input.plan), ..limit });
                Ok(Carried { plan, order: input.order })
            }
            LogicalPlan::Window(window) => {
                let input = self.visit(Arc::unwrap_or_clone(window.input))?;
                let (calls, keys) = functions::computed_keys(window.window_expr, || self.name())?;
                let input = with_more_columns(input, keys)?;
                let exprs = functions::order_windows(calls.clone(), &input)?;
                let order = input.order.map(Order::not_sorted);
                let plan = windows(&calls, exprs, input.plan)?;
                Ok(Carried { plan, order })
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => self.distinct(Arc::unwrap_or_clone(input)),
            LogicalPlan::Distinct(Distinct::On(distinct)) => self.distinct_on(distinct),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            LogicalPlan::Extension(extension) => self.extension(extension),
            // Correlated queries, queries that read themselves, and lists of columns stay as DataFusion runs them.
            LogicalPlan::Subquery(_) | LogicalPlan::RecursiveQuery(_) | LogicalPlan::DescribeTable(_) => {
                Ok(Carried::unknown(plan))
            }
            // `DISTRIBUTE BY` asks for rows to be mixed.
            LogicalPlan::Repartition(_) => {
                let plan = plan.map_children(|child| Ok(Transformed::yes(self.unordered(child)?)))?.data;
                Ok(Carried::unknown(plan))
            }
            // Statements, which stand above all queries.
            LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Dml(_)
            | LogicalPlan::Ddl(_)
            | LogicalPlan::Statement(_) => Err(unknown_node(&plan)),
        }
    }

    /// A query inside an expression. One that reads columns from outside is left alone.
    fn subquery(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Subquery(subquery) if subquery.outer_ref_columns.is_empty() => {
                let inner = self.unordered(Arc::unwrap_or_clone(subquery.subquery))?;
                let subquery = Subquery { subquery: Arc::new(inner), ..subquery };
                Ok(Transformed::yes(LogicalPlan::Subquery(subquery)))
            }
            other => Ok(Transformed::no(other)),
        }
    }

    fn scan(&self, scan: TableScan) -> Result<Carried> {
        let Some(source) = (self.position)(&scan.source) else {
            return Ok(Carried::unknown(LogicalPlan::TableScan(scan)));
        };
        let schema = Arc::clone(&scan.projected_schema);
        let seq_index = source.schema().index_of(POSITION_COLUMN)?;
        let projection = scan.projection.map(|mut columns| {
            columns.push(seq_index);
            columns
        });
        let scan = TableScanBuilder::new(scan.table_name, source)
            .with_projection(projection)
            .with_filters(scan.filters)
            .with_fetch(scan.fetch)
            .build()?;
        let seq = Expr::Column(datafusion::common::Column::new(Some(scan.table_name.clone()), POSITION_COLUMN));
        let mut exprs: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        exprs.push(seq.alias(self.name()));
        let order = Order::of(vec![Key::ascending(exprs.len() - 1)]).of_positions(1);
        let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(LogicalPlan::TableScan(scan)))?);
        Ok(Carried::known(plan, order))
    }

    fn values(&self, values: Values) -> Result<Carried> {
        let n_columns = values.schema.fields().len();
        let seq = arrow::datatypes::Field::new(self.name(), arrow::datatypes::DataType::UInt64, false);
        let schema = with_columns(&values.schema, vec![(None, Arc::new(seq))])?;
        let number = |(n, mut row): (usize, Vec<Expr>)| {
            row.push(lit(n as u64));
            row
        };
        let values = values.values.into_iter().enumerate().map(number).collect();
        let plan = LogicalPlan::Values(Values { schema, values });
        Ok(Carried::known(plan, Order::of(vec![Key::ascending(n_columns)]).of_positions(1)))
    }

    fn projection(&self, projection: Projection) -> Result<Carried> {
        let mut input = self.visit(Arc::unwrap_or_clone(projection.input))?;
        if projection.expr.iter().any(has_subquery) {
            // It becomes a join, which gives rows as they come.
            input.order = input.order.map(Order::not_sorted);
        }
        // DataFusion's coercion of unions leaves projections whose columns have other names than their expressions.
        let named = |(expr, (qualifier, field)): (Expr, (Option<&TableReference>, &FieldRef))| {
            let (own_qualifier, own_name) = expr.qualified_name();
            let is_named_so = own_qualifier.as_ref() == qualifier && own_name == *field.name();
            if is_named_so { expr } else { expr.alias_qualified(qualifier.cloned(), field.name()) }
        };
        self.project(input, projection.expr.into_iter().zip(projection.schema.iter()).map(named).collect())
    }

    /// The plan with these columns, and what tells the order of its rows.
    fn project(&self, input: Carried, mut exprs: Vec<Expr>) -> Result<Carried> {
        let schema = Arc::clone(input.plan.schema());
        let order = input.order.map(|order| order.map_indices(|index| self.carry(&mut exprs, &schema, index)));
        let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input.plan))?);
        Ok(Carried { plan, order })
    }

    /// The place in `exprs` of the input's column `index`; adds it if it is not there.
    fn carry(&self, exprs: &mut Vec<Expr>, input: &DFSchemaRef, index: usize) -> usize {
        let key = column(input, index);
        if let Some(place) = exprs.iter().position(|expr| expr.clone().unalias() == key) {
            return place;
        }
        // A column of the user's must not get in the way of another of the same name.
        exprs.push(if is_hidden(input.field(index).name()) { key } else { key.alias(self.name()) });
        exprs.len() - 1
    }

    fn sort(&self, sort: Sort) -> Result<Carried> {
        let input = self.visit(Arc::unwrap_or_clone(sort.input))?;
        let (plan, order) = self.order_by(input, sort.expr)?;
        let expr = order.keys.iter().map(|key| key.sort_expr(plan.schema())).collect();
        let plan = LogicalPlan::Sort(Sort { expr, input: Arc::new(plan), fetch: sort.fetch });
        Ok(Carried::known(plan, order.already_sorted()))
    }

    /// The order that `ORDER BY` asks for, equal rows as before, and the plan with all its columns.
    fn order_by(&self, input: Carried, by: Vec<SortExpr>) -> Result<(LogicalPlan, Order)> {
        let schema = Arc::clone(input.plan.schema());
        let mut exprs: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        let mut keys: Vec<Key> = vec![];
        for SortExpr { expr, asc, nulls_first } in by {
            // Computed once, in a column, so that nodes above can sort by it again; `random()` would change.
            let index = match &expr {
                Expr::Column(column) => schema.index_of_column(column)?,
                _ => {
                    exprs.push(expr.alias(self.name()));
                    exprs.len() - 1
                }
            };
            keys.push(Key { index, asc, nulls_first });
        }
        keys.extend(input.order.map(|order| order.keys).unwrap_or_default());
        let plan = if exprs.len() > schema.fields().len() {
            LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input.plan))?)
        } else {
            input.plan
        };
        Ok((plan, Order::of(carried::without_repeats(keys))))
    }

    fn aggregate(&self, aggregate: Aggregate) -> Result<Carried> {
        let n_group_columns = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
        let input = self.visit(Arc::unwrap_or_clone(aggregate.input))?;
        let (calls, keys) = functions::computed_keys(aggregate.aggr_expr, || self.name())?;
        let input = with_more_columns(input, keys)?;
        let aggr_expr = functions::order_aggregates(calls, &input)?;
        let plan = one_order::aggregate(input.plan, aggregate.group_expr, aggr_expr, || self.name())?;
        Ok(Carried::by_columns(plan, n_group_columns))
    }

    fn unnest(&self, unnest: Unnest) -> Result<Carried> {
        let input = self.visit(Arc::unwrap_or_clone(unnest.input))?;
        let schema = Arc::clone(input.plan.schema());
        let plan = Unnest::try_new(Arc::new(input.plan), unnest.exec_columns.clone(), unnest.options)?;
        let place = |key: &Key| {
            let column = datafusion::common::Column::from(schema.qualified_field(key.index));
            let unnested = unnest.exec_columns.contains(&column);
            let index = plan.schema.maybe_index_of_column(&column).filter(|_| !unnested)?;
            Some(Key { index, ..*key })
        };
        let keys = input.order.and_then(|order| order.keys.iter().map(place).collect::<Option<Vec<_>>>());
        Ok(Carried { order: keys.map(Order::of), plan: LogicalPlan::Unnest(plan) })
    }

    /// A verb gets all its inputs in their order, since that decides. What it numbers, pieces of a row or rows in an order of
    /// its own, is ordered by these numbers too.
    fn verb(&self, node: &VerbNode) -> Result<Carried> {
        let effect = node.verb.order();
        if effect == RowOrder::Ends {
            let rows = self.sorted(node.rows().clone())?;
            return Ok(Carried::known(node.over(rows)?.into_plan(), Order::of(vec![]).already_sorted()));
        }
        let inputs = node.inputs.iter().map(|input| self.visit(input.clone())).collect::<Result<_>>()?;
        self.verb_over(node, inputs)
    }

    /// The verb of a node over inputs that have been visited.
    fn verb_over(&self, node: &VerbNode, visited: Vec<Carried>) -> Result<Carried> {
        let effect = node.verb.order();
        let mut inputs = vec![];
        for (number, input) in visited.into_iter().enumerate() {
            // Partitions that ascend in a position need not come together; where they do not, the executor asks for it.
            let is_position = input.order.as_ref().is_some_and(|order| order.spans.is_some());
            let stays = effect.takes_partitions() && number == 0 && is_position;
            inputs.push(if stays || effect == RowOrder::Indifferent { input } else { input.sorted() });
        }
        let mut rows = inputs.remove(0);
        let rewritten = node.verb.rewrites().and_then(|text| rows.plan.schema().maybe_index_of_column(text));
        if let Some(rewritten) = rewritten {
            rows = self.with_spare_key(rows, rewritten)?;
        }
        let number = rows.order.as_ref().filter(|_| effect.numbers_rows()).map(|_| self.name());
        inputs.insert(0, rows);
        let needs_order = effect != RowOrder::Indifferent;
        let orders = inputs.iter().map(|input| if needs_order { input.sort_columns() } else { vec![] }).collect();
        let order = inputs[0].order.clone();
        let plans = inputs.into_iter().map(|input| input.plan).collect();
        let node = node.sorted_by(plans, orders, number)?;
        let visible = node.visible_columns();
        let numbered = node.number.is_some().then(|| Key::ascending(visible.len() + node.verb.adds().len()));
        let order = match (effect, numbered) {
            (RowOrder::Makes, Some(number)) => Some(Order::of(vec![number]).already_sorted()),
            (RowOrder::Splits, Some(number)) => order.and_then(|order| order.through(&visible)).map(|mut order| {
                order.keys.push(number);
                Order::of(order.keys)
            }),
            (RowOrder::Keeps, _) => order.and_then(|order| order.through(&visible)).map(Order::not_sorted),
            _ => order.and_then(|order| order.through(&visible)),
        };
        Ok(Carried { plan: node.into_plan(), order })
    }

    /// The plan with a copy of a column that the node above changes, if its rows are ordered by that column.
    fn with_spare_key(&self, input: Carried, changed: usize) -> Result<Carried> {
        let is_key = |order: &Order| order.keys.iter().any(|key| key.index == changed);
        let Some(order) = input.order.clone().filter(is_key) else { return Ok(input) };
        let schema = Arc::clone(input.plan.schema());
        let mut exprs: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        exprs.push(column(&schema, changed).alias(self.name()));
        let spare = exprs.len() - 1;
        let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input.plan))?);
        Ok(Carried::known(plan, order.map_indices(|index| if index == changed { spare } else { index })))
    }

    fn extension(&self, extension: Extension) -> Result<Carried> {
        match extension.node.as_any().downcast_ref::<VerbNode>() {
            Some(node) => self.verb(node),
            None => Err(unknown_node(&LogicalPlan::Extension(extension))),
        }
    }
}

/// A node that would lose the order of its rows, and nobody would notice.
fn unknown_node(plan: &LogicalPlan) -> DataFusionError {
    crate::bug!("nobody knows the order of the rows of `{}`", plan.display()).into()
}

fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|part| Ok(matches!(part, Expr::ScalarSubquery(_)))).unwrap_or(true)
}

/// The plan with computed columns at its end.
fn with_more_columns(input: Carried, columns: Vec<Expr>) -> Result<Carried> {
    if columns.is_empty() {
        return Ok(input);
    }
    let exprs = input.plan.schema().columns().into_iter().map(Expr::Column).chain(columns).collect();
    let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input.plan))?);
    Ok(Carried { plan, order: input.order })
}

/// The window functions of one node, some of which got a longer order. A node's functions must all sort alike, so those that
/// do not go to nodes of their own; the columns stay as they were.
fn windows(before: &[Expr], after: Vec<Expr>, input: LogicalPlan) -> Result<LogicalPlan> {
    let whole = Window::try_new(after.clone(), Arc::new(input.clone()))?;
    let (same, changed): (Vec<_>, Vec<_>) = before.iter().zip(after).partition(|(before, after)| *before == after);
    let mut groups: Vec<(WindowKeys, Vec<Expr>)> = vec![];
    for (_, expr) in changed.into_iter().chain(same) {
        let keys = sort_key(&expr)?;
        match groups.iter_mut().find(|(known, _)| *known == keys) {
            Some((_, group)) => group.push(expr),
            None => groups.push((keys, vec![expr])),
        }
    }
    if groups.len() <= 1 {
        return Ok(LogicalPlan::Window(whole));
    }
    let mut plan = input;
    for (_, exprs) in groups {
        plan = LogicalPlan::Window(Window::try_new(exprs, Arc::new(plan))?);
    }
    let columns = whole.schema.columns().into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// What a window sorts its rows by; whether each key is one that it partitions by.
type WindowKeys = Vec<(SortExpr, bool)>;

/// The keys of a window function, as DataFusion works them out.
fn sort_key(call: &Expr) -> Result<WindowKeys> {
    let Expr::WindowFunction(function) = call.clone().unalias() else { return Ok(vec![]) };
    generate_sort_key(&function.params.partition_by, &function.params.order_by)
}
