//! Random chains of operators, arithmetic and rules, fused into one kernel each: the same rows as on the CPU.

use super::documents::{self, Random};
use super::standin::Standin;
use super::{assert_no_mistakes, nvrtc, on_cpu, on_gpu};
use std::path::Path;

const N_CHAINS: usize = 220;

/// Statistics with a number for a result.
const INTEGERS: &[&str] = &[
    "words(text)",
    "chars(text)",
    "lines(text)",
    "newlines(text)",
    "paragraphs(text)",
    "longest_word(text)",
    "longest_line(text)",
    "sentences(text)",
    "median_word_length(text)",
    "n",
    "non_symbol_words(text)",
];
const FLOATS: &[&str] = &[
    "alpha_ratio(text)",
    "digit_ratio(text)",
    "whitespace_ratio(text)",
    "mean_word_length(text)",
    "punctuation_ratio(text)",
    "symbol_to_word_ratio(text)",
    "duplicate_line_ratio(text)",
    "x",
    "top_ngram_char_ratio(text, 2)",
    "duplicate_ngram_char_ratio(text, 5)",
    "unique_word_ratio(text)",
    "uppercase_ratio(text)",
    "mean_line_length(text)",
    "url_ratio(text)",
];
const TRUTHS: &[&str] = &["has_curly_bracket(text)", "has_javascript(text)", "has_lorem_ipsum(text)", "flag"];

fn integer(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => format!("{}", random.below(200) as i64 - 50),
        1..4 => random.of(INTEGERS).to_string(),
        4 => format!("({} + {})", integer(random, depth - 1), integer(random, depth - 1)),
        5 => format!("({} - {})", integer(random, depth - 1), integer(random, depth - 1)),
        6 => format!("({} * {})", integer(random, depth - 1), integer(random, depth - 1)),
        _ => format!("CASE WHEN {} THEN {} ELSE {} END", truth(random, 0), integer(random, 0), integer(random, 0)),
    }
}

fn float(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => format!("{:.2}", random.below(300) as f64 / 100.0 - 1.0),
        1..4 => random.of(FLOATS).to_string(),
        4 => format!("({} + {})", float(random, depth - 1), float(random, depth - 1)),
        5 => format!("({} * {})", float(random, depth - 1), float(random, depth - 1)),
        6 => format!("({} / {})", float(random, depth - 1), float(random, depth - 1)),
        _ => format!("CAST({} AS DOUBLE)", integer(random, depth - 1)),
    }
}

fn truth(random: &mut Random, depth: usize) -> String {
    let compare = *random.of(&[&"<", &"<=", &">", &">=", &"=", &"<>"]);
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => random.of(TRUTHS).to_string(),
        1 => format!("{} {compare} {}", integer(random, depth.min(1)), integer(random, 0)),
        2 => format!("{} {compare} {}", float(random, depth.min(1)), float(random, 0)),
        3 => format!("{} BETWEEN {} AND {}", integer(random, 0), integer(random, 0), integer(random, 0)),
        4 => format!("({} AND {})", truth(random, depth - 1), truth(random, depth - 1)),
        5 => format!("({} OR {})", truth(random, depth - 1), truth(random, depth - 1)),
        6 => format!("NOT ({})", truth(random, depth - 1)),
        _ => format!("({}) IS NULL", float(random, 0)),
    }
}

/// The verbs of a pipeline of some rules and computed columns.
fn chain(random: &mut Random) -> String {
    let mut text = String::new();
    let mut columns = vec!["id".to_string()];
    for number in 0..2 + random.below(4) {
        match random.below(4) {
            0 => text.push_str(&format!(" |> WHERE coalesce({}, true)", truth(random, 2))),
            1 => {
                text.push_str(&format!(" |> EXTEND {} AS a{number}", integer(random, 2)));
                columns.push(format!("a{number}"));
            }
            2 => {
                text.push_str(&format!(" |> EXTEND {} AS b{number}", float(random, 2)));
                columns.push(format!("b{number}"));
            }
            _ => {
                text.push_str(&format!(" |> EXTEND {} AS c{number}", truth(random, 2)));
                columns.push(format!("c{number}"));
            }
        }
    }
    format!("{text} |> EXTEND words(text) AS words_of |> SELECT {}, words_of;\n", columns.join(", "))
}

fn chains() -> Vec<String> {
    let mut random = Random(7);
    (0..N_CHAINS).map(|_| chain(&mut random)).collect()
}

/// Runs the chains over a file on both sides, some in a process, and compares the rows. Gives the number of chains that a
/// device ran.
fn compare(chains: &[String], file: &Path, standin: &Standin, at_a_time: usize) -> usize {
    let mut n_run = 0;
    let query = |chain: &String| format!("FROM '{}'{chain}", file.display());
    for some in chains.chunks(at_a_time) {
        let queries: String = some.iter().map(query).collect();
        let (device, cpu) = (on_gpu(&queries, standin, &["--require", "gpu"]).ok(), on_cpu(&queries, &[]));
        assert_no_mistakes(standin);
        // A condition that is false whatever the row leaves nothing to run.
        let explained: String = some.iter().map(|chain| format!("EXPLAIN {}", query(chain))).collect();
        let n_chains = some.len() - on_cpu(&explained, &[]).matches("EmptyExec").count();
        let launches = standin.counters().launches;
        assert!(launches >= n_chains as u64, "{launches} launches for {n_chains} chains");
        n_run += n_chains;
        if device == cpu {
            continue;
        }
        for one in some.iter().map(query) {
            let (device, cpu) = (on_gpu(&one, standin, &[]).ok(), on_cpu(&one, &[]));
            let different = device.lines().zip(cpu.lines()).find(|(device, cpu)| device != cpu);
            assert!(device == cpu, "{one}\n{different:#?}");
        }
    }
    n_run
}

#[test]
fn random_fused_chains_equal_the_cpu() {
    if nvrtc().is_some() {
        assert!(compare(&chains(), documents::short_file(), &Standin::new(), 55) >= 200);
    }
}

/// The same with blocks, warps and streams in another order, which a device may choose as it likes.
#[test]
fn the_order_of_blocks_and_warps_changes_nothing() {
    if nvrtc().is_some() {
        for (seed, some) in chains().chunks(20).take(3).enumerate() {
            compare(some, documents::short_file(), &Standin::new().set("SEED", seed + 1), 20);
        }
    }
}

/// The same chains on documents of a megabyte.
#[test]
fn random_fused_chains_equal_the_cpu_on_long_documents() {
    if nvrtc().is_some() {
        assert!(compare(&chains(), documents::long_file(), &Standin::new(), 22) >= 200);
    }
}

/// Plans that are cut in odd places: constants, texts that a device makes, lists with lambdas, limits.
#[test]
fn odd_plans_equal_the_cpu() {
    let file = documents::short_file().to_string_lossy().into_owned();
    let verbs = [
        "SELECT id, words(text) AS n, 'abc' AS lit, CAST(7 AS INT) AS seven, NULL AS nothing",
        "SELECT id, content_hash(text) AS h |> SELECT id, chars(h) AS n",
        "WHERE content_hash(text) IS NOT NULL AND chars(content_hash(text)) > 3 |> SELECT id",
        "EXTEND upper(text) AS loud |> WHERE words(loud) > 3 AND compression_ratio(text) < 9 |> SELECT id, lines(loud) AS l",
        "WHERE words(text) > 2 |> LIMIT 50 |> SELECT id, chars(text) AS c",
        "WHERE words(text) > 100000 |> SELECT id, chars(text) AS c",
        "SELECT id, minhash(text, 16) AS m, minhash_bands(text) AS b",
        "EXTEND words(text) + 1 AS w |> WHERE w > 5 |> AGGREGATE count(*) AS n, sum(w) AS s GROUP BY flag |> ORDER BY s",
        "WHERE words(text) > 3 |> DEDUP FUZZY ON text |> SELECT id",
        "JOIN (FROM '{}' |> SELECT id AS other, words(text) AS w) AS o ON id = other |> WHERE w > 3 |> SELECT id, w",
    ];
    let standin = Standin::new();
    let query: String = verbs.map(|verbs| format!("FROM '{file}' |> {};\n", verbs.replace("{}", &file))).concat();
    let (device, cpu) = (on_gpu(&query, &standin, &[]).ok(), on_cpu(&query, &[]));
    let different = device.lines().zip(cpu.lines()).find(|(device, cpu)| device != cpu);
    assert!(device == cpu, "{different:#?}");
    assert_no_mistakes(&standin);
}
