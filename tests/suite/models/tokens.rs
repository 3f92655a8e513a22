//! `tokens` and `truncate_tokens` in queries: the counts of the libraries whose files and tables they read.

use super::lexicon::Bench;
use crate::suite::harness::root;
use curator::{Config, Error};
use serde_json::Value;

const FOLDER: &str = "tests/models/tokens";

fn json(rows: &str) -> Vec<Value> {
    rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn counts_and_cuts_are_those_of_the_library_that_wrote_the_file() {
    let expected = std::fs::read_to_string(root().join(FOLDER).join("expected.jsonl")).unwrap();
    for name in ["byte_level.json", "word_pieces.json", "pieces.json"] {
        let mut bench = Bench::new(Config::default());
        let lines: Vec<&str> = expected.lines().filter(|line| line.contains(&format!("\"{name}\""))).collect();
        assert!(lines.len() > 10, "{name}");
        bench.write("texts.jsonl", &(lines.join("\n") + "\n"));
        let path = root().join(FOLDER).join(name).display().to_string();
        let query = format!(
            "FROM 'DIR/texts.jsonl' |> SELECT text, n, tokens(text, '{path}') AS found, \
             n_special, tokens(text, '{path}', special_tokens => true) AS found_special, \
             first_four, truncate_tokens(text, '{path}', 4) AS found_four, truncate_tokens(text, '{path}', 0) AS none, \
             truncate_tokens(text, '{path}', 100000) = text AS is_whole"
        );
        for row in json(&bench.rows(&query)) {
            assert_eq!(row["found"], row["n"], "{name}: {row}");
            assert_eq!(row["found_special"], row["n_special"], "{name}: {row}");
            assert_eq!(row["found_four"], row["first_four"], "{name}: {row}");
            // What has no token fits.
            let none = if row["n"] == 0 { row["text"].clone() } else { Value::from("") };
            assert_eq!((&row["none"], &row["is_whole"]), (&none, &Value::from(true)), "{name}: {row}");
        }
    }
}

#[test]
fn sentencepiece_models_count_as_their_library_does() {
    let expected = std::fs::read_to_string(root().join(FOLDER).join("expected.jsonl")).unwrap();
    for name in ["unigram.model", "pairs.model"] {
        let mut bench = Bench::new(Config::default());
        let lines: Vec<&str> = expected.lines().filter(|line| line.contains(&format!("\"{name}\""))).collect();
        assert!(lines.len() > 10, "{name}");
        bench.write("texts.jsonl", &(lines.join("\n") + "\n"));
        let path = root().join(FOLDER).join(name).display().to_string();
        let rows = bench.rows(&format!("FROM 'DIR/texts.jsonl' |> SELECT text, n, tokens(text, '{path}') AS found"));
        for row in json(&rows) {
            assert_eq!(row["found"], row["n"], "{name}: {row}");
        }
    }
}

/// Numbers that OpenAI's documentation of tiktoken has for these texts.
#[test]
fn built_in_tables_count_as_their_libraries_do() {
    let mut bench = Bench::new(Config::default());
    bench.write(
        "docs.jsonl",
        "{\"text\":\"antidisestablishmentarianism\"}\n{\"text\":\"2 + 2 = 4\"}\n\
         {\"text\":\"お誕生日おめでとう\"}\n{\"text\":\"\"}\n{\"text\":null}\n{\"text\":\"<|endoftext|>\"}\n",
    );
    let query = "FROM 'DIR/docs.jsonl' |> SELECT tokens(text, 'gpt2') AS r50k, tokens(text, 'cl100k') AS cl100k, \
                 tokens(text, 'o200k_base') AS o200k";
    let rows = json(&bench.rows(query));
    let column = |name: &str| rows.iter().map(|row| row[name].as_i64()).collect::<Vec<_>>();
    let counts = |counts: [i64; 4]| counts.map(Some).to_vec();
    assert_eq!(column("r50k")[..4], counts([5, 5, 14, 0]));
    assert_eq!(column("cl100k")[..4], counts([6, 7, 9, 0]));
    assert_eq!(column("o200k")[..4], counts([6, 7, 8, 0]));
    assert_eq!(column("cl100k")[4], None);
    assert!(column("cl100k")[5] > Some(3), "what looks like a special token is text");
}

#[test]
fn a_cut_text_is_a_beginning_of_whole_characters() {
    let mut bench = Bench::new(Config::default());
    bench.write("docs.jsonl", "{\"text\":\"naïve 🙂🚀 文章数据 e\\u0301 and more\"}\n");
    for tokenizer in ["'cl100k'", "'gpt2'", "'llama3'"] {
        for max in 0..25 {
            let query = format!(
                "FROM 'DIR/docs.jsonl' |> EXTEND truncate_tokens(text, {tokenizer}, {max}) AS cut \
                 |> SELECT starts_with(text, cut) AS begins, tokens(cut, {tokenizer}) <= {max} AS fits, cut"
            );
            let row = &json(&bench.rows(&query))[0];
            assert_eq!(
                (&row["begins"], &row["fits"]),
                (&Value::from(true), &Value::from(true)),
                "{tokenizer} {max} {row}"
            );
        }
    }
}

#[test]
fn a_folder_stands_for_the_tokenizer_in_it() {
    let mut bench = Bench::new(Config::default());
    std::fs::copy(root().join(FOLDER).join("byte_level.json"), bench.folder.path().join("tokenizer.json")).unwrap();
    bench.write("docs.jsonl", "{\"text\":\"a corpus is cleaned\"}\n");
    let query = "FROM 'DIR/docs.jsonl' |> SELECT tokens(text, 'DIR') = tokens(text, 'DIR/tokenizer.json') AS same";
    assert_eq!(bench.rows(query), "{\"same\":true}\n");
}

#[test]
fn what_is_no_tokenizer_is_a_mistake_at_the_call() {
    let mut bench = Bench::new(Config::default());
    bench.write("docs.jsonl", "{\"text\":\"a\"}\n");
    bench.write("other.json", "{\"a\":1}");
    bench.write("broken.json", "{\"a\":");
    bench.write("spiece.model", "\n\u{e}\n\u{5}<unk>");
    let pieces = root().join(FOLDER).join("pairs.model").display().to_string();
    let cases = [
        ("tokens(text, 'cl10k')", "there is no tokenizer `cl10k`; did you mean `cl100k`?"),
        (
            "tokens(text, 'nothing-like-it')",
            "there is no tokenizer `nothing-like-it`; built in are cl100k, o200k and others",
        ),
        ("tokens(text, 'DIR/none.json')", "none.json: there is no such file (tokenizer of a model)"),
        ("tokens(text, 'DIR')", "tokenizer.json: there is no such file (tokenizer of a model)"),
        ("tokens(text, 'DIR/other.json')", "other.json: not a tokenizer.json: "),
        ("truncate_tokens(text, 'DIR/broken.json', 3)", "broken.json: not a tokenizer.json: "),
        (
            "tokens(text, 'DIR/spiece.model')",
            "spiece.model: not a SentencePiece model: its bytes are no protocol buffer, or end too early",
        ),
        (
            &format!("truncate_tokens(text, '{pieces}', 3)"),
            "pairs.model: a SentencePiece model does not say where its pieces stand in the text; a `tokenizer.json`",
        ),
        (
            &format!("tokens(text, '{pieces}', special_tokens => true)"),
            "does not say what its model's input has around a text",
        ),
        ("truncate_tokens(text, 'cl100k', -1)", "`max` is a whole number of at least 0, not -1"),
        ("tokens(text)", "`tokens` needs `tokenizer`"),
    ];
    for (call, expected) in cases {
        let Err(Error::Query(problems)) = bench.run(&format!("FROM 'DIR/docs.jsonl' |> EXTEND {call} AS x")) else {
            panic!("{call}: no mistake of the query")
        };
        let shown = curator::diag::render(&problems[0], false);
        assert!(shown.contains(expected) && shown.contains("query:1:"), "{call}\n{shown}");
    }
}

#[test]
fn presets_count_in_tokens() {
    let mut bench = Bench::new(Config::default());
    bench.write("docs.jsonl", "{\"text\":\"one two three\"}\n{\"text\":\"\"}\n");
    let query = "FROM 'DIR/docs.jsonl' |> SELECT fertility(text, 'cl100k') AS a, bytes_per_token(text, 'cl100k') AS b, \
                 nemo_token_count(text, 'cl100k', min_tokens => 3, max_tokens => 3) AS c, juicer_token_num(text, 'cl100k') AS d";
    let expected =
        "{\"a\":1.0,\"b\":4.333333333333333,\"c\":true,\"d\":false}\n{\"a\":null,\"b\":null,\"c\":false,\"d\":false}\n";
    assert_eq!(bench.rows(query), expected);
}
