//! `lang`, `lang_score`, `lang_top`: the built-in model, and fastText's against the values of the reference.

use super::lexicon::Bench;
use crate::suite::harness::root;
use curator::Config;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

fn json(rows: &str) -> Vec<Value> {
    rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The first article of the Universal Declaration of Human Rights, which anybody may reproduce, and other short texts.
const TEXTS: [(&str, &str); 16] = [
    ("en", "All human beings are born free and equal in dignity and rights."),
    ("de", "Alle Menschen sind frei und gleich an Würde und Rechten geboren."),
    ("fr", "Tous les êtres humains naissent libres et égaux en dignité et en droits."),
    ("es", "Todos los seres humanos nacen libres e iguales en dignidad y derechos."),
    ("it", "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti."),
    ("pt", "Todos os seres humanos nascem livres e iguais em dignidade e em direitos."),
    ("nl", "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren."),
    ("pl", "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw."),
    ("ru", "Все люди рождаются свободными и равными в своём достоинстве и правах."),
    ("uk", "Всі люди народжуються вільними і рівними у своїй гідності та правах."),
    ("el", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα."),
    ("ar", "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق."),
    ("hi", "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।"),
    ("ja", "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。"),
    ("zh", "人人生而自由，在尊严和权利上一律平等。"),
    ("ko", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."),
];

#[test]
fn the_built_in_model_names_languages_as_users_write_them() {
    let mut bench = Bench::new(Config::default());
    let docs: String =
        TEXTS.iter().map(|(lang, text)| format!("{{\"expected\":\"{lang}\",\"text\":\"{text}\"}}\n")).collect();
    bench.write("docs.jsonl", &docs);
    let query = "FROM 'DIR/docs.jsonl' |> SELECT expected, lang(text) AS lang, lang_score(text) AS score, lang_top(text, 3) AS top";
    let rows = json(&bench.rows(query));
    assert_eq!(rows.len(), TEXTS.len());
    for row in rows {
        assert_eq!(row["lang"], row["expected"], "{row}");
        let top = row["top"].as_array().unwrap();
        assert!(top.len() == 3 && top[0]["lang"] == row["lang"] && top[0]["score"] == row["score"], "{row}");
        let scores: Vec<f64> = top.iter().map(|top| top["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().sum::<f64>() <= 1.0 + 1e-6, "{row}");
        assert!(scores[0] > 0.25, "{row}");
    }
}

#[test]
fn a_text_without_language_is_null_and_bokmal_is_norwegian() {
    let mut bench = Bench::new(Config::default());
    bench.write(
        "docs.jsonl",
        "{\"text\":\"\"}\n{\"text\":null}\n{\"text\":\"Alle mennesker er født frie og med samme menneskeverd og rettigheter.\"}\n",
    );
    let query = "FROM 'DIR/docs.jsonl' |> SELECT lang(text) AS lang, lang_score(text) > 0.3 AS sure, lang_top(text, 200) AS top";
    let rows = json(&bench.rows(query));
    assert_eq!(
        (&rows[0]["lang"], &rows[0]["sure"], &rows[0]["top"]),
        (&Value::Null, &Value::Null, &Value::Array(vec![]))
    );
    assert_eq!((&rows[1]["lang"], &rows[1]["top"]), (&Value::Null, &Value::Null));
    assert_eq!((&rows[2]["lang"], &rows[2]["sure"]), (&Value::from("no"), &Value::from(true)));
    let top = rows[2]["top"].as_array().unwrap();
    assert!(top.iter().all(|language| language["lang"] != "nb"), "Bokmål is counted for Norwegian");
    let sum: f64 = top.iter().map(|language| language["score"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-4, "{sum}");
}

#[test]
fn any_fasttext_model_can_be_asked_for_a_language() {
    let mut bench = Bench::new(Config::default());
    bench.write("docs.jsonl", "{\"text\":\"karo\\nmi\"}\n");
    let path = root().join("tests/models/fasttext/softmax.bin").display().to_string();
    let query = format!(
        "FROM 'DIR/docs.jsonl' |> SELECT lang(text, model => '{path}') = fasttext(text, '{path}')['label'] AS lang, \
         lang_score(text, model => '{path}') = fasttext(text, '{path}')['score'] AS score, \
         lang_top(text, 2, '{path}')[2]['lang'] = fasttext(text, '{path}', k => 2)['top'][2]['label'] AS second"
    );
    assert_eq!(bench.rows(&query), "{\"lang\":true,\"score\":true,\"second\":true}\n");
}

/// lid.176.ftz, if `CURATOR_LID176` says where it is (`.ci/lid176`).
fn lid176() -> Option<String> {
    let found = std::env::var("CURATOR_LID176").ok().filter(|path| !path.is_empty());
    if found.is_none() {
        eprintln!("skipped: CURATOR_LID176 names no lid.176.ftz");
    }
    found
}

fn lines(folder: &Path, name: &str) -> String {
    let (plain, packed) = (folder.join(format!("{name}.jsonl")), folder.join(format!("{name}.jsonl.gz")));
    let mut text = String::new();
    match std::fs::File::open(&plain) {
        Ok(mut file) => file.read_to_string(&mut text).unwrap(),
        Err(_) => {
            flate2::read::MultiGzDecoder::new(std::fs::File::open(packed).unwrap()).read_to_string(&mut text).unwrap()
        }
    };
    text
}

fn compare_with_reference(folder: &Path, model: &str) {
    let mut bench = Bench::new(Config::default());
    bench.write("docs.jsonl", &lines(folder, "inputs"));
    let query = format!(
        "FROM 'DIR/docs.jsonl' |> SELECT id, lang(text, model => '{model}') AS label, lang_score(text, model => '{model}') AS score, \
         fasttext(text, '{model}', strip => true) AS nemo"
    );
    let found = json(&bench.rows(&query));
    let expected = json(&lines(folder, "langid"));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        let is_near = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= 1e-5;
        assert_eq!(found["id"], expected["id"]);
        assert_eq!(found["label"], expected["label"], "{expected}");
        assert_eq!(found["nemo"]["label"], expected["nemo_label"], "{expected}");
        assert!(is_near(&found["score"], &expected["score"]), "{found} {expected}");
        assert!(is_near(&found["nemo"]["score"], &expected["nemo_score"]), "{found} {expected}");
    }
}

#[test]
fn lid_176_gives_the_labels_and_scores_of_the_reference() {
    let Some(model) = lid176() else { return };
    compare_with_reference(&root().join("tests/golden/edge"), &model);
    let named = std::env::var_os("CURATOR_GOLDEN").map(PathBuf::from);
    let large = named.unwrap_or_else(|| root().join("../shared/data/golden"));
    match large.join("langid.jsonl").exists() {
        true => compare_with_reference(&large, &model),
        false => eprintln!("skipped: no large golden set; name its folder in CURATOR_GOLDEN"),
    }
}
