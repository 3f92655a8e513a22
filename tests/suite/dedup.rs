//! Deduplication as users rely on it: the same bytes every time, which copy stays, why the others went, and an index
//! that a crash does not hurt.

use super::harness::{Outcome, block_on, root, run};
use curator::diag::SourceText;
use curator::{Compiled, Config, Error, ExplainFormat, Language, Session, Stage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

fn query(text: &str, config: Config) -> Result<Vec<Outcome>, Error> {
    block_on(async { run(&mut Session::new(config).unwrap(), &SourceText::new("query", text), Language::Cql).await })
}

/// The rows of the last statement.
fn rows(text: &str, config: Config) -> Vec<Value> {
    let outcomes = query(text, config).unwrap();
    outcomes.last().unwrap().rows().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The same of a run that writes, which is what adds to an index.
fn written_ids(text: &str, folder: &Path, config: Config) -> Vec<String> {
    let out = folder.join("ids.out").display().to_string();
    let text = format!(
        "{text} |> INTO '{out}' WITH (format = 'jsonl', overwrite = true); FROM '{out}' WITH (format = 'jsonl')"
    );
    ids(&text, config)
}

fn ids(text: &str, config: Config) -> Vec<String> {
    rows(text, config)
        .iter()
        .map(|row| row["id"].as_str().map_or_else(|| row["id"].to_string(), str::to_string))
        .collect()
}

fn config(threads: usize, batch_rows: usize, memory_bytes: Option<usize>) -> Config {
    Config {
        threads: NonZeroUsize::new(threads).unwrap(),
        batch_rows: NonZeroUsize::new(batch_rows).unwrap(),
        memory_limit_bytes: memory_bytes,
        ..Config::default()
    }
}

/// A number that looks random and is the same every time.
fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    (n ^ (n >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d) >> 20
}

/// Documents of 40 to 90 words: every fifth a copy of an earlier one, every seventh the same with one word changed.
fn documents(n_documents: u64) -> Vec<Value> {
    let original = |n: u64| -> Vec<String> {
        (0..40 + mixed(n) % 50).map(|word| format!("w{}", mixed(n * 1000 + word) % 5000)).collect()
    };
    (0..n_documents)
        .map(|n| {
            let source = mixed(n + 7) % (n + 1);
            let text = match n {
                _ if n % 5 == 4 => original(source / 5 * 5),
                _ if n % 7 == 6 => {
                    let mut words = original(source / 5 * 5);
                    let place = mixed(n) as usize % words.len();
                    words[place] = "changed".to_string();
                    words
                }
                _ => original(n),
            };
            json!({ "id": format!("d{n:05}"), "score": mixed(n) % 10, "text": text.join(" ") })
        })
        .collect()
}

fn write_shards(folder: &Path, documents: &[Value], shards: &[usize]) {
    let per_shard = documents.len().div_ceil(shards.len());
    for (name, part) in shards.iter().zip(documents.chunks(per_shard)) {
        let lines: String = part.iter().map(|document| format!("{document}\n")).collect();
        std::fs::write(folder.join(format!("{name:03}.jsonl")), lines).unwrap();
    }
}

const METHODS: [&str; 14] = [
    "DEDUP EXACT ON text",
    "DEDUP EXACT ON text WITH (verify = true) KEEP LAST",
    "DEDUP EXACT ON score, text KEEP NONE",
    "DEDUP FUZZY ON text",
    "DEDUP FUZZY ON text WITH (verify = false, cluster_id = 'c', cluster_size = 'n') KEEP FIRST BY score DESC",
    "DEDUP FUZZY ON text WITH (hash = 'datatrove')",
    "DEDUP FUZZY ON text WITH (link = 'component') KEEP LAST PER score % 3",
    "DEDUP FUZZY ON text WITH (link = 'kept', verify = false) KEEP FIRST PER score % 3 BY score DESC, id",
    "DEDUP EXACT ON text KEEP ANY PER score % 3",
    "DEDUP LINES ON text",
    "DEDUP SENTENCES ON text WITH (span = 1, min_document_words = 0, min_document_units = 0)",
    "DEDUP SUBSTRING ON text WITH (min_length = 'tokens:30')",
    "DISTINCT ON (text)",
    "DISTINCT ON (score, words(text) % 3)",
];

#[test]
fn the_same_rows_with_any_threads_batches_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(900), &[0, 1, 2, 3, 4]);
    for method in METHODS {
        let text = format!("FROM '{}/*.jsonl' |> {method}", folder.path().display());
        let expected = rows(&text, config(1, 8192, None));
        assert!(expected.len() < 900 || method.contains("SUBSTRING") || method.contains("LINES"), "{method}");
        assert!(!expected.is_empty(), "{method}");
        for (threads, batch_rows, memory_bytes) in
            [(8, 100, Some(8 << 30)), (4, 1000, Some(256 << 20)), (2, 8192, Some(8 << 20))]
        {
            let got = rows(&text, config(threads, batch_rows, memory_bytes));
            assert!(got == expected, "{method}: {threads} threads, batches of {batch_rows}, memory {memory_bytes:?}");
        }
    }
}

/// Every file below a folder, with its bytes.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.is_file()).map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Splits of their own for the partitions, and one split that all partitions decode together.
#[test]
fn rows_that_come_in_partitions_give_the_bytes_of_one_stream() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(700), &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let (out, number) = (folder.path().join("out"), |n: usize| NonZeroUsize::new(n).unwrap());
    let more = [
        "DEDUP EXACT ON text WITH (cluster_id = 'c', kept_id = 'k', drop = false) KEEP LAST BY score",
        "DEDUP FUZZY ON text WITH (cluster_id = 'c', kept_id = 'k', similarity = 's') KEEP FIRST BY score DESC",
        "DEDUP SEMANTIC ON [score, words(text), length(text) % 7] WITH (eps = 0.001, clusters = 5)",
        "DEDUP SEMANTIC ON [score, words(text), length(text) % 7] WITH (eps = 0.001, clusters = 5, kept_id = 'k') \
         KEEP LAST PER score % 2 BY score",
    ];
    for method in METHODS.iter().chain(&more) {
        let text = format!(
            "FROM '{}/*.jsonl' |> WHERE score < 9 |> {method} |> WHERE words(text) > 10 |> INTO '{}/clean/' WITH \
             (overwrite = true, rejects = '{}/rejects')",
            folder.path().display(),
            out.display(),
            out.display()
        );
        let mut expected: Option<BTreeMap<PathBuf, Vec<u8>>> = None;
        for (threads, block_bytes, batch_bytes, memory_bytes) in [
            (1, 1 << 30, 1 << 20, 8 << 30),
            (2, 9000, 3000, 256 << 20),
            (16, 1 << 30, 2000, 8 << 30),
            (64, 5000, 2000, 256 << 20),
        ] {
            let config = Config {
                block_bytes: number(block_bytes),
                batch_bytes: number(batch_bytes),
                ..config(threads, 8192, Some(memory_bytes))
            };
            query(&text, config).unwrap();
            let files = files_below(&out);
            assert!(files.keys().any(|path| path.ends_with("dropped/part-00000.jsonl.zst")), "{files:?}");
            let expected = expected.get_or_insert_with(|| files.clone());
            assert!(*expected == files, "{method}: {threads} threads, splits of {block_bytes}");
        }
    }
}

/// Web pages of lines of which many stand on other pages too; some have no text.
fn pages(n_pages: u64) -> Vec<Value> {
    let line = |n: u64| match n % 4 {
        0 => "Home | About | Contact".to_string(),
        1 => format!("Read more about topic {} in our archive.", mixed(n) % 40),
        2 => String::new(),
        _ => format!("Line {n} says something that hardly any other page says. It has {} words.", mixed(n) % 300),
    };
    let text = |n: u64| (0..mixed(n) % 12).map(|at| line(mixed(n * 16 + at)) + "\n").collect::<String>();
    let text = |n: u64| if n % 17 == 3 { Value::Null } else { text(n).into() };
    (0..n_pages).map(|n| json!({ "id": format!("p{n}"), "score": mixed(n) % 10, "text": text(n) })).collect()
}

/// Which of equal lines is the first depends on their place in the input, whoever reads it.
#[test]
fn texts_that_come_in_partitions_are_cut_as_in_one_stream() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &pages(800), &[0, 1, 2, 3, 4]);
    let (out, number) = (folder.path().join("out"), |n: usize| NonZeroUsize::new(n).unwrap());
    let whole = "min_document_words = 0";
    for method in [
        format!("DEDUP LINES ON text WITH (min_words = 2, {whole})"),
        "DEDUP LINES ON text WITH (min_words = 2, min_document_words = 8)".to_string(),
        format!("DEDUP LINES ON text WITH (min_words = 0, span = 2, {whole}) KEEP NONE"),
        format!("DEDUP PARAGRAPHS ON text WITH (min_words = 0, {whole})"),
        format!("DEDUP SENTENCES ON text WITH (span = 1, min_document_units = 0, {whole})"),
        "DEDUP SUBSTRING ON text WITH (min_length = 'bytes:20')".to_string(),
        "DEDUP SUBSTRING ON text WITH (min_length = 'tokens:6') KEEP NONE".to_string(),
    ] {
        let text = format!(
            "FROM '{}/*.jsonl' |> WHERE score < 9 |> {method} |> INTO '{}/clean/' WITH \
             (overwrite = true, rejects = '{}/rejects')",
            folder.path().display(),
            out.display(),
            out.display()
        );
        let mut expected: Option<BTreeMap<PathBuf, Vec<u8>>> = None;
        for (threads, block_bytes, batch_bytes, memory_bytes) in [
            (1, 1 << 30, 1 << 20, 8 << 30),
            (1, 5000, 2000, 4 << 20),
            (2, 9000, 3000, 8 << 20),
            (16, 1 << 30, 2000, 8 << 30),
            (16, 5000, 2000, 16 << 20),
        ] {
            let config = Config {
                block_bytes: number(block_bytes),
                batch_bytes: number(batch_bytes),
                ..config(threads, 8192, Some(memory_bytes))
            };
            query(&text, config).unwrap();
            let files = files_below(&out);
            assert!(files.keys().any(|path| path.ends_with("dropped/part-00000.jsonl.zst")), "{files:?}");
            let expected = expected.get_or_insert_with(|| files.clone());
            assert!(*expected == files, "{method}: {threads} threads, splits of {block_bytes}, {memory_bytes} bytes");
        }
    }
}

#[test]
fn documents_stay_in_their_partitions_and_rules_after_a_dedup_run_in_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(60), &[0, 1, 2, 3]);
    let explain = |verb: &str| {
        let number = |n| NonZeroUsize::new(n).unwrap();
        let config = Config { block_bytes: number(2000), batch_bytes: number(1000), ..config(4, 100, None) };
        let text = format!("FROM '{}/*.jsonl' |> {verb} |> WHERE words(text) > score", folder.path().display());
        block_on(async {
            let mut session = Session::new(config).unwrap();
            let script = session.parse(&SourceText::new("query", text), Language::Cql).unwrap();
            let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { panic!("no query") };
            session.explain(&plan, Stage::Physical, ExplainFormat::Tree).await.unwrap()
        })
    };
    let semantic = "DEDUP SEMANTIC ON [score, words(text)] WITH (eps = 0.1)";
    let cutting = ["DEDUP LINES ON text", "DEDUP SUBSTRING ON text"];
    for verb in ["DEDUP EXACT ON text", "DEDUP FUZZY ON text", semantic].into_iter().chain(cutting) {
        let plan = explain(verb);
        let at = |node: &str| plan.find(node).unwrap_or_else(|| panic!("no {node} in {plan}"));
        assert!(at("GatherExec") < at("AnnotateExec") && at("AnnotateExec") < at("DedupExec"), "{plan}");
        assert_eq!(plan.matches("GatherExec").count(), 1, "{plan}");
    }
    let ordered = explain("ORDER BY score DESC |> DEDUP EXACT ON text");
    assert!(ordered.find("DedupExec") < ordered.find("ExternalSortExec"), "one stream in its order: {ordered}");
}

#[test]
fn with_a_key_the_order_of_files_does_not_matter() {
    let documents = documents(800);
    let mut kept: Vec<BTreeSet<String>> = vec![];
    for shards in [[0, 1, 2, 3], [3, 1, 0, 2]] {
        let folder = tempfile::tempdir().unwrap();
        write_shards(folder.path(), &documents, &shards);
        for method in ["DEDUP EXACT ON text KEEP FIRST BY id", "DEDUP FUZZY ON text KEEP LAST BY score, id"] {
            let text = format!("FROM '{}/*.jsonl' |> {method}", folder.path().display());
            kept.push(ids(&text, Config::default()).into_iter().collect());
        }
    }
    assert!(kept[0] == kept[2] && kept[1] == kept[3]);
    assert!(kept[0].len() < 800 && kept[1].len() < kept[0].len());
}

#[test]
fn keep_says_which_copy_stays() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [("a", 3, "x"), ("b", 1, "x"), ("c", 2, "x"), ("d", 9, "y"), ("e", 1, "x")];
    let lines = lines.map(|(id, n, text)| format!("{}\n", json!({ "id": id, "n": n, "text": text })));
    let file = folder.path().join("d.jsonl");
    std::fs::write(&file, lines.concat() + "{\"id\":\"f\"}\n{\"id\":\"g\"}\n").unwrap();
    // Without a text there is nothing to be a duplicate of: f and g stay.
    for (keep, expected) in [
        ("", "a d f g"),
        ("KEEP FIRST", "a d f g"),
        ("KEEP ANY", "a d f g"),
        ("KEEP LAST", "d e f g"),
        ("KEEP NONE", "d f g"),
        ("KEEP FIRST BY n", "b d f g"),
        ("KEEP LAST BY n", "a d f g"),
        ("KEEP FIRST BY n DESC", "a d f g"),
        ("KEEP LAST BY n DESC", "d e f g"),
        ("KEEP FIRST BY n, id DESC", "d e f g"),
    ] {
        let text = format!("FROM '{}' |> DEDUP EXACT ON text {keep}", file.display());
        assert_eq!(ids(&text, Config::default()).join(" "), expected, "{keep}");
    }
}

/// Windows of ten words on a line of words, in an order that looks random: neighbours are similar, the next but one are
/// not. Each with a source.
fn windows(n_documents: u64) -> Vec<Value> {
    let window = |n: u64| {
        let place = mixed(n) % 150;
        let text: Vec<String> = (place..place + 10).map(|word| format!("w{word}")).collect();
        let source = [json!("web"), json!("book"), Value::Null][(mixed(n + 99) % 3) as usize].clone();
        json!({ "id": n, "score": mixed(n + 5) % 4, "source": source, "place": place, "text": text.join(" ") })
    };
    (0..n_documents).map(window).collect()
}

/// Who stays, in plain loops over all pairs: of documents in the order in which they are preferred, one goes if it is
/// similar to one that stays (`kept`), or hangs together with one (`component`).
fn who_stays(preferred: &[&Value], link: &str, per: bool) -> BTreeSet<String> {
    let is_similar = |a: &Value, b: &Value| {
        let (a_place, b_place) = (a["place"].as_u64().unwrap(), b["place"].as_u64().unwrap());
        a_place.abs_diff(b_place) < 2 && (!per || a["source"] == b["source"])
    };
    let mut stays: Vec<&Value> = vec![];
    let mut has_gone: BTreeSet<String> = BTreeSet::new();
    for &document in preferred {
        let goes = match link {
            "kept" => stays.iter().any(|kept| is_similar(kept, document)),
            _ => has_gone.contains(&document["id"].to_string()),
        };
        if goes {
            continue;
        }
        stays.push(document);
        let mut reached = vec![document];
        while let Some(from) = reached.pop().filter(|_| link == "component") {
            for &other in preferred.iter().filter(|other| is_similar(from, other)) {
                if has_gone.insert(other["id"].to_string()) {
                    reached.push(other);
                }
            }
        }
    }
    stays.iter().map(|document| document["id"].to_string()).collect()
}

#[test]
fn who_is_linked_and_within_what_is_as_plain_loops_say() {
    let folder = tempfile::tempdir().unwrap();
    let documents = windows(160);
    write_shards(folder.path(), &documents, &[0, 1, 2]);
    let mut n_kept = BTreeSet::new();
    for (keep, per) in
        [("FIRST", false), ("LAST BY score", false), ("FIRST PER source", true), ("LAST PER source BY score", true)]
    {
        let mut preferred: Vec<&Value> = documents.iter().collect();
        if keep.starts_with("LAST") {
            preferred.sort_by_key(|document| document["score"].as_u64());
            preferred.reverse();
        }
        for link in ["kept", "component"] {
            let text = format!(
                "FROM '{}/*.jsonl' |> DEDUP FUZZY ON text WITH (threshold = 0.7, bands = 64, rows = 1, shingle = 'words:1', \
                 link = '{link}') KEEP {keep}",
                folder.path().display()
            );
            let expected = who_stays(&preferred, link, per);
            for config in [config(1, 8192, None), config(4, 7, Some(8 << 20))] {
                let got: BTreeSet<String> = ids(&text, config).into_iter().collect();
                assert_eq!(got, expected, "link {link}, KEEP {keep}");
            }
            n_kept.insert(expected.len());
        }
    }
    assert!(n_kept.len() > 4, "the ways differ: {n_kept:?}");
}

#[test]
fn with_per_each_source_keeps_what_it_would_keep_alone() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &windows(300), &[0]);
    let kept = |filter: &str, verb: &str| {
        let text = format!("FROM '{}/*.jsonl' {filter} |> {verb} |> ORDER BY id", folder.path().display());
        rows(&text, Config::default())
    };
    for (method, options) in [
        ("EXACT ON text", "cluster_size = 'n', kept_id = 'k'"),
        (
            "FUZZY ON text",
            "bands = 64, rows = 1, shingle = 'words:1', threshold = 0.7, cluster_size = 'n', kept_id = 'k'",
        ),
        (
            "FUZZY ON text",
            "hash = 'datatrove', shingle = 'words:2', bands = 20, rows = 2, cluster_size = 'n', kept_id = 'k'",
        ),
        ("SEMANTIC ON [place, 75.0]", "clusters = 1, eps = 0.001, kept_id = 'k', link = 'kept'"),
        ("SEMANTIC ON [place, 75.0]", "clusters = 1, eps = 0.001, kept_id = 'k'"),
    ] {
        let together = kept("", &format!("DEDUP {method} WITH ({options}) KEEP FIRST PER source BY score, id"));
        assert!(together.len() < 300, "{method} {options}");
        for filter in ["source = 'web'", "source = 'book'", "source IS NULL"] {
            let verb = format!("DEDUP {method} WITH ({options}) KEEP FIRST BY score, id");
            let alone = kept(&format!("|> WHERE {filter}"), &verb);
            let part: Vec<Value> = together
                .iter()
                .filter(|row| match filter {
                    "source IS NULL" => row["source"].is_null(),
                    named => row["source"].as_str().is_some_and(|source| named.contains(source)),
                })
                .cloned()
                .collect();
            assert!(!alone.is_empty());
            assert_eq!(part, alone, "{method} {options}, {filter}");
        }
    }
}

#[test]
fn added_columns_tell_the_clusters_when_nothing_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(500), &[0]);
    let text = format!(
        "FROM '{}/*.jsonl' |> DEDUP FUZZY ON text WITH (drop = false, cluster_id = 'cluster', cluster_size = 'size', \
         kept_id = 'kept', similarity = 'similarity') |> SELECT id, cluster, size, kept, similarity",
        folder.path().display()
    );
    let rows = rows(&text, Config::default());
    assert_eq!(rows.len(), 500);
    let mut clusters: BTreeMap<i64, Vec<&Value>> = BTreeMap::new();
    rows.iter().for_each(|row| clusters.entry(row["cluster"].as_i64().unwrap()).or_default().push(row));
    assert!(clusters.values().any(|rows| rows.len() > 2));
    for rows in clusters.values() {
        let kept = &rows[0]["id"];
        assert!(rows.iter().all(|row| row["size"] == json!(rows.len()) && row["kept"] == *kept));
        assert!(rows[0]["similarity"].is_null());
        assert!(rows[1..].iter().all(|row| row["similarity"].as_f64().unwrap() > 0.5), "{rows:?}");
    }
}

fn unpacked(folder: &Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "zst"));
    files.sort();
    let text =
        |path: &PathBuf| String::from_utf8(zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()).unwrap();
    files.iter().map(text).collect::<String>().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_ledger_names_the_copy_that_stayed_and_the_similarity() {
    let folder = tempfile::tempdir().unwrap();
    let all = documents(600);
    write_shards(folder.path(), &all, &[0, 1]);
    let place = folder.path().display();
    let text = format!(
        "FROM '{place}/*.jsonl' |> WHERE score < 9 |> DEDUP EXACT ON text |> DEDUP FUZZY ON text |> SELECT id \
         |> INTO '{place}/out/' WITH (rejects = '{place}/rejects/')"
    );
    query(&text, Config::default()).unwrap();
    let texts: HashMap<&str, &str> =
        all.iter().map(|row| (row["id"].as_str().unwrap(), row["text"].as_str().unwrap())).collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (book, rule) in [("dropped-2", "DEDUP EXACT ON text"), ("dropped-3", "DEDUP FUZZY ON text")] {
        let dropped = unpacked(&folder.path().join("rejects").join(book));
        assert!(!dropped.is_empty(), "{book}");
        for row in &dropped {
            let (id, kept) = (row["id"].as_str().unwrap(), row["_kept"].as_str().unwrap());
            assert_eq!(row["_rule"], rule);
            assert!(kept < id, "the first stays");
            assert_eq!(row["text"].as_str().unwrap(), texts[id], "the whole document");
            assert_eq!(rule.contains("EXACT"), texts[id] == texts[kept]);
            let similarity = row["_value"].as_f64().unwrap();
            assert!(if rule.contains("EXACT") { similarity == 1.0 } else { similarity < 1.0 && similarity > 0.5 });
            seen.insert(id.to_string());
        }
    }
    let out = rows(&format!("FROM '{place}/out/'"), Config::default());
    assert!(out.iter().all(|row| seen.insert(row["id"].as_str().unwrap().to_string())), "no document is in two places");
}

#[test]
fn a_filter_on_what_exact_dedup_compares_passes_below_it_and_below_no_other() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(300), &[0]);
    let order = |method: &str, filter: &str| {
        let text = format!("FROM '{}/*.jsonl' |> {method} |> WHERE {filter}", folder.path().display());
        let outcomes = query(&text, Config::default()).unwrap();
        let plan = outcomes.last().unwrap().optimized.clone();
        let place = |word: &str| plan.find(word).unwrap_or_else(|| panic!("no {word} in\n{plan}"));
        place("Dedup:") < place("Filter:")
    };
    assert!(order("DEDUP EXACT ON text", "words(text) > 50"), "below: each copy is judged alike");
    assert!(!order("DEDUP EXACT ON text", "score > 5"), "another copy may pass");
    assert!(!order("DEDUP EXACT ON text", "words(text) > 50 OR score > 5"));
    assert!(!order("DEDUP EXACT ON text", "random() * words(text) > 20"));
    assert!(!order("DEDUP FUZZY ON text", "words(text) > 50"), "the copy that stays may not pass");
    // The proof that it must be so: a filter first keeps another copy.
    let kept = |verbs: &str| {
        ids(&format!("FROM '{}/*.jsonl' {verbs} |> SELECT id", folder.path().display()), Config::default())
    };
    assert_eq!(
        kept("|> DEDUP EXACT ON text |> WHERE words(text) > 50"),
        kept("|> WHERE words(text) > 50 |> DEDUP EXACT ON text")
    );
    assert_ne!(
        kept("|> DEDUP FUZZY ON text |> WHERE text LIKE '%changed%'"),
        kept("|> WHERE text LIKE '%changed%' |> DEDUP FUZZY ON text")
    );
}

#[test]
fn a_new_crawl_against_the_index_keeps_what_both_at_once_would() {
    for method in ["EXACT ON text", "FUZZY ON text WITH (verify = false)"] {
        let folder = tempfile::tempdir().unwrap();
        write_shards(folder.path(), &documents(900), &[0, 1, 2]);
        let place = folder.path().display();
        let against = |shard: &str, mode: &str| {
            let dedup = format!("FROM '{place}/{shard}' |> DEDUP {method} AGAINST INDEX '{place}/index' {mode}");
            written_ids(&dedup, folder.path(), Config::default())
        };
        let at_once = ids(&format!("FROM '{place}/*.jsonl' |> DEDUP {method}"), Config::default());
        let mut kept = against("000.jsonl", "APPEND");
        let again = against("000.jsonl", "READ ONLY");
        assert!(again.is_empty(), "{method}: all of it is in the index now");
        let preview = against("001.jsonl", "READ ONLY");
        let second = against("001.jsonl", "");
        assert_eq!(preview, second, "{method}: reading changes nothing");
        kept.extend(second);
        kept.extend(against("002.jsonl", "APPEND"));
        assert_eq!(kept, at_once, "{method}");
    }
}

#[test]
fn a_run_that_fails_adds_nothing_to_the_index() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(50), &[0]);
    let place = folder.path().display();
    let dedup = format!("FROM '{place}/000.jsonl' |> DEDUP EXACT ON text AGAINST INDEX '{place}/index'");
    let failing = format!("{dedup} |> SELECT CAST(id AS BIGINT) AS id |> INTO '{place}/failed/'");
    query(&failing, Config::default()).map(drop).unwrap_err();
    let kept = written_ids(&dedup, folder.path(), Config::default());
    assert!(kept.len() > 30, "nothing of it was seen before");
    assert!(ids(&dedup, Config::default()).is_empty());
    assert_eq!(written_ids(&dedup, folder.path(), Config::default()), kept, "the same run again");
    let error = query(&dedup.replace("EXACT ON text", "FUZZY ON text"), Config::default()).map(drop).unwrap_err();
    assert!(error.to_string().contains("exact"), "{error}");
    assert_eq!(error.exit_code(), 1);
}

#[test]
fn texts_of_any_layout_and_names_of_any_type_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.jsonl");
    let line = |n: u64, text: &str| format!("{}\n", json!({ "id": { "n": n }, "text": text }));
    let twice = "one two three four five six seven";
    std::fs::write(&file, line(1, twice) + &line(2, twice) + &line(3, "not the same as the others at all")).unwrap();
    for layout in ["Utf8", "LargeUtf8", "Utf8View"] {
        for verb in ["EXACT", "FUZZY", "LINES", "SUBSTRING"] {
            let text = format!(
                "FROM '{}' |> SET text = arrow_cast(text, '{layout}') |> DEDUP {verb} ON text \
                 WITH ({}) |> SELECT text, arrow_typeof(text) AS layout",
                file.display(),
                if verb == "SUBSTRING" { "min_length = 'bytes:20'" } else { "documents = 3" },
            );
            let kept = rows(&text, Config::default());
            assert_eq!(kept.len(), 2, "{verb} of {layout}: {kept:?}");
            assert!(kept.iter().all(|row| row["layout"] == layout), "{verb}: {kept:?}");
        }
    }
    let text = format!(
        "FROM '{}' |> DEDUP EXACT ON text WITH (drop = false, kept_id = 'kept') |> SELECT kept",
        file.display()
    );
    let kept = rows(&text, Config::default());
    assert_eq!(kept[1]["kept"], kept[0]["kept"]);
    assert_ne!(kept[2]["kept"], kept[0]["kept"]);
}

#[test]
fn an_index_gets_all_rows_also_when_a_limit_stops_the_output() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(600), &[0]);
    let place = folder.path().display();
    let dedup = format!("FROM '{place}/000.jsonl' |> DEDUP EXACT ON text AGAINST INDEX '{place}/index'");
    assert_eq!(written_ids(&format!("{dedup} |> LIMIT 1"), folder.path(), config(1, 10, None)).len(), 1);
    assert!(ids(&dedup, Config::default()).is_empty(), "all of it was seen");
}

#[test]
fn the_ledger_has_documents_and_not_the_other_side_of_a_join() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(60), &[0]);
    let place = folder.path().display();
    let text = format!(
        "FROM '{place}/000.jsonl' |> JOIN (FROM '{place}/000.jsonl' |> DEDUP EXACT ON text |> SELECT id AS other) \
         ON id = other |> DEDUP EXACT ON text |> SELECT id |> INTO '{place}/out/' WITH (rejects = '{place}/rejects/')"
    );
    query(&text, Config::default()).unwrap();
    let names = std::fs::read_dir(folder.path().join("rejects")).unwrap().map(|entry| entry.unwrap().file_name());
    let books = names.filter(|name| name.to_string_lossy().starts_with("dropped")).count();
    assert!(books <= 1, "only the documents' own DEDUP has a book");
}

#[test]
fn the_order_before_a_dedup_decides_though_nothing_after_it_needs_the_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut best: HashMap<u64, (u64, u64)> = HashMap::new();
    for file in 0..4 {
        let mut lines = String::new();
        for n in file * 10_000..(file + 1) * 10_000 {
            let (key, score) = (mixed(n) % 4000, mixed(n + 1_000_000));
            lines += &format!("{}\n", json!({"k": format!("k{key}"), "score": score, "n": n}));
            let first = best.entry(key).or_insert((score, n));
            if score > first.0 {
                *first = (score, n);
            }
        }
        std::fs::write(folder.path().join(format!("{file}.jsonl")), lines).unwrap();
    }
    let expected = best.values().map(|(_, n)| n).sum::<u64>();
    for (verb, threads) in
        [("DEDUP EXACT ON k", 1), ("DEDUP EXACT ON k", 4), ("DEDUP FUZZY ON k", 4), ("DISTINCT ON (k)", 4)]
    {
        let text = format!(
            "FROM '{}/*.jsonl' |> ORDER BY score DESC |> {verb} |> AGGREGATE sum(n) AS n",
            folder.path().display()
        );
        assert_eq!(rows(&text, config(threads, 1000, None)), [json!({"n": expected})], "{verb}, {threads} threads");
    }
}

#[test]
fn sorting_afterwards_changes_neither_a_sample_nor_which_copy_stays() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path(), &documents(400), &[0, 1, 2]);
    for verb in ["SAMPLE 20 ROWS SEED 3", "SAMPLE 10 PERCENT SEED 3", "DEDUP EXACT ON text", "DEDUP FUZZY ON text"] {
        let text = format!("FROM '{}/*.jsonl' |> {verb}", folder.path().display());
        let before: BTreeSet<String> = ids(&text, config(4, 50, None)).into_iter().collect();
        let sorted = format!("{text} |> ORDER BY score DESC, id");
        let after: BTreeSet<String> = ids(&sorted, config(4, 50, None)).into_iter().collect();
        assert_eq!(before, after, "{verb}");
    }
}

/// Golden pairs: every pair of 5,000 documents with a word-5-gram Jaccard of at least 0.5.
#[test]
fn fuzzy_dedup_finds_the_golden_pairs_and_merges_no_others() {
    let named = std::env::var_os("CURATOR_GOLDEN").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root().join("../shared/data/golden"));
    if !folder.join("dedup_docs.jsonl.gz").exists() {
        let told = writeln!(std::io::stderr(), "SKIPPED: no golden pairs; name their folder in CURATOR_GOLDEN");
        assert!(told.is_ok());
        return;
    }
    let place = folder.display();
    let pairs = rows(&format!("FROM '{place}/dedup_pairs.jsonl.gz' |> SELECT id_a, id_b, j_word5"), Config::default());
    let clusters_of = |options: &str| -> HashMap<String, i64> {
        let text = format!(
            "FROM '{place}/dedup_docs.jsonl.gz' |> DEDUP FUZZY ON text WITH (drop = false, cluster_id = 'cluster'{options}) \
             |> SELECT id, cluster"
        );
        let rows = rows(&text, Config::default());
        rows.iter().map(|row| (row["id"].as_str().unwrap().to_string(), row["cluster"].as_i64().unwrap())).collect()
    };
    let name = |row: &Value, column: &str| row[column].as_str().unwrap().to_string();
    let similar: Vec<(String, String, f64)> =
        pairs.iter().map(|row| (name(row, "id_a"), name(row, "id_b"), row["j_word5"].as_f64().unwrap())).collect();
    let wanted: Vec<_> = similar.iter().filter(|(_, _, jaccard)| *jaccard >= 0.8).collect();
    let expected: f64 = wanted.iter().map(|(_, _, jaccard)| 1.0 - (1.0 - jaccard.powi(8)).powi(14)).sum::<f64>();
    for options in ["", ", verify = false"] {
        let clusters = clusters_of(options);
        let found = wanted.iter().filter(|(a, b, _)| clusters[a] == clusters[b]).count();
        // Five standard deviations below what the S-curve gives for these pairs.
        let least = expected - 5.0 * (wanted.len() as f64 - expected).max(1.0).sqrt();
        assert!(found as f64 >= least, "{found} of {} pairs, expected {expected:.0}{options}", wanted.len());
    }
    // Every verified cluster hangs together by pairs of at least 0.8: each row but its first has such a partner in it.
    let clusters = clusters_of("");
    let mut partners: HashMap<&str, Vec<&str>> = HashMap::new();
    for (a, b, _) in &wanted {
        partners.entry(a).or_default().push(b);
        partners.entry(b).or_default().push(a);
    }
    // Documents of fewer than five words have no 5-grams and are not among the pairs; with us, equal ones are equal.
    let texts =
        rows(&format!("FROM '{place}/dedup_docs.jsonl.gz' |> SELECT id, lower(text) AS text"), Config::default());
    let mut short: HashMap<Vec<&str>, &str> = HashMap::new();
    for row in &texts {
        let (id, text) = (row["id"].as_str().unwrap(), row["text"].as_str().unwrap());
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let words: Vec<&str> = words.take(5).collect();
        if words.len() < 5
            && let Some(first) = short.insert(words, id)
        {
            partners.entry(first).or_default().push(id);
            partners.entry(id).or_default().push(first);
        }
    }
    let mut members: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    clusters.iter().for_each(|(id, cluster)| members.entry(*cluster).or_default().push(id));
    for members in members.values().filter(|members| members.len() > 1) {
        let mut reached: BTreeSet<&str> = BTreeSet::from([members[0]]);
        let mut waiting = vec![members[0]];
        while let Some(id) = waiting.pop() {
            let next = partners.get(id).into_iter().flatten().filter(|other| clusters[**other] == clusters[id]);
            waiting.extend(next.filter(|other| reached.insert(other)));
        }
        assert_eq!(reached.len(), members.len(), "a false merge: {members:?}");
    }
}
