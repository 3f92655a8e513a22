//! The columns after each verb, with their kinds: the rules by which names are found.
//!
//! Used by the generator, to know what it may name, and by the interpreter, which refuses a query that names a column
//! which is not there, or which could be two. `SET` and `RENAME` leave a column to its source; a computed column has no
//! qualifier. Where it is not said that a verb keeps qualifiers, none are kept, so that no query depends on it.

use super::data::Table;
use super::query::*;
use super::values::{Kind, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: Name,
    pub kind: Kind,
}

pub type Checked<T> = Result<T, String>;

/// The place of the one column that is called so.
pub fn find(columns: &[Column], called: &Name) -> Checked<usize> {
    let mut found = columns.iter().enumerate().filter(|(_, column)| column.name.answers_to(called));
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (None, _) => Err(format!("no column {called:?}")),
        _ => Err(format!("two columns {called:?}")),
    }
}

/// The columns that expressions may name: those of the rows at hand, then those from outside.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    pub tables: &'a [Table],
    pub inner: &'a [Column],
    pub outer: Option<&'a [Column]>,
}

pub fn of_pipeline(tables: &[Table], pipeline: &Pipeline) -> Checked<Vec<Column>> {
    let mut columns = of_source(tables, &pipeline.from)?;
    for verb in &pipeline.verbs {
        columns = after(tables, &columns, verb)?;
    }
    Ok(columns)
}

pub fn of_source(tables: &[Table], source: &Source) -> Checked<Vec<Column>> {
    let columns = match &source.kind {
        SourceKind::Table(table) => tables[*table].columns.clone(),
        SourceKind::Pipeline(pipeline) => of_pipeline(tables, pipeline)?,
    };
    match &source.alias {
        Some(alias) => renamed(&columns, Some(alias)),
        None => renamed(&columns, None),
    }
}

/// All columns under one qualifier. Two of one name would be the same column.
fn renamed(columns: &[Column], qualifier: Option<&String>) -> Checked<Vec<Column>> {
    for column in columns {
        find(columns, &Name::bare(&column.name.name))?;
    }
    let rename = |column: &Column| Column {
        name: Name { qualifier: qualifier.cloned(), name: column.name.name.clone() },
        kind: column.kind,
    };
    Ok(columns.iter().map(rename).collect())
}

pub fn after(tables: &[Table], columns: &[Column], verb: &Verb) -> Checked<Vec<Column>> {
    let names = Names { tables, inner: columns, outer: None };
    let item = |item: &Item| -> Checked<Column> {
        let kind = names.kind(&item.expr)?;
        match (&item.alias, &item.expr) {
            (Some(alias), _) => Ok(Column { name: Name::bare(alias), kind }),
            (None, Expr::Column(called)) => Ok(columns[find(columns, called)?].clone()),
            (None, _) => Err("an expression without a name".to_string()),
        }
    };
    let with_new = |new: Vec<Column>| -> Checked<Vec<Column>> {
        let mut all = columns.to_vec();
        for column in new {
            if all.iter().any(|other| other.name.name == column.name.name) {
                return Err(format!("there is a column {:?} already", column.name));
            }
            all.push(column);
        }
        Ok(all)
    };
    match verb {
        Verb::Where(condition) => {
            names.expect(condition, Kind::Bool)?;
            Ok(columns.to_vec())
        }
        Verb::Select { items, .. } if items.is_empty() => Err("no column is selected".to_string()),
        Verb::Select { items, .. } => distinct_names(items.iter().map(item).collect::<Checked<_>>()?),
        Verb::Extend(items) => with_new(items.iter().map(item).collect::<Checked<_>>()?),
        Verb::Windows(items) => {
            let column = |(window, name): &(Window, String)| {
                Ok(Column { name: Name::bare(name), kind: names.kind_of_window(window)? })
            };
            with_new(items.iter().map(column).collect::<Checked<_>>()?)
        }
        Verb::Set(items) => {
            let mut changed = columns.to_vec();
            for (name, expr) in items {
                let index = find(columns, &Name::bare(name))?;
                changed[index].kind = names.kind(expr)?;
            }
            Ok(changed)
        }
        Verb::Drop(dropped) => {
            for name in dropped {
                find(columns, &Name::bare(name))?;
            }
            let left: Vec<Column> =
                columns.iter().filter(|column| !dropped.contains(&column.name.name)).cloned().collect();
            if left.is_empty() { Err("no column is left".to_string()) } else { Ok(left) }
        }
        Verb::Rename(renamed) => {
            let mut changed = columns.to_vec();
            for (from, to) in renamed {
                changed[find(columns, &Name::bare(from))?].name.name = to.clone();
            }
            for (_, to) in renamed {
                find(&changed, &Name::bare(to))?;
            }
            Ok(changed)
        }
        Verb::Aggregate { items, groups } => {
            let aggregate = |(aggregate, name): &(Aggregate, String)| {
                Ok(Column { name: Name::bare(name), kind: names.kind_of_aggregate(aggregate)? })
            };
            let groups = groups.iter().map(item);
            distinct_names(groups.chain(items.iter().map(aggregate)).collect::<Checked<_>>()?)
        }
        Verb::Join { kind, source, condition } => joined(tables, columns, *kind, source, condition),
        Verb::SetOperation { source, .. } => {
            let right = of_source(tables, source)?;
            if !columns.iter().map(|column| column.kind).eq(right.iter().map(|column| column.kind)) {
                return Err("the two sides have different columns".to_string());
            }
            renamed(columns, None)
        }
        Verb::OrderBy(order) => {
            names.check_order(order)?;
            Ok(columns.to_vec())
        }
        Verb::Limit { .. } | Verb::Distinct => Ok(columns.to_vec()),
        Verb::DistinctOn(keys) => {
            keys.iter().try_for_each(|key| names.kind(key).map(|_| ()))?;
            Ok(columns.to_vec())
        }
        Verb::Dedup { on, by, cluster_size, .. } => {
            on.iter().try_for_each(|key| names.kind(key).map(|_| ()))?;
            names.check_order(by)?;
            with_new(cluster_size.iter().map(|name| Column { name: Name::bare(name), kind: Kind::Int }).collect())
        }
        Verb::As(name) => renamed(columns, Some(name)),
    }
}

/// No two columns of one name, unless the qualifiers tell them apart.
fn distinct_names(columns: Vec<Column>) -> Checked<Vec<Column>> {
    for (index, column) in columns.iter().enumerate() {
        let same = |other: &Column| {
            let told_apart = column.name.qualifier.is_some()
                && other.name.qualifier.is_some()
                && column.name.qualifier != other.name.qualifier;
            other.name.name == column.name.name && !told_apart
        };
        if columns[..index].iter().any(same) {
            return Err(format!("two columns {:?}", column.name));
        }
    }
    Ok(columns)
}

/// After `USING`, a shared column stands once: from the side that keeps all its rows, from either after FULL.
fn joined(
    tables: &[Table],
    left: &[Column],
    kind: JoinKind,
    source: &Source,
    condition: &JoinCondition,
) -> Checked<Vec<Column>> {
    let right = of_source(tables, source)?;
    let both = distinct_names(left.iter().chain(&right).cloned().collect());
    let only_left = matches!(kind, JoinKind::Semi | JoinKind::Anti);
    match condition {
        JoinCondition::None => both,
        JoinCondition::On(condition) => {
            let both = both?;
            Names { tables, inner: &both, outer: None }.expect(condition, Kind::Bool)?;
            if only_left { Ok(left.to_vec()) } else { Ok(both) }
        }
        JoinCondition::Using(shared) => {
            let mut columns = left.to_vec();
            for name in shared {
                let (at, from) = (find(left, &Name::bare(name))?, find(&right, &Name::bare(name))?);
                if left[at].kind != right[from].kind {
                    return Err("keys of different kinds".to_string());
                }
                match kind {
                    JoinKind::Right => columns[at] = right[from].clone(),
                    JoinKind::Full => columns[at].name.qualifier = None,
                    _ => {}
                }
            }
            if only_left {
                return Ok(left.to_vec());
            }
            columns.extend(right.into_iter().filter(|column| !shared.contains(&column.name.name)));
            distinct_names(columns)
        }
    }
}

impl Names<'_> {
    pub fn expect(&self, expr: &Expr, kind: Kind) -> Checked<()> {
        let found = self.kind(expr)?;
        if found == kind { Ok(()) } else { Err(format!("{found:?} where {kind:?} is expected")) }
    }

    fn check_order(&self, order: &[Order]) -> Checked<()> {
        order.iter().try_for_each(|order| self.kind(&order.expr).map(|_| ()))
    }

    pub fn kind(&self, expr: &Expr) -> Checked<Kind> {
        let all = |exprs: &[&Expr], kind| exprs.iter().try_for_each(|expr| self.expect(expr, kind));
        match expr {
            Expr::Column(called) => match (find(self.inner, called), self.outer) {
                (Ok(index), _) => Ok(self.inner[index].kind),
                (Err(_), Some(outer)) if !self.inner.iter().any(|column| column.name.answers_to(called)) => {
                    Ok(outer[find(outer, called)?].kind)
                }
                (Err(error), _) => Err(error),
            },
            Expr::Literal(Value::Bool(_)) => Ok(Kind::Bool),
            Expr::Literal(Value::Int(_)) => Ok(Kind::Int),
            Expr::Literal(Value::Text(_)) => Ok(Kind::Text),
            Expr::Literal(Value::Null) => Err("a null of no kind".to_string()),
            Expr::Compare(_, left, right) | Expr::Distinct { left, right, .. } => {
                self.expect(right, self.kind(left)?).map(|()| Kind::Bool)
            }
            Expr::And(left, right) | Expr::Or(left, right) => all(&[left, right], Kind::Bool).map(|()| Kind::Bool),
            Expr::IsTrue { value, .. } => self.expect(value, Kind::Bool).map(|()| Kind::Bool),
            Expr::Between { value, low, high, .. } => all(&[low, high], self.kind(value)?).map(|()| Kind::Bool),
            Expr::Not(inner) => self.expect(inner, Kind::Bool).map(|()| Kind::Bool),
            Expr::IsNull { value, .. } | Expr::InList { value, .. } => self.kind(value).map(|_| Kind::Bool),
            Expr::InQuery { value, query, .. } => {
                let found = self.kind_of_subquery(query)?;
                self.expect(value, found).map(|()| Kind::Bool)
            }
            Expr::Exists { query, .. } => self.kind_of_subquery(query).map(|_| Kind::Bool),
            Expr::Scalar(query) => self.kind_of_subquery(query),
            Expr::Arithmetic(_, left, right) => all(&[left, right], Kind::Int).map(|()| Kind::Int),
            Expr::Case { when, then, otherwise } => {
                self.expect(when, Kind::Bool)?;
                let kind = self.kind(then)?;
                otherwise.iter().try_for_each(|otherwise| self.expect(otherwise, kind))?;
                Ok(kind)
            }
            Expr::Call(function, arguments) => {
                let arguments: Vec<&Expr> = arguments.iter().collect();
                match function {
                    Function::Upper | Function::Concat => all(&arguments, Kind::Text).map(|()| Kind::Text),
                    Function::Length | Function::ToInt => all(&arguments, Kind::Text).map(|()| Kind::Int),
                    Function::IsNumber => all(&arguments, Kind::Text).map(|()| Kind::Bool),
                    Function::Abs => all(&arguments, Kind::Int).map(|()| Kind::Int),
                    Function::Coalesce | Function::NullIf => {
                        let kind = self.kind(arguments[0])?;
                        all(&arguments, kind).map(|()| kind)
                    }
                }
            }
        }
    }

    fn kind_of_subquery(&self, query: &Subquery) -> Checked<Kind> {
        let inner = renamed(&self.tables[query.table].columns, Some(&query.alias))?;
        let names = Names { tables: self.tables, inner: &inner, outer: Some(self.inner) };
        query.filter.iter().try_for_each(|filter| names.expect(filter, Kind::Bool))?;
        names.check_order(&query.order)?;
        match &query.what {
            Selected::Value(expr) => names.kind(expr),
            Selected::Aggregate(aggregate) => names.kind_of_aggregate(aggregate),
        }
    }

    fn kind_of_aggregate(&self, aggregate: &Aggregate) -> Checked<Kind> {
        self.check_order(&aggregate.order)?;
        aggregate.filter.iter().try_for_each(|filter| self.expect(filter, Kind::Bool))?;
        self.kind_over(aggregate.function, aggregate.argument.as_ref())
    }

    fn kind_over(&self, function: AggregateFunction, argument: Option<&Expr>) -> Checked<Kind> {
        let kind = argument.map(|expr| self.kind(expr)).transpose()?;
        match (function, kind) {
            (AggregateFunction::Count | AggregateFunction::CountDistinct, _) => Ok(Kind::Int),
            (_, None) => Err("an aggregate of nothing".to_string()),
            (AggregateFunction::Sum, Some(Kind::Int)) => Ok(Kind::Int),
            (AggregateFunction::BoolAnd | AggregateFunction::BoolOr, Some(Kind::Bool)) => Ok(Kind::Bool),
            (AggregateFunction::Concat, Some(Kind::Text)) => Ok(Kind::Text),
            (AggregateFunction::List | AggregateFunction::DistinctList, Some(Kind::Int | Kind::Text)) => Ok(Kind::Text),
            (AggregateFunction::Min | AggregateFunction::Max, Some(kind)) if kind != Kind::Bool => Ok(kind),
            (AggregateFunction::First | AggregateFunction::Last | AggregateFunction::Second, Some(kind)) => Ok(kind),
            (function, kind) => Err(format!("{function:?} of {kind:?}")),
        }
    }

    fn kind_of_window(&self, window: &Window) -> Checked<Kind> {
        window.partition.iter().try_for_each(|key| self.kind(key).map(|_| ()))?;
        self.check_order(&window.order)?;
        match &window.function {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank | WindowFunction::Ntile(_) => {
                Ok(Kind::Int)
            }
            WindowFunction::Lag(expr, _) | WindowFunction::Lead(expr, _) => self.kind(expr),
            WindowFunction::Over(function, argument) => self.kind_over(*function, argument.as_ref()),
        }
    }
}
