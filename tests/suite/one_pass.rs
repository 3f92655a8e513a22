//! Computing the statistics of a query together changes nothing: random documents, random operators, random rules.

use super::harness::{Outcome, block_on, read, run};
use curator::Config;
use curator::diag::SourceText;
use curator::ops::{Registry, Returns};
use curator::{Compiled, ExplainFormat, Language, Session, Stage};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config as Runs, RngAlgorithm, TestRng, TestRunner};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;

const N_DOCUMENTS: usize = 10_000;
const N_QUERIES: usize = 12;
const OPERATORS_PER_QUERY: usize = 14;

/// Pieces that operators look for, beside any Unicode: words that repeat, marks, lines, addresses, damage.
fn document() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,8}",
        2 => prop::sample::select(vec!["the", "of", "and", "a", "b", "a b", "the end of the", "lorem ipsum"]).prop_map(String::from),
        2 => prop::sample::select(vec![" ", "  ", "\n", "\n\n", "\r\n", "\t", "\u{1c}", "\u{a0}", "\u{2028}", "\u{3000}"]).prop_map(String::from),
        1 => prop::sample::select(vec![
            "#", "...", "…", "•", "- ", "{", "}", "(", "\"", "?", "http://x.org/a?b=1", "javascript", "terms of use",
            "read more", "cookie policy", "Ã©", "&amp;", "[1]", "me@x.org", "192.168.0.1", "**b**", "_i_",
        ]).prop_map(String::from),
        1 => "\\PC{1,6}",
        1 => any::<char>().prop_map(String::from),
        1 => "[0-9]{1,5}",
    ];
    let spaced = (piece, prop::bool::weighted(0.6)).prop_map(|(piece, space)| if space { piece + " " } else { piece });
    prop_oneof![
        30 => prop::collection::vec(spaced.clone(), 0..40).prop_map(|pieces| pieces.concat()),
        // The same again and again.
        3 => (prop::collection::vec(spaced, 1..6), 2..12_usize).prop_map(|(pieces, n)| pieces.concat().repeat(n)),
        1 => Just(String::new()),
    ]
}

fn write_documents(runner: &mut TestRunner, path: &Path) {
    let strategy = prop::option::weighted(0.98, document());
    let mut text = String::new();
    for id in 0..N_DOCUMENTS {
        let document = strategy.new_tree(runner).unwrap().current();
        writeln!(text, "{}", serde_json::json!({ "id": id, "text": document })).unwrap();
    }
    std::fs::write(path, text).unwrap();
}

/// A query over some operators: all of them as columns, the numbers of some as rules.
fn query(runner: &mut TestRunner, path: &Path) -> String {
    let registry = Registry::builtin();
    let specs: Vec<_> =
        registry.iter().filter(|spec| spec.options().iter().all(|param| param.default.is_some())).collect();
    let chosen = prop::sample::subsequence((0..specs.len()).collect::<Vec<_>>(), OPERATORS_PER_QUERY.min(specs.len()));
    let chosen = chosen.new_tree(runner).unwrap().current();
    let (mut rules, mut columns) = (String::new(), String::new());
    for (place, &index) in chosen.iter().enumerate() {
        let spec = specs[index];
        let threshold = (-0.1..1.2_f64).new_tree(runner).unwrap().current();
        match spec.returns {
            Returns::Float64 | Returns::Int64 if place % 3 == 0 => {
                let _ =
                    write!(rules, "\n  |> WHERE {}(text) IS NULL OR {}(text) >= {threshold:.2}", spec.name, spec.name);
            }
            _ => {}
        }
        let _ = write!(columns, ", {}(text) AS c{place}", spec.name);
    }
    format!("FROM '{}'{rules}\n  |> SELECT id{columns}", path.display())
}

fn rows(query: &str, fusion: bool) -> Result<String, String> {
    let config = Config { fusion, ..Config::default() };
    let source = SourceText::new("query", query.to_string());
    let outcomes = block_on(async { run(&mut Session::new(config).unwrap(), &source, Language::Cql).await });
    outcomes.map(|outcomes| outcomes.iter().map(Outcome::rows).collect()).map_err(|error| error.to_string())
}

#[test]
fn fused_and_separate_evaluation_agree_on_random_documents_and_operators() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Runs::default(), rng);
    write_documents(&mut runner, &path);
    for _ in 0..N_QUERIES {
        let query = query(&mut runner, &path);
        let (fused, separate) = (rows(&query, true).unwrap(), rows(&query, false).unwrap());
        let differs = fused.lines().zip(separate.lines()).find(|(fused, separate)| fused != separate);
        assert!(differs.is_none() && fused.len() == separate.len(), "{query}\n{differs:#?}");
        assert!(!fused.is_empty(), "{query}");
    }
}

/// The physical plans of a script.
fn explained(source: &SourceText) -> String {
    block_on(async {
        let threads = NonZeroUsize::MIN;
        let mut session = Session::new(Config { threads, ..Config::default() }).unwrap();
        let script = session.parse(source, Language::Cql).unwrap();
        let mut texts = Vec::new();
        for index in 0..script.statements.len() {
            let Compiled::Query(plan) = session.compile(&script, index).await.unwrap() else { continue };
            texts.push(session.explain(&plan, Stage::Physical, ExplainFormat::Tree).await.unwrap());
        }
        texts.join("\n")
    })
}

/// A field of what an operator computes cannot fail, so the rule on it may run before more expensive ones.
#[test]
fn a_rule_on_a_field_moves_before_a_dearer_one() {
    let query = "FROM 'tests/corpus/data/docs.jsonl' |> WHERE top_ngram_char_ratio(text) <= 0.2 |> \
                 WHERE duplicate_line_ratio(text) <= 0.3 AND c4_lines(text)['reason'] = '' |> SELECT id";
    insta::assert_snapshot!(explained(&SourceText::new("query", query)), @r"
    AnnotateExec: id
      │ pass over text (tables: repeated lines): duplicate_line_ratio(text)
      │ duplicate_line_ratio(text) <= 0.3
      │ compute c4_lines(text)
      │ get_field(c4_lines(text), 'reason') = ''
      │ pass over text (n-grams: words, 2-grams): top_ngram_char_ratio(text)
      │ top_ngram_char_ratio(text) <= 0.2
      CooperativeExec
        FileScanExec: 'tests/corpus/data/docs.jsonl' format=jsonl files=1 columns=[id, text, _seq]
    ");
}

/// Each table is found in a walk of its own and paid in full; statistics of characters, words and lines share one walk, so
/// that six of them are cheaper than two tables.
#[test]
fn many_statistics_of_one_walk_run_before_two_tables() {
    let query = "FROM 'tests/corpus/data/docs.jsonl' |> \
                 WHERE unique_line_ratio(text) >= 0.7 AND unique_paragraph_ratio(text) >= 0.7 |> \
                 WHERE words(text) >= 50 AND longest_word(text) < 1000 AND ellipsis_line_ratio(text) <= 0.3 |> \
                 WHERE digit_ratio(text) < 0.2 AND stop_words(text) >= 2 AND bullet_line_ratio(text) <= 0.9";
    let explained = explained(&SourceText::new("query", query));
    let place = |stage: &str| explained.find(&format!("pass over text ({stage}: "));
    assert!(place("scan").is_some() && place("scan") < place("tables"), "{explained}");
}

#[test]
fn three_wheres_and_an_extend_share_one_pass() {
    let explained = explained(&read(Path::new("tests/corpus/one_pass.cql")));
    insta::assert_snapshot!(explained, @r"
    AnnotateExec: id, words(text) AS n, chars(text) AS size, uppercase_ratio(text) AS caps
      │ lang = 'en'
      │ pass over text (scan: chars, word counts): words(text), alpha_ratio(text), mean_word_length(text), chars(text), uppercase_ratio(text)
      │ words(text) >= 2
      │ alpha_ratio(text) > 0.3
      │ mean_word_length(text) < 12
      │ pass over text (n-grams: words, joined 5-grams): duplicate_ngram_char_ratio(text)
      │ duplicate_ngram_char_ratio(text) < 0.2
      CooperativeExec
        FileScanExec: 'tests/corpus/data/docs.jsonl' format=jsonl files=1 columns=[id, lang, text, _seq]
    ");
}
