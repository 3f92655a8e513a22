//! What a pipeline gives, computed row by row: the rows that curator must give, in this order.
//!
//! It shares nothing with curator or DataFusion and is as slow as it is plain: every verb takes all rows and gives all
//! rows. The order is the one that `docs/cql.md` promises.

use super::columns::{self, Checked, Column};
use super::data::Table;
use super::evaluate::{Scope, aggregate, compare_keys, fold, sort};
use super::query::*;
use super::values::{Row, Value};
use std::cmp::Ordering;

/// More rows than this, after any verb, are not worth the time.
const MOST_ROWS: usize = 400;

#[derive(Debug, Clone)]
pub struct Relation {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

/// An error means that the query is not a good one: it names what is not there, or divides by zero.
pub fn pipeline(tables: &[Table], pipeline: &Pipeline) -> Checked<Relation> {
    let mut relation = source(tables, &pipeline.from)?;
    for verb in &pipeline.verbs {
        let columns = columns::after(tables, &relation.columns, verb)?;
        let rows = Step { tables, columns: &relation.columns, rows: &relation.rows }.rows_after(verb)?;
        if rows.len() > MOST_ROWS {
            return Err("too many rows".to_string());
        }
        relation = Relation { columns, rows };
    }
    Ok(relation)
}

fn source(tables: &[Table], source: &Source) -> Checked<Relation> {
    let columns = columns::of_source(tables, source)?;
    let rows = match &source.kind {
        SourceKind::Table(table) => tables[*table].rows.clone(),
        SourceKind::Pipeline(inner) => pipeline(tables, inner)?.rows,
    };
    Ok(Relation { columns, rows })
}

/// The rows before a verb.
struct Step<'a> {
    tables: &'a [Table],
    columns: &'a [Column],
    rows: &'a [Row],
}

impl Step<'_> {
    fn scope<'s>(&'s self, row: &'s Row) -> Scope<'s> {
        Scope { tables: self.tables, columns: self.columns, row, outer: None }
    }

    fn rows_after(&self, verb: &Verb) -> Checked<Vec<Row>> {
        match verb {
            Verb::Where(condition) => {
                let mut kept = vec![];
                for row in self.rows {
                    if self.scope(row).holds(condition)? {
                        kept.push(row.clone());
                    }
                }
                Ok(kept)
            }
            Verb::Select { distinct, items } => {
                let exprs: Vec<Expr> = items.iter().map(|item| item.expr.clone()).collect();
                let rows = self.each(&exprs)?;
                Ok(if *distinct { first_of_equals(&rows) } else { rows })
            }
            Verb::Extend(items) => {
                let exprs: Vec<Expr> = items.iter().map(|item| item.expr.clone()).collect();
                let added = self.each(&exprs)?;
                Ok(self.rows.iter().cloned().zip(added).map(|(row, added)| [row, added].concat()).collect())
            }
            Verb::Windows(items) => {
                let mut rows = self.rows.to_vec();
                for (window, _) in items {
                    let values = self.window(window)?;
                    rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
                }
                Ok(rows)
            }
            Verb::Set(items) => {
                let exprs: Vec<Expr> = items.iter().map(|(_, expr)| expr.clone()).collect();
                let mut rows = self.rows.to_vec();
                for (row, values) in rows.iter_mut().zip(self.each(&exprs)?) {
                    for ((name, _), value) in items.iter().zip(values) {
                        row[columns::find(self.columns, &Name::bare(name))?] = value;
                    }
                }
                Ok(rows)
            }
            Verb::Drop(names) => {
                let stays = |column: &Column| !names.contains(&column.name.name);
                let keep = |row: &Row| {
                    let cells = row.iter().zip(self.columns).filter(|(_, column)| stays(column));
                    cells.map(|(value, _)| value.clone()).collect()
                };
                Ok(self.rows.iter().map(keep).collect())
            }
            Verb::Rename(_) | Verb::As(_) => Ok(self.rows.to_vec()),
            Verb::Aggregate { items, groups } => self.aggregate(items, groups),
            Verb::Join { kind, source: right, condition } => self.join(*kind, &source(self.tables, right)?, condition),
            Verb::SetOperation { kind, all, source: right } => {
                Ok(set_operation(*kind, *all, self.rows, &source(self.tables, right)?.rows))
            }
            Verb::OrderBy(order) => sort(self.tables, self.columns, self.rows, order),
            Verb::Limit { count, offset } => {
                Ok(self.rows.iter().skip(*offset).take(count.unwrap_or(usize::MAX)).cloned().collect())
            }
            Verb::Distinct => Ok(first_of_equals(self.rows)),
            Verb::DistinctOn(keys) => {
                let mut seen = vec![];
                let mut kept = vec![];
                for (row, key) in self.rows.iter().zip(self.each(keys)?) {
                    if !seen.contains(&key) {
                        seen.push(key);
                        kept.push(row.clone());
                    }
                }
                Ok(kept)
            }
            Verb::Dedup { on, keep, by, cluster_size, drops } => {
                self.dedup(on, *keep, by, cluster_size.is_some(), *drops)
            }
        }
    }

    fn each(&self, exprs: &[Expr]) -> Checked<Vec<Row>> {
        self.rows.iter().map(|row| self.scope(row).values(exprs)).collect()
    }

    /// One row for each group, by the values of the group, nulls last.
    fn aggregate(&self, items: &[(Aggregate, String)], groups: &[Item]) -> Checked<Vec<Row>> {
        let exprs: Vec<Expr> = groups.iter().map(|item| item.expr.clone()).collect();
        let keys = self.each(&exprs)?;
        // Without GROUP BY there is one group, even of no rows.
        let mut different = if groups.is_empty() { vec![vec![]] } else { first_of_equals(&keys) };
        let ascending = |expr: &Expr| Order { expr: expr.clone(), descending: false, nulls_first: None };
        let order: Vec<Order> = exprs.iter().map(ascending).collect();
        different.sort_by(|left, right| compare_keys(left, right, &order));
        let mut rows = vec![];
        for group in different {
            let members = self.rows.iter().zip(&keys).filter(|(_, key)| **key == group);
            let members: Vec<Row> = members.map(|(row, _)| row.clone()).collect();
            let mut row = group;
            for (call, _) in items {
                row.push(aggregate(self.tables, self.columns, &members, call)?);
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Left rows in their order, the matches of each in theirs; rows of the right side alone come last.
    fn join(&self, kind: JoinKind, right: &Relation, condition: &JoinCondition) -> Checked<Vec<Row>> {
        let both: Vec<Column> = self.columns.iter().chain(&right.columns).cloned().collect();
        let matches = |left: &Row, other: &Row| -> Checked<bool> {
            match condition {
                JoinCondition::None => Ok(true),
                JoinCondition::On(condition) => {
                    let row = [left.clone(), other.clone()].concat();
                    Scope { tables: self.tables, columns: &both, row: &row, outer: None }.holds(condition)
                }
                JoinCondition::Using(names) => {
                    for name in names {
                        let value = &left[columns::find(self.columns, &Name::bare(name))?];
                        if value.is_null() || *value != other[columns::find(&right.columns, &Name::bare(name))?] {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                }
            }
        };
        let mut pairs: Vec<(Option<&Row>, Option<&Row>)> = vec![];
        let mut right_is_used = vec![false; right.rows.len()];
        for left in self.rows {
            let mut partners = vec![];
            for (index, other) in right.rows.iter().enumerate() {
                if matches(left, other)? {
                    partners.push(other);
                    right_is_used[index] = true;
                }
            }
            match kind {
                JoinKind::Semi if !partners.is_empty() => pairs.push((Some(left), None)),
                JoinKind::Anti if partners.is_empty() => pairs.push((Some(left), None)),
                JoinKind::Semi | JoinKind::Anti => {}
                JoinKind::Left | JoinKind::Full if partners.is_empty() => pairs.push((Some(left), None)),
                _ => pairs.extend(partners.into_iter().map(|other| (Some(left), Some(other)))),
            }
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            let alone = right.rows.iter().zip(right_is_used).filter(|(_, used)| !used);
            pairs.extend(alone.map(|(other, _)| (None, Some(other))));
        }
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            return Ok(pairs.into_iter().filter_map(|(left, _)| left.cloned()).collect());
        }
        pairs.into_iter().map(|(left, other)| self.joined_row(left, other, right, condition)).collect()
    }

    /// A shared column of `USING` stands once, with the value of the side that has one.
    fn joined_row(
        &self,
        left: Option<&Row>,
        other: Option<&Row>,
        right: &Relation,
        condition: &JoinCondition,
    ) -> Checked<Row> {
        let nulls = |n: usize| vec![Value::Null; n];
        let mut row = left.cloned().unwrap_or_else(|| nulls(self.columns.len()));
        let other = other.cloned().unwrap_or_else(|| nulls(right.columns.len()));
        let JoinCondition::Using(shared) = condition else { return Ok([row, other].concat()) };
        for name in shared {
            let at = columns::find(self.columns, &Name::bare(name))?;
            if left.is_none() {
                row[at] = other[columns::find(&right.columns, &Name::bare(name))?].clone();
            }
        }
        let own = other.into_iter().zip(&right.columns).filter(|(_, column)| !shared.contains(&column.name.name));
        row.extend(own.map(|(value, _)| value));
        Ok(row)
    }

    /// Rows with equal keys are a cluster, of which one stays, or none that has others. A key of nulls alone is equal to
    /// none.
    fn dedup(&self, on: &[Expr], keep: Keep, by: &[Order], with_size: bool, drops: bool) -> Checked<Vec<Row>> {
        let keys = self.each(on)?;
        let by_exprs: Vec<Expr> = by.iter().map(|order| order.expr.clone()).collect();
        let ranks = self.each(&by_exprs)?;
        // A row without a value is not preferred, whichever end stays.
        let not_preferred = |order: &Order| Order {
            nulls_first: Some(order.nulls_first.unwrap_or(keep == Keep::Last)),
            ..order.clone()
        };
        let by: Vec<Order> = by.iter().map(not_preferred).collect();
        let mut kept = vec![];
        for (index, row) in self.rows.iter().enumerate() {
            let is_alone = keys[index].iter().all(Value::is_null);
            let mut cluster: Vec<usize> =
                (0..keys.len()).filter(|other| *other == index || (!is_alone && keys[*other] == keys[index])).collect();
            cluster.sort_by(|a, b| compare_keys(&ranks[*a], &ranks[*b], &by));
            let stays = match keep {
                Keep::First => cluster.first() == Some(&index),
                Keep::Last => cluster.last() == Some(&index),
                Keep::None => cluster.len() == 1,
            };
            if stays || !drops {
                let size = with_size.then_some(Value::Int(cluster.len() as i64));
                kept.push(row.iter().cloned().chain(size).collect());
            }
        }
        Ok(kept)
    }

    /// The value of a window function for each row.
    fn window(&self, window: &Window) -> Checked<Vec<Value>> {
        let partitions = self.each(&window.partition)?;
        let order_exprs: Vec<Expr> = window.order.iter().map(|order| order.expr.clone()).collect();
        let keys = self.each(&order_exprs)?;
        let mut values = vec![];
        for index in 0..self.rows.len() {
            let mut members: Vec<usize> =
                (0..self.rows.len()).filter(|other| partitions[*other] == partitions[index]).collect();
            members.sort_by(|a, b| compare_keys(&keys[*a], &keys[*b], &window.order));
            let place = members.iter().position(|other| *other == index).unwrap_or_default();
            let is_before = |other: &usize| compare_keys(&keys[*other], &keys[index], &window.order) == Ordering::Less;
            let neighbour = |place: Option<usize>, expr: &Expr| match place.and_then(|place| members.get(place)) {
                Some(other) => self.scope(&self.rows[*other]).value(expr),
                None => Ok(Value::Null),
            };
            values.push(match &window.function {
                WindowFunction::RowNumber => Value::Int(place as i64 + 1),
                WindowFunction::Rank => Value::Int(members.iter().copied().filter(is_before).count() as i64 + 1),
                WindowFunction::DenseRank => {
                    let before = members.iter().copied().filter(is_before).map(|other| keys[other].clone());
                    Value::Int(first_of_equals(&before.collect::<Vec<_>>()).len() as i64 + 1)
                }
                WindowFunction::Lag(expr, by) => neighbour(place.checked_sub(*by), expr)?,
                WindowFunction::Lead(expr, by) => neighbour(Some(place + by), expr)?,
                // As equal as can be; the first parts have one more.
                WindowFunction::Ntile(parts) => Value::Int(ntile(place, members.len(), *parts) as i64),
                WindowFunction::Over(function, argument) => {
                    // Without ROWS: all rows, or with an order those up to this one and its equals.
                    let is_after =
                        |other: &usize| compare_keys(&keys[*other], &keys[index], &window.order) == Ordering::Greater;
                    let framed: Vec<usize> = match window.rows {
                        Some((before, after)) => {
                            let start = before.map_or(0, |before| place.saturating_sub(before));
                            let end = after.map_or(members.len(), |after| (place + after + 1).min(members.len()));
                            members[start..end].to_vec()
                        }
                        None => members.iter().copied().filter(|other| !is_after(other)).collect(),
                    };
                    let value = |other: &usize| match argument {
                        Some(argument) => self.scope(&self.rows[*other]).value(argument),
                        None => Ok(Value::Bool(true)),
                    };
                    fold(*function, framed.iter().map(value).collect::<Checked<_>>()?)?
                }
            });
        }
        Ok(values)
    }
}

/// The part, from 1, that a place is in when so many rows are cut into parts.
fn ntile(place: usize, n_rows: usize, parts: usize) -> usize {
    let mut end = 0;
    for part in 0..parts {
        end += n_rows / parts + usize::from(part < n_rows % parts);
        if place < end {
            return part + 1;
        }
    }
    parts
}

fn first_of_equals(rows: &[Row]) -> Vec<Row> {
    let mut kept: Vec<Row> = vec![];
    for row in rows {
        if !kept.contains(row) {
            kept.push(row.clone());
        }
    }
    kept
}

/// Nulls are equal here. `ALL` counts: each row of the right side takes one of the left.
fn set_operation(kind: SetKind, all: bool, left: &[Row], right: &[Row]) -> Vec<Row> {
    match (kind, all) {
        (SetKind::Union, true) => [left, right].concat(),
        (SetKind::Union, false) => first_of_equals(&[left, right].concat()),
        (SetKind::Intersect, false) => first_of_equals(left).into_iter().filter(|row| right.contains(row)).collect(),
        (SetKind::Except, false) => first_of_equals(left).into_iter().filter(|row| !right.contains(row)).collect(),
        (_, true) => {
            let mut right = right.to_vec();
            let mut kept = vec![];
            for row in left {
                let partner = right.iter().position(|other| other == row);
                if let Some(partner) = partner {
                    right.remove(partner);
                }
                if partner.is_some() == (kind == SetKind::Intersect) {
                    kept.push(row.clone());
                }
            }
            kept
        }
    }
}
