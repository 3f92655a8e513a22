//! Rows that a verb goes through again, and that do not fit in memory: from a temporary file, from their source, or from where
//! a run keeps them anyway. What comes out does not depend on it.

use super::cli::Folder;
use super::harness::{block_on, run};
use curator::diag::SourceText;
use curator::{Compiled, Config, Language, Session};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

const N_DOCUMENTS: usize = 1500;

/// Documents of about two kilobytes, some of them copies or nearly so, some lines broken.
fn write_documents(folder: &Path) {
    for part in 0..3 {
        let documents = (0..N_DOCUMENTS / 3).map(|n| {
            let n = part * N_DOCUMENTS / 3 + n;
            let source = if n % 5 == 4 { n / 2 } else { n };
            let words: Vec<String> = (0..350)
                .map(|word| match (source * 7919 + word * 104_729) % 3571 {
                    _ if n % 10 == 9 && word == 70 => "changed".to_string(),
                    word => format!("w{word}"),
                })
                .collect();
            let text = words.chunks(12).map(|line| line.join(" ")).collect::<Vec<_>>().join(".\\n");
            let broken = if n.is_multiple_of(97) { "{\"id\": broken\n" } else { "" };
            format!("{{\"id\":\"d{n:04}\",\"score\":{},\"text\":\"{text}\"}}\n{broken}", n % 7)
        });
        std::fs::write(folder.join(format!("in-{part}.jsonl")), documents.collect::<String>()).unwrap();
    }
    let task = (0..20).map(|word| format!("w{}", (30 * 7919 + word * 104_729) % 3571)).collect::<Vec<_>>().join(" ");
    std::fs::write(folder.join("eval.jsonl"), format!("{{\"text\":\"{task}\"}}\n")).unwrap();
}

const METHODS: [&str; 8] = [
    "DEDUP EXACT ON text WITH (cluster_size = 'n') KEEP LAST BY score",
    "DEDUP EXACT ON text WITH (verify = true)",
    "DEDUP FUZZY ON text WITH (similarity = 's')",
    "DEDUP LINES ON text",
    "DISTINCT ON (text)",
    "DEDUP SUBSTRING ON text WITH (min_length = 'tokens:30')",
    "EXTEND repeat(text, 3) AS more |> DEDUP SEMANTIC ON [score, words(text), length(text) % 7] WITH (eps = 0.001, clusters = 5)",
    "DECONTAMINATE ON text AGAINST 'FOLDER/eval.jsonl' WITH (mode = 'cut')",
];

fn script(folder: &Path, method: &str, settings: &str) -> String {
    let folder = folder.display().to_string();
    let method = method.replace("FOLDER", &folder);
    // Vectors are not spilled below some size.
    let memory = if method.contains("SEMANTIC") { "16MB" } else { "4MB" };
    format!(
        "SET blocksize = '50kB'; SET batch_bytes = '20kB'; SET memory_limit = '{memory}'; {settings}
         FROM '{folder}/in-*.jsonl' |> WHERE score < 6 |> {method} |> INTO '{folder}/out/' WITH (overwrite = true, \
         rejects = '{folder}/rejects')"
    )
}

/// Every file that a run made, but for manifests, which hold times.
fn made(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = ["out", "rejects"].into_iter().flat_map(|name| walkdir::WalkDir::new(folder.join(name)));
    let files = files.map(|entry| entry.unwrap().into_path()).filter(|path| path.is_file());
    let files = files.filter(|path| !path.ends_with("_manifest.json"));
    files.map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn what_comes_out_does_not_depend_on_where_rows_come_from_again() {
    let folder = tempfile::tempdir().unwrap();
    write_documents(folder.path());
    let number = |n| NonZeroUsize::new(n).unwrap();
    for method in METHODS {
        let mut expected = None;
        for (threads, settings) in [
            (1, "SET replay = 'spool';"),
            (3, "SET replay = 'source';"),
            (16, "SET replay = 'source';"),
            (3, "SET checkpoint = 'on';"),
        ] {
            let config = Config { threads: number(threads), ..Config::default() };
            let text = SourceText::new("query", script(folder.path(), method, settings));
            let mut session = Session::new(config).unwrap();
            block_on(run(&mut session, &text, Language::Cql)).unwrap_or_else(|error| panic!("{method}: {error}"));
            let made = made(folder.path());
            assert!(made.keys().any(|name| name.contains("rejects.jsonl")) && made.len() > 2, "{:?}", made.keys());
            assert!(*expected.get_or_insert_with(|| made.clone()) == made, "{method}: {threads} threads, {settings}");
        }
    }
}

#[test]
fn documents_that_come_again_need_no_room_for_temporary_files() {
    let folder = Folder::new();
    write_documents(folder.path());
    for method in [METHODS[0], METHODS[3], METHODS[7]] {
        for (settings, needs_room) in
            [("SET replay = 'spool';", true), ("SET replay = 'source';", false), ("SET checkpoint = 'on';", false)]
        {
            folder.write("q.cql", &script(folder.path(), method, settings));
            let mut command = folder.command(&["query", "--quiet", "--threads", "2", "q.cql"]);
            let output = command.env("TMPDIR", folder.path().join("no/such/folder")).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), !needs_room, "{method} {settings}: {said}");
        }
    }
}

#[test]
fn explain_analyze_tells_how_many_rows_came_again() {
    let folder = tempfile::tempdir().unwrap();
    write_documents(folder.path());
    let analyzed = |settings: &str| {
        let text = SourceText::new("query", script(folder.path(), "DEDUP EXACT ON text", settings));
        block_on(async {
            let mut session = Session::new(Config { threads: NonZeroUsize::MIN, ..Config::default() }).unwrap();
            let script = session.parse(&text, Language::Cql).unwrap();
            let mut analyzed = String::new();
            for index in 0..script.statements.len() {
                if let Compiled::Query(plan) = session.compile(&script, index).await.unwrap() {
                    analyzed = session.explain_analyze(&plan).await.unwrap().0;
                }
            }
            analyzed
        })
    };
    let from_source = analyzed("SET replay = 'source';");
    let n_rows = (0..N_DOCUMENTS).filter(|n| n % 7 < 6).count();
    assert!(from_source.contains(&format!("rows that came again {n_rows}")), "{from_source}");
    let spooled = analyzed("SET replay = 'spool';");
    assert!(spooled.contains("spilled") && !spooled.contains("rows that came again"), "{spooled}");
}

#[test]
fn an_input_that_changes_before_it_is_read_again_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    write_documents(folder.path());
    let path = folder.path().join("in-0.jsonl");
    let text = format!("FROM '{}' |> DEDUP EXACT ON text", path.display());
    let error = block_on(async {
        let config = Config {
            threads: NonZeroUsize::MIN,
            batch_rows: NonZeroUsize::new(5).unwrap(),
            memory_limit_bytes: Some(400_000),
            replay: curator::internals::ReplayChoice::Source,
            ..Config::default()
        };
        let mut session = Session::new(config).unwrap();
        let script = session.parse(&SourceText::new("query", text), Language::Cql).unwrap();
        let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { panic!() };
        let mut run = session.execute(&plan).await.unwrap();
        // The first rows come when all were read; most of them are still to be read again.
        assert!(run.next().await.unwrap().is_ok());
        let mut changed = std::fs::read_to_string(&path).unwrap();
        changed.push_str("{\"id\":\"new\",\"text\":\"\"}\n");
        std::fs::write(&path, changed).unwrap();
        loop {
            match run.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("nobody noticed"),
            }
        }
    });
    assert!(error.to_string().contains("in-0.jsonl"), "{error}");
    assert_eq!(error.exit_code(), 1);
}
