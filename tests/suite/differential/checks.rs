//! The test of the test: the interpreter's answers to a few pipelines, written by hand, and what the generator makes.

use super::columns::Column;
use super::data::{self, Table};
use super::generate::Generator;
use super::interpret;
use super::query::*;
use super::render::Places;
use super::values::{Chance, Kind, Row, Value};

/// `k | v`: r 1, q null, r 2, null 1.
fn table() -> Table {
    let column = |name: &str, kind| Column { name: Name::bare(name), kind };
    let row =
        |k: Option<&str>, v: Option<i64>| vec![k.map_or(Value::Null, Value::text), v.map_or(Value::Null, Value::Int)];
    Table {
        columns: vec![column("k", Kind::Text), column("v", Kind::Int)],
        rows: vec![row(Some("r"), Some(1)), row(Some("q"), None), row(Some("r"), Some(2)), row(None, Some(1))],
    }
}

fn name(name: &str) -> Expr {
    Expr::Column(match name.split_once('.') {
        Some((qualifier, name)) => Name { qualifier: Some(qualifier.to_string()), name: name.to_string() },
        None => Name::bare(name),
    })
}

fn source(alias: &str) -> Source {
    Source { kind: SourceKind::Table(0), alias: Some(alias.to_string()) }
}

fn by(column: &str, descending: bool) -> Order {
    Order { expr: name(column), descending, nulls_first: None }
}

fn dedup(keep: Keep, order: Vec<Order>) -> Verb {
    Verb::Dedup { on: vec![name("k")], keep, by: order, cluster_size: None, drops: true }
}

/// Joins each row with those whose `k` is its `k` and whose `v` is larger.
fn join(kind: JoinKind) -> Verb {
    let compare = |comparison, left, right| Expr::Compare(comparison, Box::new(name(left)), Box::new(name(right)));
    let same = Box::new(compare(Comparison::Equal, "a.k", "b.k"));
    let larger = Box::new(compare(Comparison::Less, "a.v", "b.v"));
    Verb::Join { kind, source: source("b"), condition: JoinCondition::On(Expr::And(same, larger)) }
}

#[test]
fn the_interpreter_gives_the_rows_that_are_written_here() {
    let count = Aggregate { function: AggregateFunction::Count, argument: None, order: vec![], filter: None };
    let group = Item { expr: name("k"), alias: None };
    let rank = Window { function: WindowFunction::Rank, partition: vec![], order: vec![by("v", false)], rows: None };
    let list = Expr::InList { value: Box::new(name("v")), list: vec![Value::Int(1), Value::Null], negated: true };
    let cases: Vec<(Vec<Verb>, &str)> = vec![
        (vec![], "'r' 1; 'q' NULL; 'r' 2; NULL 1"),
        (vec![Verb::OrderBy(vec![by("v", true)])], "'q' NULL; 'r' 2; 'r' 1; NULL 1"),
        (vec![Verb::OrderBy(vec![by("v", false)])], "'r' 1; NULL 1; 'r' 2; 'q' NULL"),
        (vec![Verb::OrderBy(vec![by("v", true)]), Verb::DistinctOn(vec![name("k")])], "'q' NULL; 'r' 2; NULL 1"),
        (vec![Verb::Aggregate { items: vec![(count, "n".to_string())], groups: vec![group] }], "'q' 1; 'r' 2; NULL 1"),
        (vec![Verb::Where(list)], ""),
        (vec![dedup(Keep::First, vec![])], "'r' 1; 'q' NULL; NULL 1"),
        (vec![dedup(Keep::First, vec![by("v", true)])], "'q' NULL; 'r' 2; NULL 1"),
        (vec![dedup(Keep::None, vec![])], "'q' NULL; NULL 1"),
        (vec![Verb::Windows(vec![(rank, "n".to_string())])], "'r' 1 1; 'q' NULL 4; 'r' 2 3; NULL 1 1"),
        (vec![join(JoinKind::Inner)], "'r' 1 'r' 2"),
        (vec![join(JoinKind::Anti)], "'q' NULL; 'r' 2; NULL 1"),
        (vec![join(JoinKind::Right)], "'r' 1 'r' 2; NULL NULL 'r' 1; NULL NULL 'q' NULL; NULL NULL NULL 1"),
        (vec![Verb::Drop(vec!["v".to_string()]), except_all()], "'r'; NULL"),
    ];
    for (verbs, expected) in cases {
        let pipeline = Pipeline { from: source("a"), verbs };
        let found = interpret::pipeline(&[table()], &pipeline).unwrap().rows;
        let line = |row: &Row| row.iter().map(Value::literal).collect::<Vec<_>>().join(" ");
        let found = found.iter().map(line).collect::<Vec<_>>().join("; ");
        assert_eq!(found, expected, "{}", Places(&["t".to_string()]).pipeline(&pipeline));
    }
}

/// `EXCEPT ALL` of the first two rows.
fn except_all() -> Verb {
    let verbs = vec![Verb::Limit { count: Some(2), offset: 0 }, Verb::Drop(vec!["v".to_string()])];
    let inner = Pipeline { from: source("c"), verbs };
    let source = Source { kind: SourceKind::Pipeline(Box::new(inner)), alias: None };
    Verb::SetOperation { kind: SetKind::Except, all: true, source }
}

#[test]
fn the_generator_makes_every_verb_and_few_empty_results() {
    let mut texts = String::new();
    let (mut n_good, mut n_empty) = (0, 0);
    for seed in 0..400 {
        let mut chance = Chance::new(seed);
        let tables = data::tables(&mut chance);
        let pipeline = Generator::new(chance, &tables).pipeline();
        let Ok(found) = interpret::pipeline(&tables, &pipeline) else { continue };
        n_good += 1;
        n_empty += usize::from(found.rows.is_empty());
        texts += &Places(&["t".to_string(), "t".to_string(), "t".to_string()]).pipeline(&pipeline);
        texts += "\n";
    }
    assert!(n_good > 350, "only {n_good} of 400 make sense");
    assert!(n_empty * 4 < n_good, "{n_empty} of {n_good} have no rows");
    const WORDS: [&str; 34] = [
        "|> WHERE",
        "|> SELECT",
        "SELECT DISTINCT",
        "|> EXTEND",
        "|> SET",
        "|> DROP",
        "|> RENAME",
        "|> AGGREGATE",
        "GROUP BY",
        "|> JOIN",
        "LEFT JOIN",
        "RIGHT JOIN",
        "FULL JOIN",
        "SEMI JOIN",
        "ANTI JOIN",
        "CROSS JOIN",
        "USING",
        "UNION ALL",
        "UNION (",
        "INTERSECT",
        "EXCEPT",
        "EXCEPT ALL",
        "ORDER BY",
        "LIMIT",
        "OFFSET",
        "|> DISTINCT",
        "DISTINCT ON",
        "KEEP LAST",
        "KEEP NONE",
        "OVER (",
        "IN (SELECT",
        "EXISTS",
        "regexp_like",
        "string_agg",
    ];
    let missing: Vec<&str> = WORDS.into_iter().filter(|word| !texts.contains(word)).collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
}
