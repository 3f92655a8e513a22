//! Whatever text comes in: a message or a plan, in bounded time; never a panic, an overflow or a hang.

use super::harness::{block_on, files, language_of, read};
use curator::diag::{Code, Diagnostic, SourceText};
use curator::{Config, Language, Session};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

const DOCS: &str = "FROM 'tests/corpus/data/docs.jsonl'";
/// As the command line gives its threads.
const STACK_BYTES: usize = 16 << 20;
/// Far more than any of these needs, also in an unoptimized build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Does `work` on a thread like the command line's. It must end, and may not panic.
fn bounded<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let work = move || sender.send(catch_unwind(AssertUnwindSafe(work)).map_err(|_| ()));
    let _running = thread.spawn(work).unwrap();
    match receiver.recv_timeout(PATIENCE) {
        Ok(result) => result.unwrap_or_else(|()| panic!("{what}: panicked")),
        Err(_) => panic!("{what}: still running after {PATIENCE:?}"),
    }
}

fn check(name: &str, text: String, language: Language) -> Vec<Diagnostic> {
    let what = name.to_string();
    bounded(&what, move || {
        let source = SourceText::new("query", text);
        let mut session = Session::new(Config::default()).unwrap();
        let problems = block_on(session.check(&source, language));
        // Showing them must be bounded too.
        assert!(curator::diag::render_all(&problems, false).len() < 20 << 20);
        problems
    })
}

fn cql(name: &str, text: String) -> Vec<Diagnostic> {
    check(name, text, Language::Cql)
}

fn sql(name: &str, text: String) -> Vec<Diagnostic> {
    check(name, text, Language::Sql)
}

fn codes(problems: &[Diagnostic]) -> Vec<Code> {
    problems.iter().map(|problem| problem.code).collect()
}

#[test]
fn ten_thousand_brackets_are_one_message_wherever_they_stand() {
    let n = 10_000;
    let nested = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
    for (name, text) in [
        ("where", format!("{DOCS} |> WHERE {}", nested("(", "true", ")"))),
        ("select", format!("{DOCS} |> SELECT {} AS x", nested("(", "id", ")"))),
        ("array", format!("{DOCS} |> SELECT {} AS x", nested("[", "1", "]"))),
        ("call", format!("{DOCS} |> SELECT {} AS x", nested("upper(", "text", ")"))),
        ("from", format!("FROM {}", nested("(", DOCS, ")"))),
        ("pipelines", nested("FROM (", DOCS, ")")),
        ("define", format!("DEFINE f(x) AS {}", nested("(", "x", ")"))),
        ("let", format!("LET a = FROM {}", nested("(", DOCS, ")"))),
        ("options", format!("{DOCS} |> INTO 'x.jsonl' WITH (format = {})", nested("(", "1", ")"))),
        ("statement", format!("SELECT {}", nested("(", "1", ")"))),
        ("open only", format!("{DOCS} |> WHERE {}", "(".repeat(n))),
    ] {
        assert_eq!(codes(&cql(name, text)), [Code::TooDeep], "{name}");
    }
    for (name, text) in [
        ("sql expression", format!("SELECT {}", nested("(", "1", ")"))),
        ("sql from", format!("SELECT * FROM {}", nested("(", "SELECT 1", ")"))),
        ("sql with", format!("WITH a AS {} SELECT * FROM a", nested("(", "SELECT 1", ")"))),
    ] {
        assert_eq!(codes(&sql(name, text)), [Code::TooDeep], "{name}");
    }
    assert!(!cql("close only", ")".repeat(n)).is_empty());
}

#[test]
fn chains_of_ten_thousand_operators_are_one_message() {
    let n = 10_000;
    let joined = |term: &str, join: &str| vec![term; n].join(join);
    let expressions = [
        ("and", joined("id > 'a'", " AND ")),
        ("or", joined("id > 'a'", " OR ")),
        ("plus", joined("1", " + ")),
        ("concat", joined("id", " || ")),
        ("equals", joined("id", " = ")),
        ("like", joined("id", " LIKE ")),
        ("between", format!("id {}", "BETWEEN 1 AND id ".repeat(n))),
        ("not", format!("{}true", "NOT ".repeat(n))),
        ("minus", format!("{}1", "- ".repeat(n))),
        ("plus sign", format!("{}1", "+ ".repeat(n))),
        ("is null", format!("id {}", "IS NULL ".repeat(n))),
        ("cast", format!("id{}", "::int::text".repeat(n))),
        ("subscript", format!("id{}", "['x']".repeat(n))),
        ("arrow", format!("id{}", " -> 'x'".repeat(n))),
        ("time zone", format!("id {}", "AT TIME ZONE 'UTC' ".repeat(n))),
        ("collate", format!("id {}", "COLLATE \"a\" ".repeat(n))),
        ("lambda", format!("{}x", "x -> ".repeat(n))),
        ("interval", format!("{}'1 day'", "INTERVAL ".repeat(n))),
        ("type", format!("CAST(1 AS {}INT{})", "ARRAY<".repeat(n), ">".repeat(n))),
        ("case", format!("{}1{}", "CASE WHEN id > 'a' THEN ".repeat(n), " ELSE 0 END".repeat(n))),
        ("case operand", format!("{}1{}", "CASE ".repeat(n), " WHEN 1 THEN 2 END".repeat(n))),
    ];
    for (turn, (name, expression)) in expressions.into_iter().enumerate() {
        // All go the same way through; each place in turn is enough for most.
        let places = [
            (Language::Cql, format!("{DOCS} |> WHERE {expression}")),
            (Language::Sql, format!("SELECT {expression} AS x FROM 'tests/corpus/data/docs.jsonl'")),
            (Language::Cql, format!("{DOCS} |> SELECT {expression} AS x")),
            (Language::Cql, format!("DEFINE f(id) AS {expression}")),
        ];
        let n_places = places.len();
        for (at, (language, text)) in places.into_iter().enumerate() {
            if at == turn % n_places || matches!(name, "and" | "or" | "not" | "case") {
                assert_eq!(codes(&check(name, text, language)), [Code::TooDeep], "{name} {language:?}");
            }
        }
    }
    for (name, text) in [
        ("union", joined("SELECT 1 AS a", " UNION ALL ")),
        ("except", joined("SELECT 1 AS a", " EXCEPT ")),
        ("join", format!("SELECT * FROM t {}", "JOIN t USING (a) ".repeat(n))),
        ("sql pipes", format!("FROM t {}", "|> WHERE a > 1 ".repeat(n))),
        ("explain", format!("{}SELECT 1", "EXPLAIN ".repeat(n))),
        ("exists", format!("{}SELECT 1{}", "SELECT 1 WHERE EXISTS (".repeat(150), ")".repeat(150))),
        ("prepare", format!("{}SELECT 1", "PREPARE a AS ".repeat(n))),
        ("create", format!("{}SELECT 1", "CREATE TABLE a AS ".repeat(n))),
    ] {
        assert!(!sql(name, text).is_empty(), "{name}");
    }
}

#[test]
fn what_people_and_programs_write_is_not_too_long() {
    let numbers: Vec<String> = (0..5_000).map(|i| i.to_string()).collect();
    let comparisons: Vec<String> = (0..250).map(|i| format!("author <> '{i}'")).collect();
    let cases: Vec<String> = (0..500).map(|i| format!("WHEN words(text) = {i} THEN {i} + 1")).collect();
    for (name, text) in [
        ("in list", format!("{DOCS} |> WHERE words(text) IN ({})", numbers.join(", "))),
        ("and", format!("{DOCS} |> WHERE {}", comparisons.join(" AND "))),
        ("or", format!("{DOCS} |> WHERE {}", comparisons.join(" OR "))),
        ("case", format!("{DOCS} |> SELECT CASE {} END AS x", cases.join(" "))),
        ("brackets", format!("{DOCS} |> WHERE {}true{}", "(".repeat(150), ")".repeat(150))),
        ("verbs", format!("{DOCS} {}", "|> WHERE words(text) >= 0 ".repeat(300))),
        ("unions", vec!["SELECT 1 AS a"; 100].join(" UNION ALL ")),
        ("values", format!("SELECT * FROM (VALUES ({}))", numbers.join("), ("))),
    ] {
        let problems = cql(name, text);
        assert!(problems.is_empty(), "{name}: {}", curator::diag::render_all(&problems, false));
    }
}

#[test]
fn a_chain_as_long_as_allowed_runs() {
    let rows = bounded("run", || {
        let chain: Vec<String> = (0..400).map(|i| format!("author <> 'x{i}'")).collect();
        let (all, any) = (chain.join(" AND "), chain.join(" OR "));
        let text = format!("{DOCS} |> WHERE {all} |> WHERE {any} |> AGGREGATE count(*) AS n");
        let mut session = Session::new(Config::default()).unwrap();
        let source = SourceText::new("query", text);
        let outcomes = block_on(super::harness::run(&mut session, &source, Language::Cql)).unwrap();
        outcomes[0].rows()
    });
    assert!(rows.starts_with("{\"n\":") && rows != "{\"n\":0}\n", "{rows}");
}

#[test]
fn macros_that_grow_without_bound_are_one_message() {
    let chained = |body: &dyn Fn(usize) -> String, n: usize| {
        let defines: String = (1..n).map(|i| format!("DEFINE f{i}(x) AS {};\n", body(i - 1))).collect();
        format!("DEFINE f0(x) AS x || x;\n{defines}{DOCS} |> SELECT f{}(author) AS a", n - 1)
    };
    for (name, text) in [
        ("of itself", chained(&|i| format!("f{i}(f{i}(x))"), 40)),
        ("of its sum", chained(&|i| format!("f{i}(x) || f{i}(x)"), 40)),
        ("deep", chained(&|i| format!("f{i}(x) || 'y'"), 2_000)),
        (
            "arguments",
            format!("DEFINE f(x) AS x || x; {DOCS} |> SELECT {}id{} AS a", "f(".repeat(100), ")".repeat(100)),
        ),
        (
            "deep bodies",
            format!(
                "DEFINE f(x) AS x{}; {DOCS} |> SELECT {}id{} AS a",
                " || 'a'".repeat(400),
                "f(".repeat(150),
                ")".repeat(150)
            ),
        ),
        ("self", format!("DEFINE f(x) AS f(x); {DOCS} |> SELECT f(author) AS a")),
        (
            "mutual",
            format!("DEFINE f(x) AS g(x); DEFINE g(x) AS h(x); DEFINE h(x) AS f(x); {DOCS} |> SELECT f(author) AS a"),
        ),
    ] {
        assert_eq!(codes(&cql(name, text)), [Code::Recursion], "{name}");
    }
    let fine = chained(&|i| format!("f{i}(x) || 'y'"), 40);
    assert!(cql("forty deep", fine).is_empty());
}

#[test]
fn lets_that_double_are_one_message_and_long_rows_of_them_are_fine() {
    let doubled = |n: usize| {
        let lets: String = (1..n).map(|i| format!("LET a{i} = FROM a{0} |> UNION ALL (FROM a{0});", i - 1)).collect();
        format!("LET a0 = {DOCS} |> SELECT id; {lets} FROM a{}", n - 1)
    };
    assert_eq!(codes(&cql("doubled", doubled(40)))[..1], [Code::TooDeep]);
    assert!(cql("few", doubled(5)).is_empty());
    let lets: String = (1..60).map(|i| format!("LET a{i} = FROM a{} |> WHERE id <> {i};", i - 1)).collect();
    assert!(cql("row", format!("LET a0 = {DOCS}; {lets} FROM a59")).is_empty());
}

#[test]
fn long_names_texts_and_files_are_read() {
    let long = "x".repeat(100_000);
    let columns: Vec<String> = (0..5_000).map(|i| format!("{i} AS c{i}")).collect();
    let one = [Code::UnknownColumn];
    assert_eq!(codes(&cql("column", format!("{DOCS} |> SELECT {long}"))), one);
    assert_eq!(codes(&cql("function", format!("{DOCS} |> SELECT {long}(id) AS a"))), [Code::UnknownFunction]);
    assert_eq!(cql("verb", format!("{DOCS} |> {long}")).len(), 1);
    assert_eq!(cql("statement", long.clone()).len(), 1);
    assert_eq!(cql("setting", format!("SET {long} = 1")).len(), 1);
    assert_eq!(cql("table", format!("FROM {long}")).len(), 1);
    assert!(cql("alias", format!("{DOCS} |> SELECT id AS {long}")).is_empty());
    assert!(cql("text", format!("{DOCS} |> WHERE text <> '{long}'")).is_empty());
    assert!(cql("columns", format!("{DOCS} |> SELECT {}", columns.join(", "))).is_empty());
    assert!(sql("sql columns", format!("SELECT {}", columns.join(", "))).is_empty());
    assert!(cql("statements", format!("{DOCS} |> LIMIT 1;\n").repeat(2_000)).is_empty());
    assert!(sql("sql statements", "SELECT 1;\n".repeat(2_000)).is_empty());
    assert_eq!(cql("wrong statements", format!("{DOCS} |> WHERE idd = 1;\n").repeat(2_000)).len(), 2_000);
    for (name, text) in [
        ("empty", String::new()),
        ("blank", " \n\t\r\n".to_string()),
        ("comments", "-- one\n/* two */".to_string()),
        ("semicolons", ";".repeat(10_000)),
        ("bom", "\u{feff}".to_string()),
    ] {
        assert!(cql(name, text.clone()).is_empty(), "{name}");
        assert!(sql(name, text).is_empty(), "{name}");
    }
    for (name, text) in [
        ("pipes", format!("FROM t {}", "|> ".repeat(5_000))),
        ("quotes", "'".repeat(9_999)),
        ("dollars", "$".repeat(9_999)),
        ("comment", "/*".repeat(9_999)),
        ("commas", format!("{DOCS} |> SELECT {}", ",".repeat(10_000))),
        ("dots", format!("{DOCS} |> SELECT a{}", ".b".repeat(10_000))),
    ] {
        assert!(!cql(name, text).is_empty(), "{name}");
    }
}

/// A small generator with a fixed start: the same mutations on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Words that mean something to either language, to be put where they do not belong.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "`",
    "|>",
    ";",
    ",",
    "--",
    "/*",
    "*/",
    "=>",
    "->",
    "::",
    ".",
    "$x",
    "$$",
    "FROM",
    "WHERE",
    "SELECT",
    "EXTEND",
    "SET",
    "DROP",
    "RENAME",
    "AGGREGATE",
    "GROUP BY",
    "JOIN",
    "ON",
    "USING",
    "UNION ALL",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "DISTINCT",
    "SAMPLE",
    "PERCENT",
    "AS",
    "INTO",
    "WITH",
    "LET",
    "DEFINE",
    "EXPLAIN",
    "ANALYZE",
    "DESCRIBE",
    "CASE",
    "WHEN",
    "END",
    "NOT",
    "NULL",
    "IN",
    "BETWEEN",
    "OVER",
    "INTERVAL",
    "*",
    "-1",
    "1e999",
    "99999999999999999999",
    "0",
    "é",
    "\u{0}",
    "\u{feff}",
    "\r",
    "text",
    "words(text)",
    "count(*)",
];

fn mutated(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let to = (at + random.below(12)).min(bytes.len());
        match random.below(5) {
            0 => drop(bytes.drain(at..to)),
            1 => {
                let piece = PIECES[random.below(PIECES.len())];
                drop(bytes.splice(at..at, format!(" {piece} ").into_bytes()));
            }
            2 => {
                let copied = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, copied));
            }
            3 => bytes.truncate(at),
            _ => {
                let byte = random.next() as u8;
                drop(bytes.splice(at..to.min(at + 1), [byte]));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_queries_and_random_bytes_never_panic() {
    let mut corpus: Vec<(String, Language)> = files("tests/corpus", ".cql")
        .into_iter()
        .chain(files("tests/corpus/pairs", ".sql"))
        .map(|path| (read(&path).text().to_string(), language_of(&path)))
        .collect();
    corpus.sort_by_key(|(text, _)| text.len());
    // What they write, if a mutation lets them through, must not exist: checking looks but never writes.
    let n_mutations = 1_500;
    let panicked = bounded("mutations", move || {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut panicked = Vec::new();
        for i in 0..n_mutations {
            let (text, language) = if i % 5 == 0 {
                let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
                let language = if i % 2 == 0 { Language::Sql } else { Language::Cql };
                (String::from_utf8_lossy(&bytes).into_owned(), language)
            } else {
                let (text, language) = &corpus[random.below(corpus.len())];
                (mutated(text, &mut random), *language)
            };
            let query = text.clone();
            let result = catch_unwind(AssertUnwindSafe(|| {
                let source = SourceText::new("query", text);
                let mut session = Session::new(Config::default()).unwrap();
                let problems = block_on(session.check(&source, language));
                for problem in &problems {
                    assert!(!curator::internals::render(problem, false).is_empty());
                }
                // The formatter reads the same text.
                let _ = curator::internals::format(&source);
            }));
            if let Err(panic) = result {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                panicked.push(format!("{language:?} {}\n{query}\n", message.unwrap_or_default()));
            }
        }
        panicked
    });
    assert!(panicked.is_empty(), "{} panicked:\n{}", panicked.len(), panicked.join("\n———\n"));
}
