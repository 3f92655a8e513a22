//! Makes a failing case small: verbs, rows and parts of conditions go one at a time while it still fails alike.

use super::data::Table;
use super::query::*;

/// All cases that are one step smaller.
pub fn smaller(tables: &[Table], pipeline: &Pipeline) -> Vec<(Vec<Table>, Pipeline)> {
    let mut cases = vec![];
    for smaller in pipelines(pipeline) {
        cases.push((tables.to_vec(), smaller));
    }
    for (number, table) in tables.iter().enumerate() {
        let mut without = |start: usize, end: usize| {
            let mut fewer = tables.to_vec();
            fewer[number].rows.drain(start..end);
            cases.push((fewer, pipeline.clone()));
        };
        let half = table.rows.len() / 2;
        if half > 1 {
            without(0, half);
            without(half, table.rows.len());
        }
        (0..table.rows.len()).for_each(|row| without(row, row + 1));
    }
    cases
}

fn pipelines(pipeline: &Pipeline) -> Vec<Pipeline> {
    let mut smaller = vec![];
    if let SourceKind::Pipeline(inner) = &pipeline.from.kind {
        smaller.extend(pipelines(inner).into_iter().map(|inner| {
            let kind = SourceKind::Pipeline(Box::new(inner));
            Pipeline { from: Source { kind, ..pipeline.from.clone() }, ..pipeline.clone() }
        }));
    }
    for at in (0..pipeline.verbs.len()).rev() {
        let mut without = pipeline.clone();
        without.verbs.remove(at);
        smaller.push(without);
    }
    for (at, verb) in pipeline.verbs.iter().enumerate() {
        for verb in verbs(verb) {
            let mut changed = pipeline.clone();
            changed.verbs[at] = verb;
            smaller.push(changed);
        }
    }
    smaller
}

fn verbs(verb: &Verb) -> Vec<Verb> {
    match verb {
        Verb::Where(condition) => conditions(condition).into_iter().map(Verb::Where).collect(),
        Verb::Select { distinct, items } => {
            let with = |items| Verb::Select { distinct: *distinct, items };
            let simpler = shorter(items).into_iter().map(with);
            let plain = distinct.then(|| Verb::Select { distinct: false, items: items.clone() });
            simpler.chain(plain).chain(each(items, item).into_iter().map(with)).collect()
        }
        Verb::Extend(items) => shorter(items).into_iter().chain(each(items, item)).map(Verb::Extend).collect(),
        Verb::Windows(items) => {
            let window = |(window, name): &(Window, String)| {
                let order = some_or_none(&window.order).into_iter().map(|order| Window { order, ..window.clone() });
                let partition = (!window.partition.is_empty()).then(|| Window { partition: vec![], ..window.clone() });
                order.chain(partition).map(|window| (window, name.clone())).collect()
            };
            shorter(items).into_iter().chain(each(items, window)).map(Verb::Windows).collect()
        }
        Verb::Set(items) => {
            let set =
                |(name, expr): &(String, Expr)| exprs(expr).into_iter().map(|expr| (name.clone(), expr)).collect();
            each(items, set).into_iter().map(Verb::Set).collect()
        }
        Verb::Aggregate { items, groups } => {
            let call = |(call, name): &(Aggregate, String)| {
                let order = some_or_none(&call.order).into_iter().map(|order| Aggregate { order, ..call.clone() });
                let unfiltered = call.filter.as_ref().map(|_| Aggregate { filter: None, ..call.clone() });
                order.chain(unfiltered).map(|call| (call, name.clone())).collect()
            };
            let fewer = some_or_none(items).into_iter().chain(each(items, call));
            let fewer = fewer.filter(|items| !items.is_empty() || !groups.is_empty());
            let fewer = fewer.map(|items| Verb::Aggregate { items, groups: groups.clone() });
            let wider = some_or_none(groups).into_iter().chain(each(groups, item));
            let wider = wider.filter(|groups| !items.is_empty() || !groups.is_empty());
            fewer.chain(wider.map(|groups| Verb::Aggregate { items: items.clone(), groups })).collect()
        }
        Verb::Join { kind, source, condition } => {
            let kind = *kind;
            let sources = sources(source).into_iter();
            let mut simpler: Vec<Verb> =
                sources.map(|source| Verb::Join { kind, source, condition: condition.clone() }).collect();
            if let JoinCondition::On(expr) = condition {
                let with = |expr| Verb::Join { kind, source: source.clone(), condition: JoinCondition::On(expr) };
                simpler.extend(conditions(expr).into_iter().map(with));
            }
            simpler
        }
        Verb::SetOperation { kind, all, source } => {
            sources(source).into_iter().map(|source| Verb::SetOperation { kind: *kind, all: *all, source }).collect()
        }
        Verb::OrderBy(orders) => shorter(orders).into_iter().chain(each(orders, order)).map(Verb::OrderBy).collect(),
        Verb::DistinctOn(keys) => shorter(keys).into_iter().chain(each(keys, exprs)).map(Verb::DistinctOn).collect(),
        Verb::Dedup { on, keep, by, cluster_size, drops } => {
            let with = |on: &[Expr], by: &[Order], cluster_size: Option<String>| Verb::Dedup {
                on: on.to_vec(),
                keep: *keep,
                by: by.to_vec(),
                drops: *drops || cluster_size.is_none(),
                cluster_size,
            };
            let keys = shorter(on).into_iter().chain(each(on, exprs)).map(|on| with(&on, by, cluster_size.clone()));
            let orders = some_or_none(by).into_iter().map(|by| with(on, &by, cluster_size.clone()));
            keys.chain(orders).chain(cluster_size.as_ref().map(|_| with(on, by, None))).collect()
        }
        Verb::Limit { count: Some(count), offset } if *offset > 0 => {
            vec![Verb::Limit { count: Some(*count), offset: 0 }]
        }
        Verb::Limit { .. } | Verb::Distinct | Verb::Drop(_) | Verb::Rename(_) | Verb::As(_) => vec![],
    }
}

fn sources(source: &Source) -> Vec<Source> {
    let SourceKind::Pipeline(inner) = &source.kind else { return vec![] };
    let whole = inner.verbs.is_empty().then(|| Source { kind: inner.from.kind.clone(), ..source.clone() });
    let smaller = pipelines(inner).into_iter();
    let smaller = smaller.map(|inner| Source { kind: SourceKind::Pipeline(Box::new(inner)), ..source.clone() });
    whole.into_iter().chain(smaller).collect()
}

fn item(item: &Item) -> Vec<Item> {
    if item.alias.is_none() {
        return vec![];
    }
    exprs(&item.expr).into_iter().map(|expr| Item { expr, alias: item.alias.clone() }).collect()
}

fn order(order: &Order) -> Vec<Order> {
    let plain = order.nulls_first.map(|_| Order { nulls_first: None, ..order.clone() });
    let smaller = exprs(&order.expr).into_iter().filter(|expr| !matches!(expr, Expr::Literal(_)));
    smaller.map(|expr| Order { expr, ..order.clone() }).chain(plain).collect()
}

/// Parts of a condition that are conditions.
fn conditions(condition: &Expr) -> Vec<Expr> {
    let without_filter = |query: &Subquery| query.filter.as_ref().map(|_| Subquery { filter: None, ..query.clone() });
    match condition {
        Expr::And(left, right) | Expr::Or(left, right) => {
            let both = |left: &Expr, right: &Expr| {
                let sides = (Box::new(left.clone()), Box::new(right.clone()));
                if matches!(condition, Expr::And(..)) {
                    Expr::And(sides.0, sides.1)
                } else {
                    Expr::Or(sides.0, sides.1)
                }
            };
            let mut smaller = vec![*left.clone(), *right.clone()];
            smaller.extend(conditions(left).iter().map(|smaller| both(smaller, right)));
            smaller.extend(conditions(right).iter().map(|smaller| both(left, smaller)));
            smaller
        }
        Expr::Not(inner) => {
            let rest = conditions(inner).into_iter().map(|inner| Expr::Not(Box::new(inner)));
            [*inner.clone()].into_iter().chain(rest).collect()
        }
        Expr::IsTrue { value, .. } => vec![*value.clone()],
        Expr::InQuery { value, query, negated } => {
            let with = |query| Expr::InQuery { value: value.clone(), query: Box::new(query), negated: *negated };
            without_filter(query).map(with).into_iter().collect()
        }
        Expr::Exists { query, negated } => {
            let with = |query| Expr::Exists { query: Box::new(query), negated: *negated };
            without_filter(query).map(with).into_iter().collect()
        }
        Expr::Compare(comparison, left, right) => {
            let compare = |left: Expr, right: Expr| Expr::Compare(*comparison, Box::new(left), Box::new(right));
            let lefts = exprs(left).into_iter().map(|left| compare(left, *right.clone()));
            lefts.chain(exprs(right).into_iter().map(|right| compare(*left.clone(), right))).collect()
        }
        _ => vec![],
    }
}

/// Parts of an expression; those of another kind are refused by the check of columns.
fn exprs(expr: &Expr) -> Vec<Expr> {
    match expr {
        Expr::Call(_, arguments) => arguments.clone(),
        Expr::Arithmetic(_, left, right) => vec![*left.clone(), *right.clone()],
        Expr::Case { when, then, otherwise } => {
            let parts = [Some(when), Some(then), otherwise.as_ref()];
            parts.into_iter().flatten().map(|part| *part.clone()).collect()
        }
        other => conditions(other),
    }
}

/// The list without one of its members, as long as one is left.
fn shorter<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    some_or_none(items).into_iter().filter(|items| !items.is_empty()).collect()
}

fn some_or_none<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let without = |at: usize| [&items[..at], &items[at + 1..]].concat();
    (0..items.len()).map(without).collect()
}

/// The list with one of its members made smaller.
fn each<T: Clone>(items: &[T], smaller: impl Fn(&T) -> Vec<T>) -> Vec<Vec<T>> {
    let mut lists = vec![];
    for (at, item) in items.iter().enumerate() {
        for item in smaller(item) {
            let mut list = items.to_vec();
            list[at] = item;
            lists.push(list);
        }
    }
    lists
}
