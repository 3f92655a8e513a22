//! What EXPLAIN ANALYZE says went over to a device is what the driver saw, and a chain is one launch.

use super::documents;
use super::standin::Standin;
use super::{nvrtc, on_gpu};
use curator::internals::device_tables;

/// `copies 3  12.0 MB (12000123 bytes)` of the transfer that goes this way.
fn copies(text: &str, way: &str) -> (u64, u64) {
    let mut sum = (0, 0);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.contains(&format!("ToBackendExec: {way}")) {
            continue;
        }
        let counted = lines.next().unwrap();
        let words: Vec<&str> = counted.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "copies").unwrap();
        sum.0 += words[at + 1].parse::<u64>().unwrap();
        let bytes = counted.split('(').nth(1).unwrap();
        sum.1 += bytes.split(' ').next().unwrap().parse::<u64>().unwrap();
    }
    sum
}

#[test]
fn copies_in_explain_are_those_that_the_driver_saw() {
    let file = documents::short_file().to_string_lossy().into_owned();
    let queries = [
        format!("FROM '{file}' |> WHERE words(text) > 3 |> SELECT id, alpha_ratio(text) AS alpha"),
        // One that no kernel computes in the middle: two segments, or one beside it.
        format!(
            "FROM '{file}' |> WHERE words(text) > 3 AND compression_ratio(text) < 9 \
             AND top_ngram_char_ratio(text) < 5 |> SELECT id"
        ),
        format!("FROM '{file}' |> AGGREGATE sum(words(text)) AS n, avg(digit_ratio(text)) AS digits"),
    ];
    for query in queries {
        for threads in ["1", "3"] {
            let standin = Standin::new();
            let text = on_gpu(&format!("EXPLAIN ANALYZE {query}"), &standin, &["--threads", threads]).ok();
            let counters = standin.counters();
            let (into, back) = (copies(&text, "gpu ← cpu"), copies(&text, "cpu ← gpu"));
            assert!(into.0 > 0, "{text}");
            // Once for each device, the operators' tables go over, too.
            let tables_bytes = device_tables().len() as u64;
            assert_eq!((counters.copies_in - 1, counters.bytes_in - tables_bytes), into, "{text}");
            assert_eq!((counters.copies_out, counters.bytes_out), back, "{text}");
        }
    }
}

#[test]
fn a_fused_chain_is_one_launch() {
    if nvrtc().is_none() {
        return;
    }
    let file = documents::short_file().to_string_lossy().into_owned();
    let mut rules = vec![];
    for k in ["words(text) > 1", "alpha_ratio(text) > 0.01", "lines(text) < 900", "top_ngram_char_ratio(text) < 9"] {
        rules.push(k);
        let query =
            format!("FROM '{file}' |> WHERE {} |> SELECT id, chars(text) + words(text) AS c", rules.join(" AND "));
        let standin = Standin::new();
        on_gpu(&query, &standin, &["--threads", "1"]).ok();
        assert_eq!(standin.counters().launches, 1, "{query}");
    }
}
