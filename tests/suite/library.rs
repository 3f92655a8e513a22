//! The library as a program that embeds it uses it.

use super::harness::{Outcome, block_on, run};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use curator::Report;
use curator::diag::SourceText;
use curator::ops::{Cost, Cpu, Effects, Family, Gpu, OpSpec, Param, Returns};
use curator::{Compiled, ExplainFormat, Plan, Stage};
use curator::{Config, Error, Language, Session};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const DOCS: &str = "tests/corpus/data/docs.jsonl";

fn session() -> Session {
    Session::new(Config::default()).unwrap()
}

fn rows(session: &mut Session, text: &str, language: Language) -> Result<Vec<Outcome>, Error> {
    block_on(run(session, &SourceText::new("query", text), language))
}

fn plan(session: &mut Session, text: &str) -> Plan {
    let script = session.parse(&SourceText::new("query", text), Language::Cql).unwrap();
    match block_on(session.compile(&script, 0)).unwrap() {
        Compiled::Query(plan) => plan,
        other => panic!("{other:?}"),
    }
}

fn own(name: &'static str, cpu: Cpu) -> OpSpec {
    OpSpec {
        name,
        family: Family::Custom,
        summary: "number of question marks",
        details: "",
        params: const { &[Param::text("text", "the document")] },
        returns: Returns::Int64,
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(0.1),
        cpu,
        gpu: Gpu::No("not tried"),
    }
}

#[test]
fn own_operators_are_used_checked_and_explained_like_the_built_in_ones() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let mut session = session();
    session.register(own("birds", Cpu::Int(|text, _| text.matches("birds").count() as i64))).unwrap();
    let batch = move |documents: &ArrayRef, _: &curator::ops::Args| {
        counted.fetch_add(documents.len(), Ordering::Relaxed);
        let documents = documents.as_string::<i32>();
        let counts: Int64Array = documents.iter().map(|text| text.map(|text| text.len() as i64)).collect();
        Ok(Arc::new(counts) as ArrayRef)
    };
    session.register(own("n_bytes", Cpu::Batch(Arc::new(batch)))).unwrap();
    let cql = format!("FROM '{DOCS}' |> WHERE birds(text) > 0 |> SELECT id, n_bytes(text) AS n");
    let sql = format!("SELECT id, n_bytes(text) AS n FROM '{DOCS}' WHERE birds(text) > 0");
    for (text, language) in [(&cql, Language::Cql), (&sql, Language::Sql)] {
        let outcomes = rows(&mut session, text, language).unwrap();
        assert_eq!(outcomes[0].rows(), "{\"id\":13,\"n\":39}\n");
        assert!(outcomes[0].optimized.contains("birds("), "{}", outcomes[0].optimized);
    }
    // The filter runs before: only what it keeps reaches the costly call.
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert!(session.function_names().contains(&"birds".to_string()));
    assert!(session.operators().find("n_bytes").is_some());
    let taken = session.register(own("words", Cpu::Int(|_, _| 0))).unwrap_err();
    assert!(taken.to_string().contains("`words` already"), "{taken}");
    let Err(misspelt) = rows(&mut session, &format!("FROM '{DOCS}' |> SELECT bird(text) AS n"), Language::Cql) else {
        panic!()
    };
    assert!(misspelt.to_string().contains("did you mean `birds`?"), "{misspelt}");
    // An operator stays when settings change.
    rows(&mut session, &format!("SET batch_rows = 3; {cql}"), Language::Cql).unwrap();
}

#[test]
fn a_document_that_an_own_operator_never_ends_on_is_set_aside() {
    let config = Config { document_timeout: Some(Duration::from_millis(300)), ..Config::default() };
    let mut session = Session::new(config).unwrap();
    // Takes no processor while it hangs: the tests go on.
    let hangs = Cpu::Int(|text, _| match text.contains("hang") {
        true => loop {
            std::thread::park();
        },
        false => text.len() as i64,
    });
    session.register(own("fragile", hangs)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    std::fs::write(&path, "{\"t\":\"a\"}\n{\"t\":\"hang\"}\n{\"t\":\"ccc\"}\n").unwrap();
    let query = format!("FROM '{}' |> SELECT fragile(t) AS n", path.display());
    let outcome = rows(&mut session, &query, Language::Cql).unwrap().remove(0);
    assert_eq!(outcome.rows(), "{\"n\":1}\n{\"n\":3}\n");
    assert_eq!(outcome.report.rejected, [("took too long".to_string(), 1)], "{:?}", outcome.report);
    assert!(outcome.report.rejected_examples[0].contains("docs.jsonl:2: it took longer"), "{:?}", outcome.report);
}

#[test]
fn parameters_are_values_and_never_text() {
    let query = format!("FROM '{DOCS}' |> WHERE author = $who AND id < $most |> SELECT id");
    let mut session = session();
    session.set_parameter("most", "11");
    for (who, expected) in
        [("ana", "{\"id\":1}\n{\"id\":3}\n{\"id\":10}\n"), ("ana' OR '1' = '1", ""), ("$most", ""), ("ana --", "")]
    {
        session.set_parameter("who", who);
        assert_eq!(rows(&mut session, &query, Language::Cql).unwrap()[0].rows(), expected, "{who}");
    }
}

#[test]
fn every_stage_of_a_plan_is_shown_in_every_format_without_running_it() {
    let mut session = session();
    let text = format!("FROM '{DOCS}' |> WHERE words(text) > 5 |> ORDER BY id |> SELECT id");
    let script = session.parse(&SourceText::new("query", text.clone()), Language::Cql).unwrap();
    assert!(!curator::internals::tree(&script).is_empty());
    let plan = plan(&mut session, &text);
    for stage in [Stage::Logical, Stage::Optimized, Stage::Physical] {
        let show = |format| block_on(session.explain(&plan, stage, format)).unwrap();
        assert!(show(ExplainFormat::Tree).contains("words("), "{stage:?}");
        let json: serde_json::Value = serde_json::from_str(&show(ExplainFormat::Json)).unwrap();
        assert!(json["children"].is_array(), "{stage:?}");
        assert!(show(ExplainFormat::Dot).starts_with("digraph"), "{stage:?}");
    }
}

#[test]
fn the_rules_that_changed_a_plan_are_shown_in_order_over_both_kinds_of_plans() {
    let mut session = session();
    let plan = plan(&mut session, &format!("FROM '{DOCS}' |> WHERE words(text) > 5 |> ORDER BY id |> SELECT id"));
    let shown = block_on(session.explain_rules(&plan)).unwrap();
    let headings = shown.lines().filter_map(|line| line.strip_prefix("after ")?.strip_suffix(':'));
    let headings: Vec<&str> = headings.collect();
    let at =
        |rule: &str| headings.iter().position(|heading| *heading == rule).unwrap_or_else(|| panic!("{headings:?}"));
    assert!(at("KeepInputOrder") < at("optimize_projections"));
    assert!(at("optimize_projections") < at("planning") && at("planning") < at("OnePass"));
    // A rule that found nothing to do is not among them, and the last plan is the one that runs.
    assert!(!headings.contains(&"FilterBeforeDedup") && !headings.contains(&"YieldInJoins"), "{headings:?}");
    let placed = block_on(session.explain(&plan, Stage::Placed, ExplainFormat::Tree)).unwrap();
    assert!(shown.trim_end().ends_with(placed.trim_end()), "{shown}\n{placed}");
}

#[test]
fn explain_analyze_shows_what_was_expected_beside_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    // 40 documents of 1,000 bytes: the size of 20 typical ones.
    let line = |n: usize| format!("{:<999}\n", format!("{{\"id\": {n}, \"text\": \"some words\"}}"));
    std::fs::write(&path, (0..40).map(line).collect::<String>()).unwrap();
    let mut session = session();
    let text = format!(
        "FROM '{}' |> WHERE words(text) > 1 |> SELECT id, text |> DEDUP EXACT ON text |> LIMIT 3",
        path.display()
    );
    let plan = plan(&mut session, &text);
    let (analyzed, _) = block_on(session.explain_analyze(&plan)).unwrap();
    let counts_of = |operator: &str| {
        let mut lines = analyzed.lines().skip_while(|line| !line.trim_start().starts_with(operator));
        lines.nth(1).unwrap_or_default().trim().trim_start_matches("│ ").to_string()
    };
    assert!(counts_of("FileScanExec").starts_with("rows 40  expected 20  read"), "{analyzed}");
    assert!(counts_of("AnnotateExec").starts_with("rows 40  expected 10  "), "{analyzed}");
    assert!(counts_of("DedupExec").starts_with("rows 1  expected 10  "), "{analyzed}");
    assert!(counts_of("GlobalLimitExec").starts_with("rows 1  expected 3"), "{analyzed}");
    assert!(analyzed.contains("words(text) > 1   in 40  dropped 0  expected 10  "), "{analyzed}");
    let out = folder.path().join("out.jsonl");
    let plan = self::plan(&mut session, &text.replace("LIMIT 3", &format!("INTO '{}'", out.display())));
    let (analyzed, _) = block_on(session.explain_analyze(&plan)).unwrap();
    assert!(analyzed.contains("written 1  expected 10  time "), "{analyzed}");
}

#[test]
fn every_stage_of_a_plan_shows_the_same_now() {
    let mut session = session();
    let plan = plan(&mut session, &format!("FROM '{DOCS}' |> SELECT id, now() AS at"));
    let stages = [Stage::Optimized, Stage::Physical, Stage::Placed];
    let shown = stages.map(|stage| block_on(session.explain(&plan, stage, ExplainFormat::Tree)).unwrap());
    let instant = |text: &String| {
        assert!(!text.contains("now("), "{text}");
        let digits = text.split(|c: char| !c.is_ascii_digit()).find(|digits| digits.len() == 19);
        digits.map(str::to_string)
    };
    assert!(instant(&shown[0]).is_some() && shown.iter().all(|text| instant(text) == instant(&shown[0])), "{shown:?}");
}

/// In a chain, what comes into a step is what left the one before.
fn assert_adds_up(report: &Report) {
    for pair in report.steps.windows(2) {
        assert_eq!(pair[1].rows_in, pair[0].rows_out, "{} -> {}", pair[0].label, pair[1].label);
    }
    assert_eq!(report.steps.first().unwrap().rows_in, 0);
    assert_eq!(report.steps.last().unwrap().rows_out, report.rows_out);
}

#[test]
fn a_run_is_a_stream_of_batches_and_its_report_adds_up() {
    let text = format!(
        "FROM '{DOCS}' |> WHERE lang = 'en' AND words(text) > 3 |> WHERE score > 0.5 |> SELECT id, text |> LIMIT 7"
    );
    for n_threads in [1, 4] {
        let batch_rows = NonZeroUsize::new(2).unwrap();
        let threads = NonZeroUsize::new(n_threads).unwrap();
        let mut session = Session::new(Config { batch_rows, threads, ..Config::default() }).unwrap();
        let plan = plan(&mut session, &text);
        block_on(async {
            let mut run = session.execute(&plan).await.unwrap();
            assert_eq!(run.schema().fields().len(), 2);
            assert!(!run.writes());
            let mut sizes = Vec::new();
            while let Some(batch) = run.next().await {
                sizes.push(batch.unwrap().num_rows());
            }
            assert!(sizes.iter().all(|n_rows| *n_rows <= 2) && sizes.iter().sum::<usize>() == 7, "{sizes:?}");
            let report = run.report();
            assert_eq!(report.rows_out, 7);
            assert_eq!(report.steps.first().unwrap().label, format!("'{DOCS}'"));
            assert_eq!(report.steps.last().unwrap().label, "LIMIT 7");
            assert_adds_up(&report);
        });
    }
}

#[test]
fn the_counts_of_explain_analyze_are_those_of_the_funnel() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl");
    let mut session = session();
    let text = format!(
        "FROM '{DOCS}' |> WHERE lang = 'en' AND words(text) > 3 |> WHERE score > 0.5 |> INTO '{}'",
        out.display()
    );
    let plan = plan(&mut session, &text);
    let (analyzed, report) = block_on(session.explain_analyze(&plan)).unwrap();
    assert_adds_up(&report);
    let wheres: Vec<_> = report.steps.iter().filter(|step| step.label.starts_with("WHERE ")).collect();
    assert_eq!(wheres.len(), 3, "{report:?}");
    for step in wheres {
        let counts = format!("in {}  dropped {}", step.rows_in, step.rows_in - step.rows_out);
        let label = step.label.trim_start_matches("WHERE ");
        let line = analyzed.lines().find(|line| line.contains(label) && line.contains("dropped"));
        assert!(line.is_some_and(|line| line.contains(&counts)), "{counts} of {label} in:\n{analyzed}");
    }
    assert!(analyzed.contains(&format!("written {}", report.rows_out)), "{analyzed}");
    // It measures; a run of the query itself writes.
    assert!(report.files.is_empty() && n_entries(folder.path()) == 0);
    block_on(async {
        let mut run = session.execute(&plan).await.unwrap();
        assert!(run.next().await.is_none());
        let report = run.report();
        let written = std::fs::read_to_string(&out).unwrap().lines().count() as u64;
        assert_eq!((report.rows_out, report.files[0].n_rows), (written, written));
        assert_eq!(report.files[0].n_bytes, std::fs::metadata(&out).unwrap().len());
    });
}

fn n_entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_run_dropped_midway_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.jsonl");
    let mut lines = String::new();
    for i in 0..60_000 {
        let _ = writeln!(lines, "{{\"id\":{i},\"text\":\"{}\"}}", "w ".repeat(50));
    }
    lines.push_str("broken\n");
    std::fs::write(&input, lines).unwrap();
    for target in ["out.jsonl", "out/", "out.parquet", "parts/"] {
        let mut session =
            Session::new(Config { batch_rows: NonZeroUsize::new(100).unwrap(), ..Config::default() }).unwrap();
        let options = if target == "parts/" { ", max_file_size = '100kB'" } else { "" };
        let text = format!(
            "FROM '{}' |> INTO '{}' WITH (rejects = '{}'{options})",
            input.display(),
            folder.path().join(target).display(),
            folder.path().join("rejects").display()
        );
        let plan = plan(&mut session, &text);
        block_on(async {
            let mut run = session.execute(&plan).await.unwrap();
            let progress = run.progress();
            tokio::select! {
                _ = run.next() => {}
                _ = async { while progress().rows_kept == 0 { tokio::time::sleep(std::time::Duration::from_millis(1)).await } } => {}
            }
            assert!(run.report().files.is_empty(), "it was over before it was dropped");
            drop(run);
        });
        // Only the input: neither outputs, nor temporary files, nor rejects.
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let emptied = left.iter().filter(|path| path.is_dir()).all(|path| n_entries(path) == 0);
        let files: Vec<_> = left.iter().filter(|path| path.is_file()).collect();
        assert!(emptied && files == [&input], "{target}: {left:?}");
    }
}

#[test]
fn a_statement_reads_what_the_one_before_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let mut session = session();
    let text = format!(
        "FROM '{DOCS}' |> WHERE lang = 'fr' |> SELECT id |> INTO '{0}';\n\
         FROM '{0}' |> AGGREGATE count(*) AS n;\n\
         FROM '{DOCS}' |> WHERE lang = 'de' |> SELECT id AS other |> INTO '{0}' WITH (overwrite = true);\n\
         FROM '{0}' |> AGGREGATE max(other) AS n;",
        path.display()
    );
    let source = SourceText::new("query", text.clone());
    assert!(block_on(session.check(&source, Language::Cql)).is_empty());
    assert!(!path.exists(), "checking writes nothing");
    let outcomes = rows(&mut session, &text, Language::Cql).unwrap();
    assert_eq!([outcomes[1].rows(), outcomes[3].rows()], ["{\"n\":3}\n", "{\"n\":18}\n"]);
}

#[test]
fn checking_a_script_does_not_change_the_session() {
    let mut session = session();
    rows(&mut session, "CREATE TABLE kept AS SELECT 1 AS a; DEFINE f(x) AS x + 1;", Language::Cql).unwrap();
    let text = format!(
        "SET batch_rows = 17; LET docs = FROM '{DOCS}'; DEFINE g(x) AS x; DEFINE f(x) AS x + 100;\n\
         CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT 2 AS b; DROP TABLE kept;\n\
         FROM docs |> SELECT g(id) AS a; SELECT * FROM t; SELECT * FROM v;"
    );
    let source = SourceText::new("query", text);
    let script = session.parse(&source, Language::Cql).unwrap();
    let before = (session.config().clone(), session.tables(), session.function_names());
    let problems = block_on(session.check_script(&script));
    assert!(problems.is_empty(), "{}", curator::diag::render_all(&problems, false));
    assert_eq!((session.config().clone(), session.tables(), session.function_names()), before);
    assert_eq!(rows(&mut session, "SELECT f(a) AS a FROM kept", Language::Sql).unwrap()[0].rows(), "{\"a\":2}\n");
}

#[test]
fn errors_tell_queries_data_and_files_apart() {
    let mut session = session();
    let mut fails = |text: &str| rows(&mut session, text, Language::Cql).err().unwrap();
    assert!(matches!(fails("FROM nowhere"), Error::Query(_)));
    assert!(matches!(fails("FROM 'no/such/file.jsonl'"), Error::Query(_)));
    let division = fails("SELECT 1 / (a - 1) AS x FROM (SELECT 1 AS a)");
    assert!(matches!(division, Error::Data(_)), "{division:?}");
    assert!(division.to_string().to_lowercase().contains("divide by zero"), "{division}");
}
