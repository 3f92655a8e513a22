//! Crawl after crawl against an index, beside all of them at once; and what the ledger says stayed.

use super::harness::{block_on, run};
use curator::Config;
use curator::diag::SourceText;
use curator::{Language, Session};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;

fn rows(text: &str, config: Config) -> Vec<Value> {
    let source = SourceText::new("query", text);
    let outcomes = block_on(async { run(&mut Session::new(config).unwrap(), &source, Language::Cql).await }).unwrap();
    outcomes.last().unwrap().rows().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(folder: &Path, name: &str, documents: &[Value]) {
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    std::fs::write(folder.join(name), lines).unwrap();
}

/// What became of each document of a file: its id and the id of the one that stayed for it.
fn decisions(
    folder: &Path,
    file: &str,
    verb: &str,
    options: &str,
    index: &str,
    config: Config,
) -> Vec<(String, String)> {
    let place = folder.display();
    // Only what is written is added to an index.
    let text = format!(
        "FROM '{place}/{file}' |> {verb} WITH (drop = false, kept_id = 'kept'{options}) {}|> SELECT id, kept \
         |> INTO '{place}/decisions.out' WITH (format = 'jsonl', overwrite = true); FROM '{place}/decisions.out' WITH (format = 'jsonl')",
        index.replace("INDEX '", &format!("INDEX '{place}/"))
    );
    let text_of = |row: &Value, name: &str| row[name].as_str().unwrap().to_string();
    rows(&text, config).iter().map(|row| (text_of(row, "id"), text_of(row, "kept"))).collect()
}

fn kept(decisions: &[(String, String)]) -> BTreeSet<String> {
    decisions.iter().filter(|(id, kept)| id == kept).map(|(id, _)| id.clone()).collect()
}

/// Directions at right angles, and near copies of them.
fn with_vectors(n_documents: usize) -> Vec<Value> {
    let direction = |n: usize| if n % 3 == 2 { n * 7 % 40 } else { n * 11 % 64 };
    let value = |n: usize, at: usize| {
        let noise = ((n * 31 + at * 17) % 13) as f64 / 4000.0;
        if at == direction(n) { 1.0 + noise } else { noise }
    };
    let vector = |n: usize| (0..64).map(|at| value(n, at)).collect::<Vec<f64>>();
    (0..n_documents).map(|n| json!({ "id": format!("d{n:04}"), "vector": vector(n) })).collect()
}

#[test]
fn vectors_of_a_new_crawl_are_held_against_those_that_stayed() {
    let documents = with_vectors(300);
    let verb = "DEDUP SEMANTIC ON vector";
    let tight = Config {
        threads: NonZeroUsize::new(3).unwrap(),
        batch_rows: NonZeroUsize::new(17).unwrap(),
        memory_limit_bytes: Some(16 << 20),
        ..Config::default()
    };
    let mut seen = Vec::new();
    for config in [Config::default(), tight] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write(folder, "all.jsonl", &documents);
        let options = ", clusters = 5, threshold = 0.98";
        let keep = "KEEP FIRST BY id ";
        let at_once = decisions(folder, "all.jsonl", verb, options, keep, config.clone());
        assert!(kept(&at_once).len() == 64, "one of each direction");
        let mut one_by_one = Vec::new();
        for (number, part) in documents.chunks(100).enumerate() {
            let file = format!("{number}.jsonl");
            write(folder, &file, part);
            let read_only = format!("{keep}AGAINST INDEX 'seen' READ ONLY ");
            let preview = (number > 0).then(|| decisions(folder, &file, verb, options, &read_only, config.clone()));
            let appending = format!("{keep}AGAINST INDEX 'seen' ");
            let found = decisions(folder, &file, verb, options, &appending, config.clone());
            assert!(preview.is_none_or(|preview| preview == found), "reading changes nothing");
            one_by_one.extend(found);
        }
        assert_eq!(kept(&one_by_one), kept(&at_once));
        assert!(one_by_one.iter().all(|(_, stayed)| kept(&at_once).contains(stayed)), "who is named stayed");
        seen.push(one_by_one);
    }
    assert_eq!(seen[0], seen[1]);
}

/// Words `from..to` of a text that never repeats.
fn words(from: u64, to: u64) -> String {
    (from..to).map(|n| format!("w{}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)).collect::<Vec<_>>().join(" ")
}

fn document(id: &str, text: String) -> Value {
    json!({ "id": id, "text": text })
}

#[test]
fn the_ledger_names_who_stayed_also_when_only_a_dropped_one_is_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // A text that drifts on, four words at a time: neighbours are alike, the ends are not.
    let drifting: Vec<Value> = (0..12).map(|n| document(&format!("d{n}"), words(4 * n, 4 * n + 100))).collect();
    let verb = "DEDUP FUZZY ON text";
    let parts = [("0.jsonl", &drifting[..5]), ("1.jsonl", &drifting[5..9]), ("2.jsonl", &drifting[9..])];
    parts.iter().for_each(|(file, part)| write(folder, file, part));
    write(folder, "all.jsonl", &drifting);
    let [chained, apart] = ["component", "kept"].map(|link| {
        let index = format!("AGAINST INDEX 'seen {link}' ");
        let options = format!(", verify = false, link = '{link}'");
        let run = |(file, _): &(&str, _)| decisions(folder, file, verb, &options, &index, Config::default());
        let found: Vec<_> = parts.iter().flat_map(run).collect();
        assert_eq!(found, decisions(folder, "all.jsonl", verb, &options, "", Config::default()), "{link}");
        found
    });
    assert!(chained.iter().all(|(_, stayed)| stayed == "d0"), "{chained:?}");
    assert!(kept(&apart).len() > 1 && kept(&apart).len() < 6, "who is like dropped ones alone stays: {apart:?}");
    write(folder, "last.jsonl", &drifting[11..]);
    let alone = decisions(folder, "last.jsonl", verb, ", verify = false", "", Config::default());
    assert_eq!(alone, [("d11".to_string(), "d11".to_string())]);
}

#[test]
fn what_was_published_stays_when_a_later_document_links_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (left, right) = (words(0, 100), words(1000, 1100));
    let both = format!("{left} {right}");
    write(folder, "0.jsonl", &[document("left", left.clone()), document("right", right.clone())]);
    write(folder, "1.jsonl", &[document("both", both.clone())]);
    write(folder, "2.jsonl", &[document("left again", left), document("right again", right), document("more", both)]);
    let verb = "DEDUP FUZZY ON text";
    let options = ", bands = 60, rows = 3, link = 'component'";
    let index = "AGAINST INDEX 'seen' ";
    let runs =
        ["0.jsonl", "1.jsonl", "2.jsonl"].map(|file| decisions(folder, file, verb, options, index, Config::default()));
    let named =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(id, kept)| (id.to_string(), kept.to_string())).collect::<Vec<_>>();
    assert_eq!(runs[0], named(&[("left", "left"), ("right", "right")]));
    // The one difference to all at once, where `right` goes too.
    assert_eq!(runs[1], named(&[("both", "left")]));
    assert!(runs[2].iter().all(|(_, stayed)| stayed == "left" || stayed == "right"), "{:?}", runs[2]);
    let at_once = decisions(folder, "*.jsonl", verb, &format!("{options}, verify = false"), "", Config::default());
    assert_eq!(kept(&at_once), BTreeSet::from(["left".to_string()]));
}

#[test]
fn chance_is_asked_where_the_query_says() {
    let folder = tempfile::tempdir().unwrap();
    let documents: Vec<Value> = (0..200).map(|n| document(&format!("d{n}"), "the same text".to_string())).collect();
    write(folder.path(), "copies.jsonl", &documents);
    let place = folder.path().display();
    let count = |verb: &str| {
        let text = format!("FROM '{place}/copies.jsonl' |> {verb} |> WHERE random() < 0.5 |> SELECT id");
        rows(&text, Config::default()).len()
    };
    // One copy is left, and it goes every other time. Asked before, a hundred copies would be there for one to be left.
    let n_kept: usize = (0..24).map(|_| count("DEDUP EXACT ON text")).sum();
    assert!((1..24).contains(&n_kept), "{n_kept} of 24");
    assert!(count("SAMPLE 60 ROWS") < 60);
}
