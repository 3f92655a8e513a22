//! The built-in model by itself.

use super::langid::{Scratch, model};

#[test]
fn the_model_is_whole_and_its_names_are_codes() {
    let model = model().unwrap();
    assert_eq!(model.names().len(), 97);
    assert!(model.names().iter().all(|name| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_lowercase())));
    assert!(model.names().is_sorted());
    assert!((6_000_000..10_000_000).contains(&model.memory_bytes()));
}

#[test]
fn what_was_read_before_does_not_matter() {
    let model = model().unwrap();
    let texts =
        ["Das ist ein Satz.", "", "これは文です。", "una frase breve", "\u{0}\u{1}", "7 8 9", "Das ist ein Satz."];
    let mut one_for_all = Scratch::default();
    for text in texts {
        assert_eq!(model.best(text, 5, &mut one_for_all), model.best(text, 5, &mut Scratch::default()), "{text:?}");
    }
}

#[test]
fn fewer_languages_are_the_first_of_all() {
    let model = model().unwrap();
    let mut scratch = Scratch::default();
    for text in ["Das ist ein Satz.", "a", "ħ", "una frase"] {
        let all = model.best(text, usize::MAX, &mut scratch);
        for k in [1, 2, 10] {
            assert_eq!(model.best(text, k, &mut scratch), all[..k.min(all.len())], "{text:?}");
        }
    }
}

#[test]
fn a_long_text_counts_each_ngram_as_often_as_it_comes() {
    let model = model().unwrap();
    let mut scratch = Scratch::default();
    let text = "the quick brown fox ".repeat(100_000);
    let found = model.best(&text, 1, &mut scratch);
    assert!(found[0].0 == "en" && found[0].1 > 0.99, "{found:?}");
}
