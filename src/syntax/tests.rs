//! What users rely on when they write CQL: what parses, what is said about what does not, what `fmt` makes of it.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::ast::{SourceKind, StatementKind, VerbKind};
use super::*;
use crate::diag::Code;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::time::{Duration, Instant};

const README: &str = include_str!("../../grammar/README.md");

fn lines_of(block: &str) -> Vec<&'static str> {
    let fence = format!("```{block}\n");
    let blocks = README.split(fence.as_str()).skip(1);
    blocks.flat_map(|rest| rest.split("```").next().unwrap().lines()).collect()
}

fn source(text: &str) -> SourceText {
    SourceText::new("test.cql", text)
}

fn errors(text: &str) -> Vec<Diagnostic> {
    parse(&source(text), false).err().unwrap_or_default()
}

fn formatted(text: &str) -> String {
    match format(&source(text)) {
        Ok(out) => out,
        Err(errors) => panic!("{text}\n{}", crate::diag::render_all(&errors, false)),
    }
}

#[test]
fn every_accepted_line_of_the_grammar_parses() {
    assert!(lines_of("accepted").len() > 50);
    for line in lines_of("accepted") {
        if let Err(errors) = parse(&source(line), false) {
            panic!("{line}\n{}", crate::diag::render_all(&errors, false));
        }
    }
}

#[test]
fn every_rejected_line_of_the_grammar_gives_its_messages() {
    assert!(lines_of("rejected").len() > 80);
    for line in lines_of("rejected") {
        let (text, expected) = line.split_once(" ⇒ ").unwrap();
        let found = errors(text);
        let found = found.iter().map(|found| format!("{}: {}", found.position().unwrap().1, found.message));
        assert_eq!(found.collect::<Vec<_>>().join(" ¦ "), expected, "{text}");
    }
}

#[test]
fn near_misses_are_suggested() {
    for (text, help) in [
        ("FORM 'x'", "did you mean `FROM`?"),
        ("SELCT 1", "did you mean `SELECT`?"),
        ("FROM 'x' |> AGREGATE count(*)", "did you mean `AGGREGATE`?"),
        ("FROM 'x' |> DEDUPE ON a", "did you mean `DEDUP`?"),
        ("SET a = 8GB", "put values with a unit in quotes: '8GB'"),
        ("FROM 'x' |> WHERE a, b", "join conditions with AND or OR"),
        ("'x.jsonl' |> LIMIT 5", "to read a file, write `FROM 'x.jsonl'`"),
        ("SET a = 1\nFROM 'x'", "to begin a new statement with FROM, end the one before with `;`"),
    ] {
        assert_eq!(errors(text)[0].help.as_deref(), Some(help), "{text}");
    }
    assert_eq!(errors("FROM 'x' |> TOKENIZE")[0].code, Code::Unsupported);
}

#[test]
fn all_mistakes_of_a_text_are_told_in_order() {
    let text = "SET a;\nFROM 'x'\n  |> WERE a -- no\n  |> LIMIT\n  |> WHERE fine;\nLET y = FROM (FROM 'z' |> DRP a)\n  |> DROP;\n";
    let places: Vec<_> = errors(text).iter().map(|found| found.position().unwrap()).collect();
    assert_eq!(places, [(1, 5), (3, 6), (4, 6), (6, 27), (7, 6)]);
}

#[test]
fn slices_leave_out_surrounding_space_and_comments() {
    let text = "FROM t |> WHERE /* a */ x > /* b */ 1 -- c\n |> SELECT  a AS b , -- d\n  f( x ) ";
    let script = parse(&source(text), false).unwrap();
    let StatementKind::Query(pipeline) = &script.statements[0].kind else { panic!() };
    let SourceKind::Relation(from) = &pipeline.from.kind else { panic!() };
    assert_eq!(script.source.slice(from.span), "t");
    let VerbKind::Where(condition) = &pipeline.verbs[0].kind else { panic!() };
    assert_eq!(script.source.slice(condition.span), "x > /* b */ 1");
    let VerbKind::Select { items, .. } = &pipeline.verbs[1].kind else { panic!() };
    let items: Vec<_> = items.iter().map(|item| script.source.slice(item.span)).collect();
    assert_eq!(items, ["a AS b", "f( x )"]);
}

#[test]
fn names_and_paths_lose_their_quotes() {
    let script = parse(&source("FROM 'it''s.csv' AS \"a \"\" b\" |> DROP `c d`, É"), false).unwrap();
    assert_eq!(tree(&script), "Query\n  From file 'it's.csv' as a \" b\n  Drop\n    c d\n    É\n");
}

#[test]
fn in_sql_from_belongs_to_sql_and_our_statements_stay_ours() {
    let text = "FROM t SELECT a; SET x = 1; LET y = FROM 'z' |> LIMIT 1; EXPLAIN FROM t; foo";
    let script = parse(&source(text), true).unwrap();
    let expected =
        "Sql FROM t SELECT a\nSet x = 1\nLet y\n  From file 'z'\n  Limit 1\nExplain\n  Sql FROM t\nSql foo\n";
    assert_eq!(tree(&script), expected);
}

#[test]
fn deep_nesting_is_a_message_and_two_hundred_levels_are_read() {
    let nested = |n: usize| format!("FROM t |> WHERE {}a{}", "(".repeat(n), ")".repeat(n));
    let start = Instant::now();
    assert_eq!(errors(&nested(10_000))[0].code, Code::TooDeep);
    assert_eq!(errors(&format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000)))[0].code, Code::TooDeep);
    assert_eq!(errors(&"(".repeat(10_000))[0].code, Code::TooDeep);
    assert!(errors(&nested(MAX_DEPTH)).is_empty());
    let pipelines = format!("{}t{}", "FROM (".repeat(MAX_DEPTH - 1) + "FROM ", ")".repeat(MAX_DEPTH - 1));
    assert!(errors(&pipelines).is_empty());
    assert!(errors(&format!("FROM t {}{}", "/*".repeat(10_000), "*/".repeat(10_000))).is_empty());
    assert!(errors(&"EXPLAIN ".repeat(10_000)).len() == 1);
    assert!(format(&source(&nested(MAX_DEPTH))).is_ok());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_megabyte_of_query_is_read_in_linear_time() {
    let list = format!("FROM t |> WHERE a IN ({})", "'some value', ".repeat(75_000) + "''");
    let verbs = format!("FROM t {}", "|> WHERE a > 1 AND b < 2 ".repeat(10_000));
    let statements = "FROM 'x' |> WHERE a > 1 |> LIMIT 5;\n".repeat(7_000);
    let mistakes = "FROM 'x' |> WERE a > 1 |> LIMIT;\n".repeat(1_000);
    let words = format!("FROM t |> SELECT {}", "a AS b, ".repeat(125_000) + "c");
    for text in [list, verbs, statements, mistakes, words] {
        let start = Instant::now();
        let _ = parse(&source(&text), false);
        // Without optimization on a busy machine; a quadratic parser would take minutes.
        assert!(start.elapsed() < Duration::from_secs(30), "{}… took {:?}", &text[..40], start.elapsed());
    }
}

#[test]
fn a_prompt_waits_for_the_semicolon_and_for_what_is_open() {
    for complete in ["SELECT 1;", "FROM 'x' |> LIMIT 5 ; -- done", ";", "FROM 'a;b';", "FROM x);"] {
        assert!(is_complete(complete), "{complete}");
    }
    for open in ["", "SELECT 1", "FROM 'x;", "FROM (x;", "FROM x; /* ", "FROM x; FROM y", "FROM x -- ;"] {
        assert!(!is_complete(open), "{open}");
    }
}

#[test]
fn formatting_gives_the_canonical_form() {
    for (text, expected) in [
        ("from 'x'|>where a>1", "FROM 'x'\n  |> WHERE a > 1;\n"),
        ("set a=1;set b to 'c' ;\n\n\n\nlet t = from u", "SET a = 1;\nSET b TO 'c';\n\nLET t = FROM u;\n"),
        (
            "FROM t |> select distinct count( * ) , t . a, -1, - - 1, a- -b, f (x)[ 1 ]::int as n, not a and b is not null",
            "FROM t\n  |> SELECT DISTINCT count(*), t . a, -1, - -1, a - -b, f(x)[1]::int AS n, NOT a AND b IS NOT NULL;\n",
        ),
        (
            "FROM t |> EXTEND case when a then 'x' else null end as end, cast(a as int) , x->x+1, f(a=>-1)",
            "FROM t\n  |> EXTEND CASE WHEN a THEN 'x' ELSE NULL END AS end, CAST(a AS int), x -> x + 1, f(a => -1);\n",
        ),
        (
            "FROM t |> WHERE end > 3 and t.order in(1,2) and desc like 'a' |> order by desc desc nulls last,b asc",
            "FROM t\n  |> WHERE end > 3 AND t.order IN (1, 2) AND desc LIKE 'a'\n  |> ORDER BY desc DESC NULLS LAST, b ASC;\n",
        ),
        (
            "FROM t |> extend rank() over(partition by a order by b desc) as r |> drop null, order |> distinct on(a,b)",
            "FROM t\n  |> EXTEND rank() OVER (PARTITION BY a ORDER BY b DESC) AS r\n  |> DROP null, order\n  |> DISTINCT ON (a, b);\n",
        ),
        (
            "FROM (from u|>limit 1) as u |> into 'x' with(format=csv,a=(1,2))",
            "FROM (FROM u |> LIMIT 1) AS u\n  |> INTO 'x' WITH (format = csv, a = (1, 2));\n",
        ),
        ("explain analyze  select  a,b\n  from t ;", "EXPLAIN ANALYZE select  a,b\n  from t;\n"),
        (
            "-- top\n\n\nFROM t --source\n   -- why\n |> WHERE a /* in */ > 1 -- first\n and b -- second\n -- last\n; -- after\n-- end",
            "-- top\n\nFROM t --source\n  -- why\n  |> WHERE a /* in */ > 1 -- first\n      AND b -- second\n      -- last\n      ; -- after\n-- end\n",
        ),
        ("SET a1.b2=1; FROM t1 |> WHERE t1.c2::int>1", "SET a1.b2 = 1;\nFROM t1\n  |> WHERE t1.c2::int > 1;\n"),
        ("FROM t -- no semicolon", "FROM t; -- no semicolon\n"),
        ("", ""),
    ] {
        assert_eq!(formatted(text), expected, "{text}");
        assert_eq!(formatted(expected), expected, "again: {text}");
    }
}

#[test]
fn long_lines_break_at_commas_and_conjunctions() {
    let text = "DEFINE good(t) AS words(t) BETWEEN 50 AND 100000 AND mean_word_length(t) BETWEEN 3 AND 10 AND \
                symbol_ratio(t) < 0.1 OR keep(t); FROM t |> SELECT a_long_column_name AS one, another_long_column_name AS \
                two, some_function(of, many, arguments) AS three, four";
    let expected = "\
DEFINE good(t) AS words(t) BETWEEN 50 AND 100000
    AND mean_word_length(t) BETWEEN 3 AND 10
    AND symbol_ratio(t) < 0.1
    OR keep(t);
FROM t
  |> SELECT a_long_column_name AS one,
      another_long_column_name AS two,
      some_function(of, many, arguments) AS three,
      four;
";
    assert_eq!(formatted(text), expected);
    assert_eq!(formatted(expected), expected);
}

const DESIGN_QUERY: &str = "\
-- examples/fineweb.cql
SET memory_limit = '8GB';

DEFINE long_enough(t) AS words(t) BETWEEN 50 AND 100000;          -- a macro; the shipped presets are written this way

LET english = FROM 'crawl/*.jsonl.zst'
  |> WHERE lang(text) = 'en' AND lang_score(text) > 0.65
  |> SET text = normalize_newlines(fix_unicode(text));

FROM english
  |> WHERE long_enough(text)
  |> WHERE gopher_quality(text) AND gopher_repetition(text)       -- presets: read them with `curator ops gopher_quality`
  |> EXTEND classify(text, 'models/fineweb-edu') AS edu
  |> WHERE edu.score >= 3
  |> SELECT id, text, edu.score AS edu
  |> INTO 'clean/' WITH (format = 'parquet', max_file_size = '512MB', rejects = 'rejects/');
";

#[test]
fn a_query_in_canonical_form_stays_as_it_is() {
    let lines = DESIGN_QUERY.lines().map(|line| match line.split_once("  ") {
        // Only the blanks that align comments go.
        Some(_) if line.contains("  --") => line.split("  ").filter(|part| !part.is_empty()).collect::<Vec<_>>(),
        _ => vec![line],
    });
    let expected: String = lines
        .map(|parts| {
            let joined = parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join(" ");
            let indent = if parts.len() > 1 && parts[0].starts_with("|>") { "  " } else { "" };
            if parts.len() > 1 { format!("{indent}{joined}\n") } else { format!("{}\n", parts[0]) }
        })
        .collect();
    assert_eq!(formatted(DESIGN_QUERY), expected);
    assert_eq!(formatted(&expected), expected);
}

/// Texts to mutate: all that the grammar's page shows, and longer ones with comments.
fn corpus() -> Vec<String> {
    let rejected = lines_of("rejected").into_iter().map(|line| line.split(" ⇒ ").next().unwrap().to_string());
    let accepted = lines_of("accepted").into_iter().map(str::to_string);
    let commented =
        "FROM t --a\n -- b\n |> WHERE /*c*/ a AND -- d\n b /* e\n f */ OR c\n\n-- g\n;; /*h*/ SET a = 1 /*i*/; -- j";
    accepted.chain(rejected).chain([DESIGN_QUERY.to_string(), commented.to_string()]).collect()
}

const SNIPPETS: &[&str] = &[
    " ",
    "\n",
    ";",
    ",",
    "(",
    ")",
    "|>",
    "'",
    "\"",
    "`",
    "--",
    "/*",
    "*/",
    " -- x\n",
    "\n-- y\n",
    " /* z */ ",
    "\n/* w */\n",
    "a",
    " AS ",
    " and ",
    "CASE ",
    " WHEN ",
    " END ",
    " BETWEEN ",
    "-",
    ".",
    "::",
    "[",
    "]",
    "{",
    "}",
    "$",
    "$$",
    "é",
    "1",
    "1.5",
    " FROM ",
    " WHERE ",
    " LIMIT ",
    "=",
    "=>",
    "\r\n",
    "\0",
    "a_long_name_that_makes_lines_break_somewhere, ",
];

fn mutated() -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..SNIPPETS.len(), 0..3usize), 0..8);
    (prop::sample::select(corpus()), edits).prop_map(|(text, edits)| {
        edits.into_iter().fold(text, |text, (place, snippet, n_removed)| {
            let chars: Vec<char> = text.chars().collect();
            let at = place.index(chars.len() + 1);
            let rest = chars[(at + n_removed).min(chars.len())..].iter();
            chars[..at].iter().copied().chain(SNIPPETS[snippet].chars()).chain(rest.copied()).collect()
        })
    })
}

/// The tokens with words in one case, without `;`: what formatting must not change.
fn essence(text: &str) -> Vec<(TokenKind, String)> {
    let kept = tokens(text).into_iter().filter(|token| token.kind != TokenKind::Semicolon);
    kept.map(|token| {
        let written = token.text(text);
        let same_case =
            if token.kind == TokenKind::Word { written.to_ascii_uppercase() } else { written.trim_end().into() };
        (token.kind, same_case)
    })
    .collect()
}

fn check_format(text: &str) {
    let Ok(once) = format(&source(text)) else { return };
    assert_eq!(essence(&once), essence(text), "tokens of\n{text}\nformatted\n{once}");
    match format(&source(&once)) {
        Ok(twice) => assert_eq!(twice, once, "formatting\n{text}\ntwice"),
        Err(errors) => panic!("formatted text is broken\n{text}\n{}", crate::diag::render_all(&errors, false)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn mutated_queries_never_panic_and_spans_stay_inside(text in mutated()) {
        for sql_only in [false, true] {
            match parse(&source(&text), sql_only) {
                Ok(script) => drop(tree(&script)),
                Err(errors) => for label in errors.iter().flat_map(|error| &error.labels) {
                    prop_assert!(text.get(label.span.start..label.span.end).is_some_and(|place| !place.is_empty()));
                },
            }
        }
        is_complete(&text);
    }

    #[test]
    fn formatting_is_idempotent_and_keeps_every_token(text in mutated()) {
        check_format(&text);
    }

    #[test]
    fn random_text_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = parse(&source(&text), false);
        check_format(&text);
    }
}
