//! Random expressions over the columns at hand, and the calls that look at several rows.

use super::columns::{self, Column};
use super::generate::Generator;
use super::query::*;
use super::values::{Kind, Value};

pub const COMPARISONS: [Comparison; 7] = [
    Comparison::Equal,
    Comparison::Equal,
    Comparison::Unequal,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

impl Generator<'_> {
    /// What columns of a kind, or all, can be called, each in one way.
    pub fn references(&mut self, columns: &[Column], kind: Option<Kind>) -> Vec<Name> {
        let mut names = vec![];
        for column in columns.iter().filter(|column| kind.is_none_or(|kind| kind == column.kind)) {
            let bare = Name::bare(&column.name.name);
            let ways: Vec<Name> =
                [bare, column.name.clone()].into_iter().filter(|name| columns::find(columns, name).is_ok()).collect();
            if !ways.is_empty() {
                names.push(self.chance.pick(&ways).clone());
            }
        }
        names
    }

    pub fn column(&mut self, columns: &[Column], kind: Kind) -> Option<Expr> {
        let names = self.references(columns, Some(kind));
        if names.is_empty() { None } else { Some(Expr::Column(self.chance.pick(&names).clone())) }
    }

    fn literal(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Bool => Value::Bool(self.chance.percent(50)),
            Kind::Int => Value::Int(*self.chance.pick(&[-1, 0, 1, 2, 3, 7])),
            Kind::Text => Value::text(self.chance.pick::<&str>(&["p", "q", "r", "R", "", "7", "12", "x"])),
        }
    }

    pub fn expr(&mut self, columns: &[Column], kind: Kind, depth: usize) -> Expr {
        let column = self.column(columns, kind);
        if let Some(column) = column
            && (depth == 0 || self.chance.percent(45))
        {
            return column;
        }
        if depth == 0 || self.chance.percent(12) {
            return Expr::Literal(self.literal(kind));
        }
        let boxed = |expr| Box::new(expr);
        let depth = depth - 1;
        match (self.chance.below(6), kind) {
            (0, _) => {
                let (first, second) = (self.expr(columns, kind, depth), self.expr(columns, kind, depth));
                Expr::Call(Function::Coalesce, vec![first, second])
            }
            (1, Kind::Int | Kind::Text) => {
                let (first, second) = (self.expr(columns, kind, depth), Expr::Literal(self.literal(kind)));
                Expr::Call(Function::NullIf, vec![first, second])
            }
            (2, _) => {
                let when = boxed(self.condition(columns, depth, false));
                let then = boxed(self.expr(columns, kind, depth));
                let otherwise = self.chance.percent(60).then(|| boxed(self.expr(columns, kind, depth)));
                Expr::Case { when, then, otherwise }
            }
            (_, Kind::Bool) => self.condition(columns, depth, false),
            (3, Kind::Int) => Expr::Call(Function::Length, vec![self.expr(columns, Kind::Text, depth)]),
            (4, Kind::Int) => {
                let divisor = self.expr(columns, Kind::Int, depth);
                let operator = *self.chance.pick(&[Operator::Divide, Operator::Remainder]);
                let zero = boxed(Expr::Literal(Value::Int(0)));
                let when = boxed(Expr::Compare(Comparison::Unequal, boxed(divisor.clone()), zero));
                let value = self.expr(columns, Kind::Int, depth);
                let then = boxed(Expr::Arithmetic(operator, boxed(value), boxed(divisor)));
                Expr::Case { when, then, otherwise: None }
            }
            (_, Kind::Int) => {
                let operator = *self.chance.pick(&[Operator::Add, Operator::Subtract, Operator::Multiply]);
                let left = self.expr(columns, Kind::Int, depth);
                if self.chance.percent(15) {
                    return Expr::Call(Function::Abs, vec![left]);
                }
                let right = match operator {
                    Operator::Multiply => Expr::Literal(Value::Int(2)),
                    _ => self.expr(columns, Kind::Int, depth),
                };
                Expr::Arithmetic(operator, boxed(left), boxed(right))
            }
            (3, Kind::Text) => Expr::Call(Function::Upper, vec![self.expr(columns, Kind::Text, depth)]),
            (_, Kind::Text) => {
                let (first, second) = (self.expr(columns, Kind::Text, depth), self.expr(columns, Kind::Text, depth));
                Expr::Call(Function::Concat, vec![first, second])
            }
        }
    }

    pub fn condition(&mut self, columns: &[Column], depth: usize, subqueries: bool) -> Expr {
        let boxed = |expr| Box::new(expr);
        if subqueries
            && self.chance.percent(20)
            && let Some(condition) = self.subquery_condition(columns, false)
        {
            return condition;
        }
        let kind = *self.chance.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Bool]);
        match self.chance.below(10) {
            0..2 if depth > 0 => Expr::And(
                boxed(self.condition(columns, depth - 1, subqueries)),
                boxed(self.condition(columns, depth - 1, subqueries)),
            ),
            2 if depth > 0 => Expr::Or(
                boxed(self.condition(columns, depth - 1, subqueries)),
                boxed(self.condition(columns, depth - 1, subqueries)),
            ),
            3 if depth > 0 => Expr::Not(boxed(self.condition(columns, depth - 1, subqueries))),
            4..6 => {
                let value = boxed(self.expr(columns, kind, 0));
                Expr::IsNull { value, negated: self.chance.percent(50) }
            }
            7 if depth > 0 => {
                let value = boxed(self.condition(columns, depth - 1, false));
                Expr::IsTrue { value, negated: self.chance.percent(50) }
            }
            8 if kind == Kind::Int => {
                let [value, low, high] = [0, 0, 0].map(|depth| boxed(self.expr(columns, kind, depth)));
                Expr::Between { value, low, high, negated: self.chance.percent(30) }
            }
            6 if kind != Kind::Bool => {
                let value = boxed(self.expr(columns, kind, 0));
                let mut list: Vec<Value> = (0..1 + self.chance.below(3)).map(|_| self.literal(kind)).collect();
                if self.chance.percent(15) {
                    list.push(Value::Null);
                }
                Expr::InList { value, list, negated: self.chance.percent(40) }
            }
            7 => self.column(columns, Kind::Bool).unwrap_or(Expr::Literal(Value::Bool(true))),
            _ => {
                let comparison = *self.chance.pick(&COMPARISONS);
                let left = self.expr(columns, kind, depth.min(1));
                let right = if self.chance.percent(60) {
                    Expr::Literal(self.literal(kind))
                } else {
                    self.expr(columns, kind, depth.min(1))
                };
                if self.chance.percent(8) {
                    let negated = self.chance.percent(50);
                    return Expr::Distinct { left: boxed(left), right: boxed(right), negated };
                }
                Expr::Compare(comparison, boxed(left), boxed(right))
            }
        }
    }

    /// Mostly an equality of a left and a right column, sometimes with more, sometimes another comparison alone.
    pub fn join_condition(&mut self, left: &[Column], right: &[Column]) -> Option<Expr> {
        let both: Vec<Column> = left.iter().chain(right).cloned().collect();
        let mut pairs = vec![];
        for (index, column) in both.iter().enumerate() {
            for (other_index, other) in both.iter().enumerate() {
                let crosses = index < left.len() && other_index >= left.len();
                let callable = |column: &Column| columns::find(&both, &column.name).is_ok();
                if crosses && column.kind == other.kind && callable(column) && callable(other) {
                    let weight = if column.name.name == other.name.name { 4 } else { 1 };
                    pairs.extend(vec![(column.name.clone(), other.name.clone()); weight]);
                }
            }
        }
        if pairs.is_empty() {
            return None;
        }
        let (left, right) = self.chance.pick(&pairs).clone();
        let comparison = if self.chance.percent(88) { Comparison::Equal } else { *self.chance.pick(&COMPARISONS) };
        let mut sides = [Box::new(Expr::Column(left)), Box::new(Expr::Column(right))];
        if self.chance.percent(30) {
            sides.reverse();
        }
        let [first, second] = sides;
        let condition = if self.chance.percent(10) {
            Expr::Distinct { left: first, right: second, negated: true }
        } else {
            Expr::Compare(comparison, first, second)
        };
        if self.chance.percent(25) {
            let more = self.condition(&both, 1, false);
            return Some(Expr::And(Box::new(condition), Box::new(more)));
        }
        Some(condition)
    }

    /// An expression that is no constant: a constant number would mean the column at that place.
    pub fn key_expr(&mut self, columns: &[Column]) -> Expr {
        loop {
            let kind = *self.chance.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Bool]);
            let expr = self.expr(columns, kind, 2);
            if !matches!(expr, Expr::Literal(_)) {
                return expr;
            }
        }
    }

    pub fn orders(&mut self, columns: &[Column], at_most: usize) -> Vec<Order> {
        let names = self.references(columns, None);
        if names.is_empty() {
            return vec![];
        }
        let mut exprs: Vec<Expr> = self.chance.some(&names, at_most).into_iter().map(Expr::Column).collect();
        if self.chance.percent(30) {
            exprs.reverse();
        }
        if self.chance.percent(20) {
            exprs[0] = self.key_expr(columns);
        }
        let order = |expr| Order {
            expr,
            descending: self.chance.percent(45),
            nulls_first: self.chance.percent(25).then(|| self.chance.percent(50)),
        };
        exprs.into_iter().map(order).collect()
    }

    fn argument(&mut self, columns: &[Column], function: AggregateFunction) -> Option<Expr> {
        let kind = match function {
            AggregateFunction::Sum => Kind::Int,
            AggregateFunction::Concat => Kind::Text,
            AggregateFunction::BoolAnd | AggregateFunction::BoolOr => Kind::Bool,
            _ => *self.chance.pick(&[Kind::Int, Kind::Text]),
        };
        // `array_agg(DISTINCT x ORDER BY x)`: a constant number there would mean a column by its place.
        let computed = function != AggregateFunction::DistinctList && self.chance.percent(20);
        if computed { Some(self.expr(columns, kind, 1)) } else { self.column(columns, kind) }
    }

    /// An aggregate for `AGGREGATE`.
    pub fn call(&mut self, columns: &[Column]) -> Option<Aggregate> {
        use AggregateFunction::*;
        let function = *self.chance.pick(&[
            Count,
            Count,
            CountDistinct,
            Sum,
            Sum,
            Min,
            Max,
            First,
            Last,
            List,
            Concat,
            BoolAnd,
            BoolOr,
            DistinctList,
            Second,
        ]);
        let argument =
            if function == Count && self.chance.percent(50) { None } else { Some(self.argument(columns, function)?) };
        let by_order = matches!(function, First | Last | List | Concat | Second);
        let order = if by_order && self.chance.percent(35) { self.orders(columns, 2) } else { vec![] };
        // In debug builds, DataFusion 55.2 counts down from zero for the last of no rows.
        let filtered = function != Last && self.chance.percent(12);
        let filter = filtered.then(|| self.condition(columns, 1, false));
        Some(Aggregate { function, argument, order, filter })
    }

    pub fn window(&mut self, columns: &[Column]) -> Option<Window> {
        use AggregateFunction::*;
        let partition = if self.chance.percent(55) {
            let names = self.references(columns, None);
            if names.is_empty() { vec![] } else { vec![Expr::Column(self.chance.pick(&names).clone())] }
        } else {
            vec![]
        };
        let order = if self.chance.percent(65) { self.orders(columns, 2) } else { vec![] };
        let of_any = |generator: &mut Self| {
            let names = generator.references(columns, None);
            if names.is_empty() { None } else { Some(Expr::Column(generator.chance.pick(&names).clone())) }
        };
        let function = match self.chance.below(10) {
            0..3 => WindowFunction::RowNumber,
            3 => WindowFunction::Rank,
            4 if self.chance.percent(50) => WindowFunction::Ntile(1 + self.chance.below(3)),
            4 => WindowFunction::DenseRank,
            5 => WindowFunction::Lag(of_any(self)?, 1 + self.chance.below(2)),
            6 => WindowFunction::Lead(of_any(self)?, 1),
            _ => {
                let function = *self.chance.pick(&[Count, Sum, Sum, Min, Max, First, Last]);
                WindowFunction::Over(function, Some(self.argument(columns, function)?))
            }
        };
        let bounds = [None, Some(0), Some(1), Some(2)];
        // What is first among rows that are equal in a frame by value is not said, so those count rows.
        let by_place = matches!(function, WindowFunction::Over(First | Last, _)) && !order.is_empty();
        let counts_rows = matches!(function, WindowFunction::Over(..)) && (by_place || self.chance.percent(35));
        let rows = counts_rows.then(|| (*self.chance.pick(&bounds), *self.chance.pick(&bounds)));
        Some(Window { function, partition, order, rows })
    }
}
