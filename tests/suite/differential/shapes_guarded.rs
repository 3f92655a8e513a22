//! Casts and divisions that not every row can take, behind something that drops the rows that cannot.

use super::columns::{self, Column};
use super::generate::{Draft, Generator};
use super::query::*;
use super::values::{Kind, Value};

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

fn compare(comparison: Comparison, left: Expr, right: i64) -> Expr {
    Expr::Compare(comparison, boxed(left), boxed(Expr::Literal(Value::Int(right))))
}

fn is_number(text: &Expr) -> Expr {
    Expr::Call(Function::IsNumber, vec![text.clone()])
}

/// `CAST(text AS INT) > 5`
fn is_large(text: &Expr) -> Expr {
    compare(Comparison::Greater, Expr::Call(Function::ToInt, vec![text.clone()]), 5)
}

/// `10 / divisor > 2`
fn divides(divisor: &Expr) -> Expr {
    let ten = boxed(Expr::Literal(Value::Int(10)));
    compare(Comparison::Greater, Expr::Arithmetic(Operator::Divide, ten, boxed(divisor.clone())), 2)
}

impl Generator<'_> {
    /// What can fail behind its guard. A draft for which the guard is not enough is thrown away, as any that fails.
    pub fn guarded(&mut self, draft: &mut Draft, depth: usize) {
        match self.chance.below(8) {
            0 | 1 => self.guarded_cast(draft, depth),
            2 => self.cast_of_a_group(draft),
            3 => self.cast_of_a_key_beside_a_guard(draft),
            4 => self.cast_of_what_has_no_copy(draft),
            5 if depth < 2 => self.division_over_two_relations(draft, depth),
            6 if depth < 2 => self.cast_over_two_relations(draft, depth),
            _ => self.division_in_one_expression(draft),
        }
    }

    fn text(&mut self, columns: &[Column]) -> Option<Name> {
        let texts = self.references(columns, Some(Kind::Text));
        if texts.is_empty() { None } else { Some(self.chance.pick(&texts).clone()) }
    }

    /// Both conditions, in one `WHERE` or in two.
    fn filter_twice(&mut self, draft: &mut Draft, guard: Expr, condition: Expr) {
        if self.chance.percent(50) {
            self.push(draft, Verb::Where(Expr::And(boxed(guard), boxed(condition))));
        } else {
            self.push(draft, Verb::Where(guard));
            self.push(draft, Verb::Where(condition));
        }
    }

    /// A cast that only the rows of the condition before it can take.
    fn guarded_cast(&mut self, draft: &mut Draft, depth: usize) {
        let Some(name) = self.text(&draft.columns.clone()) else { return };
        let column = Expr::Column(name.clone());
        self.push(draft, Verb::Where(is_number(&column)));
        let cast = Expr::Call(Function::ToInt, vec![column.clone()]);
        let limit = |name: &str| Verb::Where(compare(Comparison::Greater, Expr::Column(Name::bare(name)), 5));
        match self.chance.below(3) {
            0 => {
                if self.push(draft, Verb::Set(vec![(name.name.clone(), cast)])) {
                    self.push(draft, limit(&name.name));
                }
            }
            1 => {
                let alias = self.fresh_name(&draft.columns);
                let item = Item { expr: cast, alias: Some(alias.clone()) };
                if self.push(draft, Verb::Extend(vec![item])) {
                    self.push(draft, limit(&alias));
                }
            }
            _ => {
                self.join(draft, depth.max(1), Some(JoinKind::Inner));
                self.push(draft, Verb::Where(is_large(&column)));
            }
        }
    }

    /// The guard is computed for the group, the cast reads its key.
    fn cast_of_a_group(&mut self, draft: &mut Draft) {
        let Some(name) = self.text(&draft.columns.clone()) else { return };
        let column = Expr::Column(name.clone());
        let guard = Aggregate {
            function: AggregateFunction::BoolAnd,
            argument: Some(is_number(&column)),
            order: vec![],
            filter: None,
        };
        let groups = vec![Item { expr: column, alias: None }];
        if self.push(draft, Verb::Aggregate { items: vec![(guard, "g".to_string())], groups }) {
            self.filter_twice(draft, Expr::Column(Name::bare("g")), is_large(&Expr::Column(Name::bare(&name.name))));
        }
    }

    /// The cast reads the key of a `DEDUP` or of windows, the guard another column.
    fn cast_of_a_key_beside_a_guard(&mut self, draft: &mut Draft) {
        let Some(name) = self.text(&draft.columns.clone()) else { return };
        let column = Expr::Column(name);
        let guard = self.fresh_name(&draft.columns);
        let item = Item { expr: is_number(&column), alias: Some(guard.clone()) };
        if !self.push(draft, Verb::Extend(vec![item])) {
            return;
        }
        if self.chance.percent(50) {
            let keep = *self.chance.pick(&[Keep::First, Keep::Last, Keep::None]);
            let by = if keep == Keep::First { self.orders(&draft.columns, 1) } else { vec![] };
            let on = vec![column.clone()];
            self.push(draft, Verb::Dedup { on, keep, by, cluster_size: None, drops: true });
        } else {
            let partition = vec![column.clone()];
            let window = Window { function: WindowFunction::RowNumber, partition, order: vec![], rows: None };
            let alias = self.fresh_name(&draft.columns);
            self.push(draft, Verb::Windows(vec![(window, alias)]));
        }
        self.filter_twice(draft, Expr::Column(Name::bare(&guard)), is_large(&column));
    }

    /// What is no number is there twice, and `KEEP NONE` drops it.
    fn cast_of_what_has_no_copy(&mut self, draft: &mut Draft) {
        let Some(name) = self.text(&draft.columns.clone()) else { return };
        let column = Expr::Column(name.clone());
        let mut copies = draft.clone();
        self.push(&mut copies, Verb::Where(Expr::Not(boxed(is_number(&column)))));
        let source = Source { kind: SourceKind::Pipeline(Box::new(copies.pipeline)), alias: None };
        if self.push(draft, Verb::SetOperation { kind: SetKind::Union, all: true, source }) {
            let column = Expr::Column(Name::bare(&name.name));
            let on = vec![column.clone()];
            self.push(draft, Verb::Dedup { on, keep: Keep::None, by: vec![], cluster_size: None, drops: true });
            self.push(draft, Verb::Where(is_large(&column)));
        }
    }

    /// A column of each side of a join that is made here.
    fn of_two_relations(&mut self, draft: &mut Draft, depth: usize, kind: JoinKind, of: Kind) -> Option<[Expr; 2]> {
        let n_left = draft.columns.len();
        self.join(draft, depth, Some(kind));
        let columns = draft.columns.clone();
        let (left, right) = columns.split_at(n_left.min(columns.len()));
        let mut pick = |side: &[Column]| {
            let callable = |column: &&Column| column.kind == of && columns::find(&columns, &column.name).is_ok();
            let names: Vec<&Column> = side.iter().filter(callable).collect();
            if names.is_empty() { None } else { Some(Expr::Column(self.chance.pick(&names).name.clone())) }
        };
        Some([pick(left)?, pick(right)?])
    }

    fn division_over_two_relations(&mut self, draft: &mut Draft, depth: usize) {
        let kind = *self.chance.pick(&[JoinKind::Cross, JoinKind::Inner]);
        let Some([left, right]) = self.of_two_relations(draft, depth, kind, Kind::Int) else { return };
        let guard = Expr::Compare(Comparison::Unequal, boxed(left.clone()), boxed(right.clone()));
        let difference = Expr::Arithmetic(Operator::Subtract, boxed(left), boxed(right));
        self.filter_twice(draft, guard, divides(&difference));
    }

    fn cast_over_two_relations(&mut self, draft: &mut Draft, depth: usize) {
        let kind = *self.chance.pick(&[JoinKind::Left, JoinKind::Inner, JoinKind::Full]);
        let Some([left, right]) = self.of_two_relations(draft, depth, kind, Kind::Text) else { return };
        let either = Expr::Call(Function::Coalesce, vec![right, left]);
        self.filter_twice(draft, is_number(&either), is_large(&either));
    }

    /// `v = 0 OR 10 / v > 2`, as a condition and as a column.
    fn division_in_one_expression(&mut self, draft: &mut Draft) {
        let Some(divisor) = self.column(&draft.columns.clone(), Kind::Int) else { return };
        let is_zero = compare(Comparison::Equal, divisor.clone(), 0);
        let is_divisor = compare(Comparison::Unequal, divisor.clone(), 0);
        let expr = if self.chance.percent(50) {
            Expr::Or(boxed(is_zero), boxed(divides(&divisor)))
        } else {
            Expr::Not(boxed(Expr::And(boxed(is_divisor), boxed(divides(&divisor)))))
        };
        if self.chance.percent(50) {
            self.push(draft, Verb::Where(expr));
        } else {
            let alias = Some(self.fresh_name(&draft.columns));
            self.push(draft, Verb::Extend(vec![Item { expr, alias }]));
        }
    }
}
