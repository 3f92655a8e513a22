//! Verbs one after another that went wrong before: made more often than chance would make them. Those with casts and
//! divisions that can fail are in `shapes_guarded.rs`.

use super::columns::{self, Column};
use super::generate::{Draft, Generator};
use super::query::*;
use super::values::{Kind, Value};

impl Generator<'_> {
    /// Verbs that are dangerous one after another.
    pub fn shape(&mut self, draft: &mut Draft, depth: usize) {
        match self.chance.below(14) {
            0 => {
                self.order(draft);
                self.distinct_on(draft);
            }
            1 => {
                self.order(draft);
                self.dedup(draft);
                if self.chance.percent(60) {
                    self.aggregate(draft);
                }
            }
            2 => {
                self.order(draft);
                self.limit(draft);
                self.order(draft);
            }
            3 => {
                self.order(draft);
                self.aggregate(draft);
            }
            4 => {
                self.order(draft);
                let distinct = if self.chance.percent(50) { Verb::Distinct } else { self.selection(draft, true) };
                self.push(draft, distinct);
                self.limit(draft);
            }
            5 if depth < 2 => {
                let outer = *self.chance.pick(&[JoinKind::Left, JoinKind::Right, JoinKind::Full]);
                self.join(draft, depth, Some(outer));
                self.filter(draft);
                self.order(draft);
            }
            6 if depth < 2 => self.outer_join_of_the_missing(draft, depth),
            7 if depth < 2 => self.outer_join_of_a_constant(draft),
            8 => {
                self.set(draft);
                if let Some(condition) = self.in_query(&draft.columns.clone(), false) {
                    self.push(draft, Verb::Where(condition));
                }
            }
            9..11 => self.guarded(draft, depth),
            11 => {
                self.aggregate(draft);
                for constant in [false, true] {
                    self.push(draft, Verb::Where(Expr::Literal(Value::Bool(constant))));
                }
            }
            12 => {
                self.copy(draft);
                self.order(draft);
                self.set_operation(draft, depth);
                self.order(draft);
            }
            _ => {
                self.order(draft);
                self.windows(draft);
            }
        }
    }

    /// The same values under two names: rows sorted by one are sorted by the other.
    fn copy(&mut self, draft: &mut Draft) {
        let names = self.references(&draft.columns, None);
        if !names.is_empty() {
            let expr = Expr::Column(self.chance.pick(&names).clone());
            let alias = Some(self.fresh_name(&draft.columns));
            self.push(draft, Verb::Extend(vec![Item { expr, alias }]));
        }
    }

    /// `RIGHT JOIN … |> WHERE right = 1 AND left IS NULL`: what the left side does not have.
    fn outer_join_of_the_missing(&mut self, draft: &mut Draft, depth: usize) {
        let n_left = draft.columns.len();
        let outer = *self.chance.pick(&[JoinKind::Left, JoinKind::Right, JoinKind::Full]);
        self.join(draft, depth, Some(outer));
        let columns = draft.columns.clone();
        let (left, right) = columns.split_at(n_left.min(columns.len()));
        let (missing, there) = if self.chance.percent(70) { (left, right) } else { (right, left) };
        let of = |generator: &mut Self, side: &[Column]| {
            let names = generator.references(&columns, None);
            let of_side = |name: &Name| side.iter().any(|column| column.name.answers_to(name));
            let names: Vec<Name> = names.into_iter().filter(of_side).collect();
            if names.is_empty() { None } else { Some(generator.chance.pick(&names).clone()) }
        };
        let (Some(missing), Some(_)) = (of(self, missing), of(self, there)) else { return };
        let value = Box::new(Expr::Column(missing));
        let is_missing = Expr::IsNull { value, negated: self.chance.percent(20) };
        let more = self.condition(there, 0, false);
        self.push(draft, Verb::Where(Expr::And(Box::new(more), Box::new(is_missing))));
    }

    /// A column that is the same in all rows of one side, and null where that side has none.
    fn outer_join_of_a_constant(&mut self, draft: &mut Draft) {
        let outer = *self.chance.pick(&[JoinKind::Left, JoinKind::Right, JoinKind::Full]);
        let mut right = self.draft(0, 2);
        if self.chance.percent(50) {
            let names = self.references(&right.columns, Some(Kind::Int));
            if names.is_empty() {
                return;
            }
            let name = Box::new(Expr::Column(self.chance.pick(&names).clone()));
            let value = Box::new(Expr::Literal(Value::Int(1)));
            self.push(&mut right, Verb::Where(Expr::Compare(Comparison::Equal, name, value)));
        } else {
            let item = Item { expr: Expr::Literal(Value::Int(1)), alias: Some(self.fresh_name(&right.columns)) };
            self.push(&mut right, Verb::Extend(vec![item]));
        }
        let source = Source { kind: SourceKind::Pipeline(Box::new(right.pipeline)), alias: Some(self.alias()) };
        let Ok(columns) = columns::of_source(self.tables, &source) else { return };
        self.tell_apart(draft, &columns);
        let Some(condition) = self.join_condition(&draft.columns.clone(), &columns) else { return };
        self.push(draft, Verb::Join { kind: outer, source, condition: JoinCondition::On(condition) });
        self.order(draft);
    }
}
