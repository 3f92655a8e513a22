//! Random pipelines that curator must take. Verbs that do not fit the columns at hand are thrown away, so each
//! production may be bold. Here are the pipeline and its verbs; `shapes.rs` puts several verbs together, and
//! `generate_exprs.rs` and `generate_subqueries.rs` make what stands in them.

use super::columns::{self, Column};
use super::data::Table;
use super::interpret;
use super::query::*;
use super::values::{Chance, Kind, Value};

pub struct Generator<'a> {
    pub chance: Chance,
    pub tables: &'a [Table],
    n_aliases: usize,
}

/// A pipeline so far, and its columns.
#[derive(Clone)]
pub struct Draft {
    pub pipeline: Pipeline,
    pub columns: Vec<Column>,
}

/// Few names, so that new columns are called like old ones of other tables.
const NAMES: [&str; 8] = ["k", "v", "w", "s", "n", "m", "x", "y"];

impl<'a> Generator<'a> {
    pub fn new(chance: Chance, tables: &'a [Table]) -> Self {
        Self { chance, tables, n_aliases: 0 }
    }

    pub fn pipeline(&mut self) -> Pipeline {
        let n_verbs = 1 + self.chance.below(8);
        self.draft(n_verbs, 0).pipeline
    }

    pub fn draft(&mut self, n_verbs: usize, depth: usize) -> Draft {
        let kind = if depth < 2 && self.chance.percent(8) {
            let n_verbs = 1 + self.chance.below(3);
            SourceKind::Pipeline(Box::new(self.draft(n_verbs, depth + 1).pipeline))
        } else {
            SourceKind::Table(self.chance.below(self.tables.len()))
        };
        let alias = self.chance.percent(80).then(|| self.alias());
        let mut from = Source { kind, alias };
        if columns::of_source(self.tables, &from).is_err() {
            // Two columns of one name cannot go under one alias.
            from.kind = SourceKind::Table(0);
        }
        let columns = columns::of_source(self.tables, &from).unwrap();
        let mut draft = Draft { pipeline: Pipeline { from, verbs: vec![] }, columns };
        let mut tries = 0;
        while draft.pipeline.verbs.len() < n_verbs && tries < 40 {
            tries += 1;
            let before = draft.clone();
            if self.chance.percent(25) {
                self.shape(&mut draft, depth)
            } else {
                self.verb(&mut draft, depth)
            }
            // Most pipelines should have rows at their end: nothing is easily equal to nothing.
            let had_rows = interpret::pipeline(self.tables, &before.pipeline).is_ok_and(|found| !found.rows.is_empty());
            match interpret::pipeline(self.tables, &draft.pipeline) {
                Ok(found) if !found.rows.is_empty() || !had_rows || self.chance.percent(15) => {}
                _ => draft = before,
            }
        }
        draft
    }

    /// Puts a verb at the end, if it fits.
    pub fn push(&self, draft: &mut Draft, verb: Verb) -> bool {
        match columns::after(self.tables, &draft.columns, &verb) {
            Ok(columns) => {
                draft.columns = columns;
                draft.pipeline.verbs.push(verb);
                true
            }
            Err(_) => false,
        }
    }

    fn verb(&mut self, draft: &mut Draft, depth: usize) {
        match self.chance.below(100) {
            0..17 => self.filter(draft),
            17..24 => self.select(draft),
            24..31 => self.extend(draft),
            31..38 => self.windows(draft),
            38..45 => self.set(draft),
            45..48 => self.drop(draft),
            48..51 => self.rename(draft),
            51..59 => self.aggregate(draft),
            59..71 if depth < 2 => self.join(draft, depth, None),
            71..77 if depth < 2 => self.set_operation(draft, depth),
            77..86 => self.order(draft),
            86..89 => self.limit(draft),
            89..92 => drop(self.push(draft, Verb::Distinct)),
            92..95 => self.distinct_on(draft),
            95..98 => self.dedup(draft),
            _ => {
                let alias = self.alias();
                self.push(draft, Verb::As(alias));
            }
        }
    }

    pub fn alias(&mut self) -> String {
        self.n_aliases += 1;
        format!("t{}", self.n_aliases)
    }

    pub fn fresh_name(&mut self, columns: &[Column]) -> String {
        let taken = |name: &str| columns.iter().any(|column| column.name.name == name);
        let free: Vec<&str> = NAMES.into_iter().filter(|name| !taken(name)).collect();
        if free.is_empty() { format!("c{}", self.alias()) } else { self.chance.pick(&free).to_string() }
    }

    pub fn filter(&mut self, draft: &mut Draft) {
        let condition = match self.chance.below(30) {
            0 => Expr::Literal(Value::Bool(true)),
            1 => Expr::Literal(Value::Bool(false)),
            _ => self.condition(&draft.columns, 2, true),
        };
        self.push(draft, Verb::Where(condition));
    }

    fn item(&mut self, columns: &[Column], taken: &[Column], subqueries: bool) -> Item {
        let names = self.references(columns, None);
        if !names.is_empty() && self.chance.percent(70) {
            let name = self.chance.pick(&names).clone();
            let alias = self.chance.percent(25).then(|| self.fresh_name(taken));
            return Item { expr: Expr::Column(name), alias };
        }
        let kind = *self.chance.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Bool]);
        let expr = if subqueries { self.value(columns, kind) } else { self.expr(columns, kind, 2) };
        Item { expr, alias: Some(self.fresh_name(taken)) }
    }

    pub fn selection(&mut self, draft: &Draft, distinct: bool) -> Verb {
        let n_items = 1 + self.chance.below(4);
        let mut items: Vec<Item> = vec![];
        let mut columns: Vec<Column> = vec![];
        for _ in 0..n_items {
            let item = self.item(&draft.columns, &columns, true);
            let wider = Verb::Select { distinct, items: items.iter().cloned().chain([item.clone()]).collect() };
            if let Ok(found) = columns::after(self.tables, &draft.columns, &wider) {
                items.push(item);
                columns = found;
            }
        }
        Verb::Select { distinct, items }
    }

    fn select(&mut self, draft: &mut Draft) {
        let distinct = self.chance.percent(25);
        let verb = self.selection(draft, distinct);
        self.push(draft, verb);
    }

    /// The value of a column: an expression, now and then with a subquery.
    fn value(&mut self, columns: &[Column], kind: Kind) -> Expr {
        let subquery = if self.chance.percent(15) { self.subquery_value(columns, kind) } else { None };
        subquery.unwrap_or_else(|| self.expr(columns, kind, 2))
    }

    fn extend(&mut self, draft: &mut Draft) {
        let kind = *self.chance.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Bool]);
        let expr = self.value(&draft.columns, kind);
        let alias = Some(self.fresh_name(&draft.columns));
        self.push(draft, Verb::Extend(vec![Item { expr, alias }]));
    }

    pub fn set(&mut self, draft: &mut Draft) {
        let names = self.references(&draft.columns, None);
        if names.is_empty() {
            return;
        }
        let name = self.chance.pick(&names).name.clone();
        let Ok(index) = columns::find(&draft.columns, &Name::bare(&name)) else { return };
        let kind = if self.chance.percent(80) { draft.columns[index].kind } else { Kind::Int };
        let expr = self.value(&draft.columns, kind);
        let mut items = vec![(name, expr)];
        // Both see the values before the verb.
        let other = self.chance.pick(&names).name.clone();
        if other != items[0].0 && self.chance.percent(20) {
            let kind = *self.chance.pick(&[Kind::Int, Kind::Text]);
            items.push((other, self.expr(&draft.columns, kind, 1)));
        }
        self.push(draft, Verb::Set(items));
    }

    fn drop(&mut self, draft: &mut Draft) {
        let names = self.references(&draft.columns, None);
        if !names.is_empty() {
            let name = self.chance.pick(&names).name.clone();
            self.push(draft, Verb::Drop(vec![name]));
        }
    }

    fn rename(&mut self, draft: &mut Draft) {
        let names = self.references(&draft.columns, None);
        if !names.is_empty() {
            let from = self.chance.pick(&names).name.clone();
            let to = self.fresh_name(&draft.columns);
            self.push(draft, Verb::Rename(vec![(from, to)]));
        }
    }

    pub fn aggregate(&mut self, draft: &mut Draft) {
        let mut groups: Vec<Item> = vec![];
        let mut items: Vec<(Aggregate, String)> = vec![];
        let mut columns: Vec<Column> = vec![];
        for _ in 0..self.chance.below(3) {
            let item = self.item(&draft.columns, &columns, false);
            let wider =
                Verb::Aggregate { items: vec![], groups: groups.iter().cloned().chain([item.clone()]).collect() };
            if !matches!(item.expr, Expr::Literal(_))
                && let Ok(found) = columns::after(self.tables, &draft.columns, &wider)
            {
                groups.push(item);
                columns = found;
            }
        }
        for _ in 0..self.chance.below(4) {
            let Some(call) = self.call(&draft.columns) else { continue };
            let name = self.fresh_name(&columns);
            let wider = items.iter().cloned().chain([(call.clone(), name.clone())]).collect();
            let wider = Verb::Aggregate { items: wider, groups: groups.clone() };
            if let Ok(found) = columns::after(self.tables, &draft.columns, &wider) {
                items.push((call, name));
                columns = found;
            }
        }
        if !groups.is_empty() || !items.is_empty() {
            self.push(draft, Verb::Aggregate { items, groups });
        }
    }

    pub fn windows(&mut self, draft: &mut Draft) {
        let mut items = vec![];
        let mut taken = draft.columns.clone();
        for _ in 0..1 + self.chance.below(2) {
            if let Some(window) = self.window(&draft.columns) {
                let name = self.fresh_name(&taken);
                taken.push(Column { name: Name::bare(&name), kind: Kind::Int });
                items.push((window, name));
            }
        }
        if !items.is_empty() {
            self.push(draft, Verb::Windows(items));
        }
    }

    pub fn order(&mut self, draft: &mut Draft) {
        let order = self.orders(&draft.columns, 2);
        if !order.is_empty() {
            self.push(draft, Verb::OrderBy(order));
        }
    }

    pub fn limit(&mut self, draft: &mut Draft) {
        let count = self.chance.percent(85).then(|| self.chance.below(7));
        let offset = if count.is_none() || self.chance.percent(30) { 1 + self.chance.below(3) } else { 0 };
        self.push(draft, Verb::Limit { count, offset });
    }

    fn keys(&mut self, columns: &[Column]) -> Vec<Expr> {
        let names = self.references(columns, None);
        if names.is_empty() {
            return vec![];
        }
        let mut keys: Vec<Expr> = self.chance.some(&names, 2).into_iter().map(Expr::Column).collect();
        if self.chance.percent(15) {
            keys.push(self.key_expr(columns));
        }
        keys
    }

    pub fn distinct_on(&mut self, draft: &mut Draft) {
        let keys = self.keys(&draft.columns);
        if !keys.is_empty() {
            self.push(draft, Verb::DistinctOn(keys));
        }
    }

    pub fn dedup(&mut self, draft: &mut Draft) {
        let on = self.keys(&draft.columns);
        if on.is_empty() {
            return;
        }
        let keep = *self.chance.pick(&[Keep::First, Keep::First, Keep::Last, Keep::None]);
        let by = if keep != Keep::None && self.chance.percent(40) { self.orders(&draft.columns, 2) } else { vec![] };
        let cluster_size = self.chance.percent(15).then(|| self.fresh_name(&draft.columns));
        let drops = cluster_size.is_none() || self.chance.percent(60);
        self.push(draft, Verb::Dedup { on, keep, by, cluster_size, drops });
    }

    /// Makes sure that no column without a qualifier is called as one of these.
    pub fn tell_apart(&mut self, draft: &mut Draft, others: &[Column]) {
        let clashes = |column: &Column| {
            column.name.qualifier.is_none() && others.iter().any(|other| other.name.name == column.name.name)
        };
        if draft.columns.iter().any(clashes) {
            let alias = self.alias();
            self.push(draft, Verb::As(alias));
        }
    }

    pub fn join(&mut self, draft: &mut Draft, depth: usize, kind: Option<JoinKind>) {
        use JoinKind::*;
        let kind =
            kind.unwrap_or_else(|| *self.chance.pick(&[Inner, Inner, Left, Left, Right, Full, Semi, Anti, Cross]));
        let alias = Some(self.alias());
        let source = if self.chance.percent(65) {
            Source { kind: SourceKind::Table(self.chance.below(self.tables.len())), alias }
        } else {
            let n_verbs = 1 + self.chance.below(3);
            Source { kind: SourceKind::Pipeline(Box::new(self.draft(n_verbs, depth + 1).pipeline)), alias }
        };
        let Ok(right) = columns::of_source(self.tables, &source) else { return };
        if kind != Cross && self.chance.percent(25) {
            let shared = |column: &Column| {
                let name = Name::bare(&column.name.name);
                columns::find(&draft.columns, &name).is_ok_and(|index| draft.columns[index].kind == column.kind)
            };
            let shared: Vec<String> =
                right.iter().filter(|column| shared(column)).map(|column| column.name.name.clone()).collect();
            if !shared.is_empty() {
                let using = self.chance.some(&shared, 2);
                let others: Vec<Column> =
                    right.iter().filter(|column| !using.contains(&column.name.name)).cloned().collect();
                self.tell_apart(draft, &others);
                self.push(draft, Verb::Join { kind, source, condition: JoinCondition::Using(using) });
                return;
            }
        }
        self.tell_apart(draft, &right);
        let condition = if kind == Cross {
            JoinCondition::None
        } else {
            match self.join_condition(&draft.columns.clone(), &right) {
                Some(condition) => JoinCondition::On(condition),
                None => return,
            }
        };
        self.push(draft, Verb::Join { kind, source, condition });
    }

    pub fn set_operation(&mut self, draft: &mut Draft, depth: usize) {
        use SetKind::*;
        let kind = *self.chance.pick(&[Union, Union, Union, Intersect, Except]);
        let all = self.chance.percent(if kind == Union { 75 } else { 35 });
        let n_verbs = self.chance.below(4);
        let mut right = self.draft(n_verbs, depth + 1);
        if kind != Union && self.chance.percent(60) {
            // Few columns and the same rows on both sides, so that some are equal, and some more than once.
            let names = self.references(&draft.columns, None);
            let plain = |name| Item { expr: Expr::Column(name), alias: None };
            let items = if names.is_empty() { vec![] } else { self.chance.some(&names, 2) };
            self.push(draft, Verb::Select { distinct: false, items: items.into_iter().map(plain).collect() });
            right.pipeline = Pipeline { from: draft.pipeline.from.clone(), verbs: vec![] };
            right.columns = columns::of_source(self.tables, &right.pipeline.from).unwrap();
            if self.chance.percent(50) { self.filter(&mut right) } else { self.limit(&mut right) }
        } else if self.chance.percent(70) {
            self.select(draft);
        }
        // The columns of the left side by name, where the right side has them.
        let mut items = vec![];
        for (index, column) in draft.columns.iter().enumerate() {
            let same = Name::bare(&column.name.name);
            let has_same = columns::find(&right.columns, &same).is_ok_and(|at| right.columns[at].kind == column.kind);
            let expr = if has_same && self.chance.percent(80) {
                Expr::Column(same)
            } else {
                self.expr(&right.columns.clone(), column.kind, 1)
            };
            items.push(Item { expr, alias: Some(format!("c{index}")) });
        }
        if self.push(&mut right, Verb::Select { distinct: false, items }) {
            if self.chance.percent(30) {
                self.order(&mut right);
            }
            let source = Source { kind: SourceKind::Pipeline(Box::new(right.pipeline)), alias: None };
            self.push(draft, Verb::SetOperation { kind, all, source });
        }
    }
}
