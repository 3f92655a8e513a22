//! A query keeps to its memory limit: it spills, with the same result; or it says that it cannot fit.

use super::harness::{block_on, run};
use curator::diag::SourceText;
use curator::{Compiled, Run};
use curator::{Config, Error, Language, Session};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::Path;

const N_ROWS: u64 = 50_000;

/// About 25 MB of documents with distinct keys in no order.
fn write_documents(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut filler = String::new();
    for i in 0..100u64 {
        let _ = write!(filler, "{} ", i.wrapping_mul(0x9e37_79b9) % 10_007);
    }
    for i in 0..N_ROWS {
        let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        writeln!(file, "{{\"id\":{i},\"key\":{key},\"text\":\"{key} {filler}\"}}").unwrap();
    }
}

fn config(limit_bytes: usize) -> Config {
    // One partition, whatever the machine, and batches small enough that each operator can hold a few.
    Config {
        memory_limit_bytes: Some(limit_bytes),
        threads: NonZeroUsize::MIN,
        batch_rows: NonZeroUsize::new(512).unwrap(),
        ..Config::default()
    }
}

fn rows(query: &str, config: Config) -> Result<String, Error> {
    let mut session = Session::new(config)?;
    let outcomes = block_on(run(&mut session, &SourceText::new("query", query), Language::Cql))?;
    Ok(outcomes.iter().map(|outcome| outcome.rows()).collect())
}

async fn start(query: &str, session: &mut Session) -> Result<Run, Error> {
    let script = session.parse(&SourceText::new("query", query), Language::Cql)?;
    match session.compile(&script, 0).await? {
        Compiled::Query(plan) => session.execute(&plan).await,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sorting_and_grouping_more_than_the_limit_spills_and_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    write_documents(&path);
    let path = path.display();
    let limit_bytes = 24 << 20;
    for query in [
        format!(
            "FROM '{path}' |> ORDER BY key |> SELECT key, text, row_number() OVER () AS n |> WHERE n % 1000 = 1 |> SELECT key, n, length(text) AS len"
        ),
        format!(
            "FROM '{path}' |> AGGREGATE count(*) AS n, max(id) AS last GROUP BY text |> ORDER BY last |> LIMIT 50 |> SELECT n, last"
        ),
    ] {
        let expected = rows(&query, config(4 << 30)).unwrap();
        assert!(!expected.is_empty());
        let limited = rows(&query, config(limit_bytes)).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(limited, expected, "{query}");
    }
    let (analyzed, _) = block_on(async {
        let mut session = Session::new(config(limit_bytes)).unwrap();
        let source = SourceText::new("query", format!("FROM '{path}' |> ORDER BY key |> SELECT text"));
        let script = session.parse(&source, Language::Cql).unwrap();
        let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { panic!() };
        session.explain_analyze(&plan).await.unwrap()
    });
    assert!(analyzed.contains("spilled"), "{analyzed}");
}

#[test]
fn lines_that_are_carried_to_the_output_count_against_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    write_documents(&path);
    let out = folder.path().join("out.jsonl");
    for verb in ["ORDER BY key", "DEDUP EXACT ON key"] {
        let query = format!("FROM '{}' |> {verb} |> INTO '{}' WITH (overwrite = true)", path.display(), out.display());
        rows(&query, config(4 << 30)).unwrap();
        let expected = std::fs::read(&out).unwrap();
        assert_eq!(expected.len() as u64, std::fs::metadata(&path).unwrap().len());
        let analyzed = block_on(async {
            let mut session = Session::new(config(16 << 20)).unwrap();
            let script = session.parse(&SourceText::new("query", query.as_str()), Language::Cql).unwrap();
            let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { panic!() };
            session.explain_analyze(&plan).await.unwrap().0
        });
        // A sort spills; a DEDUP does, or reads the rows again where that costs less.
        assert!(["spilled", "rows that came again"].iter().any(|told| analyzed.contains(told)), "{analyzed}");
        assert!(std::fs::read(&out).unwrap() == expected, "{verb}");
    }
}

#[test]
fn a_query_that_cannot_fit_says_so_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    write_documents(&path);
    let query = format!(
        "FROM '{0}' AS a |> JOIN '{0}' AS b ON CAST(a.key AS DOUBLE) = CAST(b.key AS DOUBLE) |> SELECT a.text, b.text AS other |> INTO '{1}'",
        path.display(),
        folder.path().join("out.jsonl").display()
    );
    let result = block_on(async {
        let mut session = Session::new(config(4 << 20)).unwrap();
        let mut run = start(&query, &mut session).await?;
        while let Some(batch) = run.next().await {
            batch?;
        }
        Ok(run.report())
    });
    let error: Error = result.unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("out of memory") && message.contains("--memory"), "{message}");
    assert_eq!(error.exit_code(), 1);
    assert!(!folder.path().join("out.jsonl").exists());
}

#[test]
fn explain_shows_what_each_node_holds_and_what_cannot_fit_is_refused_before_it_starts() {
    let folder = super::cli::Folder::new();
    write_documents(&folder.path().join("docs.jsonl"));
    let query = "FROM 'docs.jsonl' |> WHERE words(text) > 5 |> ORDER BY text |> INTO 'out/' WITH (format = 'parquet')";
    let explained = |options: &[&str]| {
        folder.run(&[&["explain", "--stage", "memory", "--threads", "4", "-e", query], options].concat())
    };
    let shown = explained(&["--memory", "512MB"]).ok();
    insta::assert_snapshot!(shown);
    // Half as many threads, half as much for what each of them holds.
    let fewer = folder.run(&["explain", "--stage", "memory", "--threads", "2", "--memory", "512MB", "-e", query]).ok();
    assert!(fewer.contains("2 partitions × 14 blocks of 1.0 MB"), "{fewer}");
    let json: serde_json::Value =
        serde_json::from_str(&explained(&["--memory", "1GB", "--format", "json"]).ok()).unwrap();
    assert_eq!(json["limit_bytes"], 1_000_000_000);
    assert!(json["buffers"][0]["n_bytes"].is_u64());
    // So many blocks of 300 MB are nothing for a small limit.
    folder.write("large.cql", &format!("SET batch_bytes = '300MB'; {query}"));
    let run = |options: &[&str]| folder.run(&[&["query", "large.cql"], options].concat());
    let told = run(&["--threads", "1", "--memory", "400MB"]).wrong();
    for part in
        ["does not fit into its memory limit of 400.0 MB", "(--memory)", "batch_bytes", "FileScanExec 'docs.jsonl'"]
    {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(!folder.path().join("out").exists(), "it was refused before it began");
    run(&["--threads", "1", "--memory", "100GB"]).ok();
}
