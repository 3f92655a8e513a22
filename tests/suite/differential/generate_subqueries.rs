//! Random subqueries in conditions: `IN`, `EXISTS` and single values, some of them with columns from outside.

use super::columns::{self, Column};
use super::generate::Generator;
use super::generate_exprs::COMPARISONS;
use super::query::*;
use super::values::{Kind, Value};

impl Generator<'_> {
    /// A condition with a subquery. In a column, `IN` and `EXISTS` may not name columns from outside.
    pub fn subquery_condition(&mut self, columns: &[Column], in_column: bool) -> Option<Expr> {
        let negated = self.chance.percent(40);
        match self.chance.below(4) {
            0 => self.in_query(columns, in_column),
            1 => {
                let (table, alias, inner) = self.inner();
                let what = Selected::Value(Expr::Literal(Value::Int(1)));
                let query = if !in_column && self.chance.percent(80) {
                    let filter = Some(self.correlation(columns, &inner, false)?);
                    Subquery { table, alias, what, filter, order: vec![], limit: None }
                } else {
                    let filter = Some(self.condition(&inner, 1, false));
                    Subquery { table, alias, what, filter, order: vec![], limit: Some(self.chance.below(3)) }
                };
                Some(Expr::Exists { query: Box::new(query), negated })
            }
            _ => {
                let query = self.number_query(columns)?;
                let left = self.column(columns, Kind::Int)?;
                let comparison = *self.chance.pick(&COMPARISONS);
                Some(Expr::Compare(comparison, Box::new(left), Box::new(Expr::Scalar(Box::new(query)))))
            }
        }
    }

    /// A value with a subquery, for a column.
    pub fn subquery_value(&mut self, columns: &[Column], kind: Kind) -> Option<Expr> {
        match kind {
            Kind::Int => {
                let query = Expr::Scalar(Box::new(self.number_query(columns)?));
                if self.chance.percent(60) {
                    return Some(query);
                }
                let other = self.column(columns, Kind::Int)?;
                Some(Expr::Arithmetic(Operator::Add, Box::new(query), Box::new(other)))
            }
            Kind::Bool => {
                let condition = self.subquery_condition(columns, true)?;
                if self.chance.percent(60) {
                    return Some(condition);
                }
                let (first, second) = (Box::new(condition), Box::new(self.condition(columns, 0, false)));
                Some(if self.chance.percent(50) { Expr::And(second, first) } else { Expr::Or(first, second) })
            }
            Kind::Text => None,
        }
    }

    /// A subquery that gives one number: of one row, or of all together.
    fn number_query(&mut self, columns: &[Column]) -> Option<Subquery> {
        let (table, alias, inner) = self.inner();
        if self.chance.percent(50) {
            let what = Selected::Value(self.column(&inner, Kind::Int)?);
            let filter = self.chance.percent(50).then(|| self.condition(&inner, 1, false));
            let order = if self.chance.percent(60) { self.orders(&inner, 2) } else { vec![] };
            return Some(Subquery { table, alias, what, filter, order, limit: Some(1) });
        }
        let function = *self.chance.pick(&[
            AggregateFunction::Count,
            AggregateFunction::Max,
            AggregateFunction::Min,
            AggregateFunction::Sum,
        ]);
        let argument = Some(self.column(&inner, Kind::Int)?);
        let filter = if self.chance.percent(50) {
            self.correlation(columns, &inner, true)
        } else {
            self.chance.percent(50).then(|| self.condition(&inner, 1, false))
        };
        let what = Selected::Aggregate(Aggregate { function, argument, order: vec![], filter: None });
        Some(Subquery { table, alias, what, filter, order: vec![], limit: None })
    }

    /// `value [NOT] IN (SELECT …)`, often of a column of the same name.
    pub fn in_query(&mut self, columns: &[Column], in_column: bool) -> Option<Expr> {
        let (table, alias, inner) = self.inner();
        let kind = *self.chance.pick(&[Kind::Int, Kind::Text]);
        let names = self.references(columns, Some(kind));
        if names.is_empty() {
            return None;
        }
        let value = self.chance.pick(&names).clone();
        let same = Name::bare(&value.name);
        let has_same = columns::find(&inner, &same).is_ok_and(|index| inner[index].kind == kind);
        let what = if has_same { Expr::Column(same) } else { self.column(&inner, kind)? };
        let (mut order, mut limit) = (vec![], None);
        let filter = match self.chance.below(4) {
            0 if in_column => None,
            0 => self.correlation(columns, &inner, true),
            1 => Some(self.condition(&inner, 1, false)),
            2 => {
                limit = Some(1 + self.chance.below(3));
                order = if self.chance.percent(50) { self.orders(&inner, 2) } else { vec![] };
                None
            }
            _ => None,
        };
        let query = Box::new(Subquery { table, alias, what: Selected::Value(what), filter, order, limit });
        let negated = self.chance.percent(35);
        Some(Expr::InQuery { value: Box::new(Expr::Column(value)), query, negated })
    }

    fn inner(&mut self) -> (usize, String, Vec<Column>) {
        let table = self.chance.below(self.tables.len());
        let alias = self.alias();
        let mut inner = self.tables[table].columns.clone();
        inner.iter_mut().for_each(|column| column.name.qualifier = Some(alias.clone()));
        (table, alias, inner)
    }

    /// A condition of a subquery that names a column from outside.
    fn correlation(&mut self, outer: &[Column], inner: &[Column], only_equality: bool) -> Option<Expr> {
        let kind = *self.chance.pick(&[Kind::Int, Kind::Text]);
        let from_outside: Vec<Name> = self
            .references(outer, Some(kind))
            .into_iter()
            .filter(|name| !inner.iter().any(|column| column.name.answers_to(name)))
            .collect();
        if from_outside.is_empty() {
            return None;
        }
        let right = Expr::Column(self.chance.pick(&from_outside).clone());
        let left = self.column(inner, kind)?;
        let comparison = if only_equality { Comparison::Equal } else { *self.chance.pick(&COMPARISONS) };
        let correlated = Expr::Compare(comparison, Box::new(left), Box::new(right));
        if self.chance.percent(30) {
            let more = self.condition(inner, 0, false);
            return Some(Expr::And(Box::new(correlated), Box::new(more)));
        }
        Some(correlated)
    }
}
