//! Where operators of plans are placed on three machines, and why: golden files in `tests/plans/placed/`.
//!
//! Estimates from profiles alone: the same on every machine, with or without a GPU.

use super::super::harness::root;
use super::curator;

/// Plans by name. Every one reads the same large table that is not there: rows are estimated.
const PLANS: &[(&str, &str)] = &[
    ("one_cheap_statistic", "WHERE words(text) > 50"),
    ("one_dear_statistic", "WHERE duplicate_ngram_char_ratio(text, 5) < 0.2"),
    ("long_chain", "WHERE gopher_quality(text) AND gopher_repetition(text)"),
    ("cpu_only", "WHERE compression_ratio(text) < 3"),
    (
        "cpu_only_in_the_middle",
        "WHERE words(text) > 50 AND compression_ratio(text) < 3 AND duplicate_ngram_char_ratio(text, 5) < 0.2",
    ),
    ("rewritten_text_first", "SET text = fix_unicode(text) |> WHERE gopher_repetition(text)"),
    ("forced_to_the_gpu", "WHERE words(text) > 50 ON GPU"),
    ("forced_to_the_cpu", "WHERE duplicate_ngram_char_ratio(text, 5) < 0.2 ON CPU"),
    ("shares", "WHERE gopher_repetition(text) ON GPU WITH (gpus = 0.25, gpu_memory = '2GB', batch_size = 4096)"),
    (
        "computed_columns",
        "EXTEND words(text) AS n, word_entropy(text) AS e |> WHERE n > 50 |> SELECT id, n * 2 AS n2, e",
    ),
    (
        "signatures",
        "EXTEND minhash(text, hash => 'nemo', shingle => 'chars:24', normalize => 'none') AS m |> SELECT id, m",
    ),
    ("fuzzy_duplicates", "WHERE words(text) > 50 |> DEDUP FUZZY ON text"),
    ("aggregation", "AGGREGATE avg(word_entropy(text)) AS entropy, count(*) AS n"),
    ("words_may_fail", "WHERE CAST(id AS BIGINT) > 0 AND word_entropy(text) > 2"),
];

#[test]
fn placements_are_what_the_golden_files_say() {
    let documents = root().join("tests/corpus/data/docs.jsonl");
    let mut text = String::new();
    // A million documents of what the small file has: estimates need a table of some size, not its rows.
    let source = format!("(FROM '{}' |> CROSS JOIN (FROM range(0, 100000)))", documents.display());
    for (name, verbs) in PLANS {
        for profile in ["t4", "a100-40gb", "h100-sxm"] {
            let query = format!("FROM {source} |> {verbs}");
            let arguments = ["explain", "--stage", "placed", "--profile", profile, "--threads", "16", "-e", &query];
            let plan = curator(&arguments, None).ok().replace(&root().display().to_string(), "");
            text.push_str(&format!("== {name} on {profile}\n{plan}\n"));
        }
    }
    insta::with_settings!({ snapshot_path => "../../plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("placed", text);
    });
}
