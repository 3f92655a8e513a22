//! Where operators of plans are placed on three machines, and why: the golden file `tests/plans/placed.snap`.
//!
//! Estimates from profiles alone: the same on every machine, with or without a GPU.

use super::curator;
use super::documents::json_lines;
use std::path::PathBuf;

/// Plans by name.
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
        "EXTEND words(text) AS w, word_entropy(text) AS e |> WHERE w > 50 |> SELECT id, w * 2 AS w2, e",
    ),
    (
        "signatures",
        "EXTEND minhash(text, hash => 'nemo', shingle => 'chars:24', normalize => 'none') AS m |> SELECT id, m",
    ),
    ("fuzzy_duplicates", "WHERE words(text) > 50 |> DEDUP FUZZY ON text"),
    ("aggregation", "AGGREGATE avg(word_entropy(text)) AS entropy, count(*) AS n"),
    ("a_rule_that_may_fail", "WHERE 10 / n > 2 AND word_entropy(text) > 2"),
];

/// A folder of many names for one file: about a gigabyte by its size, and quick to make. Nothing of it is run.
fn large_source() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("placed");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let first = folder.join("000.jsonl");
    std::fs::write(&first, json_lines(6_000, 3)).unwrap();
    for number in 1..400 {
        std::fs::hard_link(&first, folder.join(format!("{number:03}.jsonl"))).unwrap();
    }
    folder
}

#[test]
fn placements_are_what_the_golden_files_say() {
    let folder = large_source();
    let mut text = String::new();
    for (name, verbs) in PLANS {
        for profile in ["t4", "a100-40gb", "h100-sxm"] {
            let query = format!("SET sample_bytes = '100kB'; FROM '{}/*.jsonl' |> {verbs}", folder.display());
            let arguments = ["explain", "--stage", "placed", "--profile", profile, "--threads", "16", "-e", &query];
            let plan = curator(&arguments, None).ok().replace(&folder.display().to_string(), "crawl");
            text.push_str(&format!("== {name} on {profile}\n{plan}\n"));
        }
    }
    insta::with_settings!({ snapshot_path => "../../plans", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("placed", text);
    });
}
