//! Substrings, checked by comparing all windows with all.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use super::super::beyond_memory_tests::found_by;
use super::super::cut_text;
use super::*;
use crate::dedup::FixedBudget;
use crate::dedup::SpanLength;
use proptest::prelude::*;
use std::collections::HashMap;

/// Runs a finder over the texts in batches.
fn found(
    spec: &Substring,
    keep: KeepWhich,
    texts: &[Option<&str>],
    batch_rows: usize,
    budget: FixedBudget,
) -> Vec<Outcome> {
    in_partitions(spec, keep, texts, batch_rows, 1, budget)
}

fn in_partitions(
    spec: &Substring,
    keep: KeepWhich,
    texts: &[Option<&str>],
    batch_rows: usize,
    n_partitions: usize,
    budget: FixedBudget,
) -> Vec<Outcome> {
    let budget: Arc<dyn Budget> = Arc::new(budget);
    found_by(&mut SubstringFinder::new(spec, keep, &budget), texts, batch_rows, n_partitions, &budget).0
}

/// What is left of each text, or nothing.
fn left(texts: &[&str], outcomes: &[Outcome]) -> Vec<Option<String>> {
    let rest = |(text, outcome): (&&str, &Outcome)| match outcome {
        Outcome::Same => Some(text.to_string()),
        Outcome::Cut(cuts) => Some(cut_text(text, cuts)),
        Outcome::Drop(..) => None,
    };
    texts.iter().zip(outcomes).map(rest).collect()
}

#[track_caller]
fn check(min_length: SpanLength, keep: KeepWhich, texts: &[&str], expected: &[Option<&str>]) {
    let spec = Substring { min_length, min_document_words: 0 };
    let shown: Vec<_> = texts.iter().map(|text| Some(*text)).collect();
    let outcomes = found(&spec, keep, &shown, 2, FixedBudget::new());
    assert_eq!(left(texts, &outcomes), expected.iter().map(|text| text.map(str::to_string)).collect::<Vec<_>>());
}

/// The units that go, by the definition: each window against all others.
fn truth(texts: &[Vec<u64>], n: usize, keep: KeepWhich) -> Vec<Vec<bool>> {
    let mut places: HashMap<&[u64], Vec<(usize, usize)>> = HashMap::new();
    for (row, text) in texts.iter().enumerate() {
        for (at, window) in text.windows(n).enumerate() {
            places.entry(window).or_default().push((row, at));
        }
    }
    let mut gone: Vec<Vec<bool>> = texts.iter().map(|text| vec![false; text.len()]).collect();
    for places in places.values().filter(|places| places.len() > 1) {
        let stays = match keep {
            KeepWhich::First | KeepWhich::Any => places.first(),
            KeepWhich::Last => places.last(),
            KeepWhich::None => None,
        };
        for place in places.iter().filter(|place| stays != Some(place)) {
            for (unit, gone) in gone[place.0].iter_mut().enumerate().skip(place.1).take(n) {
                let kept = stays.is_some_and(|stays| stays.0 == place.0 && (stays.1..stays.1 + n).contains(&unit));
                *gone |= !kept;
            }
        }
    }
    gone
}

const ALL_KEEPS: [KeepWhich; 4] = [KeepWhich::First, KeepWhich::Last, KeepWhich::Any, KeepWhich::None];

#[test]
fn what_was_there_before_goes_and_the_first_stays() {
    let texts = ["x the quick fox y", "z the quick fox", "the quick"];
    check(SpanLength::Bytes(10), KeepWhich::First, &texts, &[Some(texts[0]), Some("z"), Some(texts[2])]);
    check(SpanLength::Bytes(9), KeepWhich::First, &texts, &[Some(texts[0]), Some("z"), None]);
    check(SpanLength::Bytes(10), KeepWhich::Last, &texts, &[Some("x y"), Some(texts[1]), Some(texts[2])]);
    check(SpanLength::Bytes(10), KeepWhich::None, &texts, &[Some("x y"), Some("z"), Some(texts[2])]);
}

#[test]
fn of_one_letter_over_and_over_the_first_window_stays() {
    check(SpanLength::Bytes(5), KeepWhich::First, &["aaaaaaaaaaaab"], &[Some("aaaaab")]);
    check(SpanLength::Bytes(5), KeepWhich::First, &["abcabcabcabcabc!"], &[Some("abcab!")]);
    check(SpanLength::Bytes(5), KeepWhich::Last, &["abcabcabcabcabc!"], &[Some("bcabc!")]);
    check(SpanLength::Bytes(5), KeepWhich::None, &["aaaaaaaaaaaab"], &[Some("b")]);
}

#[test]
fn cuts_fall_between_characters() {
    // ü and ý begin with the same byte, ä and ü do not end with the same one.
    check(SpanLength::Bytes(4), KeepWhich::First, &["üabcü", "ýabcý"], &[Some("üabcü"), Some("ýý")]);
    check(SpanLength::Bytes(4), KeepWhich::First, &["你好你好", "!你好?"], &[Some("你好"), Some("!?")]);
}

#[test]
fn tokens_are_compared_without_the_space_between_them() {
    let texts = ["to be, or not", "A:  to be,\n\tor  not."];
    check(SpanLength::Tokens(5), KeepWhich::First, &texts, &[Some(texts[0]), Some("A:  .")]);
}

#[test]
fn null_and_short_texts_have_no_part_in_it() {
    let spec = Substring { min_length: SpanLength::Bytes(3), min_document_words: 0 };
    let texts = [None, Some("abc"), Some(""), None, Some("ab"), Some("zabc")];
    let outcomes = found(&spec, KeepWhich::First, &texts, 4, FixedBudget::new());
    assert_eq!(outcomes[..5], vec![Outcome::Same; 5]);
    assert_eq!(outcomes[5], Outcome::Cut(vec![1..4]));
}

#[test]
fn a_text_with_too_few_words_left_goes() {
    let spec = Substring { min_length: SpanLength::Bytes(6), min_document_words: 3 };
    let texts = [Some("repeated"), Some("repeated one two"), Some("repeated three four five")];
    let outcomes = found(&spec, KeepWhich::First, &texts, 9, FixedBudget::new());
    assert!(matches!(outcomes[1], Outcome::Drop(_, super::super::TooLittle::Words(2))));
    assert!(matches!(outcomes[2], Outcome::Cut(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bytes_go_as_in_a_comparison_of_all_windows(
        texts in prop::collection::vec(
            prop_oneof!["[ab]{0,60}", "[abcdefgh]{0,40}", "(abcab){0,9}", "(ab|cde|f){0,20}"],
            0..12,
        ),
        n in 1usize..16,
        batch_rows in 1usize..5,
        limit_bytes in prop_oneof![Just(0), Just(usize::MAX)],
        n_partitions in 1usize..4,
    ) {
        let units: Vec<Vec<u64>> = texts.iter().map(|text| text.bytes().map(u64::from).collect()).collect();
        let shown: Vec<_> = texts.iter().map(|text| Some(text.as_str())).collect();
        let spec = Substring { min_length: SpanLength::Bytes(n), min_document_words: 0 };
        for keep in ALL_KEEPS {
            let expected = truth(&units, n, keep);
            let outcomes = in_partitions(&spec, keep, &shown, batch_rows, n_partitions, FixedBudget::of(limit_bytes, 1));
            for (outcome, expected) in outcomes.iter().zip(expected) {
                let (Outcome::Cut(cuts) | Outcome::Drop(cuts, _)) = outcome else {
                    prop_assert!(!expected.contains(&true));
                    continue;
                };
                let gone: Vec<bool> = (0..expected.len()).map(|at| cuts.iter().any(|cut| cut.contains(&at))).collect();
                prop_assert_eq!(gone, expected);
                prop_assert!(cuts.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }

    #[test]
    fn tokens_go_as_in_a_comparison_of_all_windows(
        texts in prop::collection::vec("([ab]|[ab] |\n,){0,40}", 0..8),
        n in 1usize..8,
    ) {
        let token_ranges: Vec<Vec<Range<usize>>> = texts.iter().map(|text| tokens(text).collect()).collect();
        let hash = |text: &str, token: &Range<usize>| xxhash_rust::xxh3::xxh3_64(&text.as_bytes()[token.clone()]);
        let units: Vec<Vec<u64>> = texts.iter().zip(&token_ranges)
            .map(|(text, tokens)| tokens.iter().map(|token| hash(text, token)).collect())
            .collect();
        let shown: Vec<_> = texts.iter().map(|text| Some(text.as_str())).collect();
        let spec = Substring { min_length: SpanLength::Tokens(n), min_document_words: 0 };
        for keep in ALL_KEEPS {
            let expected = truth(&units, n, keep);
            let outcomes = found(&spec, keep, &shown, 3, FixedBudget::of(usize::MAX, 2));
            for ((outcome, expected), tokens) in outcomes.iter().zip(expected).zip(&token_ranges) {
                let cuts: &[Range<usize>] = match outcome {
                    Outcome::Cut(cuts) | Outcome::Drop(cuts, _) => cuts,
                    Outcome::Same => &[],
                };
                let gone: Vec<bool> =
                    tokens.iter().map(|token| cuts.iter().any(|cut| cut.contains(&token.start))).collect();
                prop_assert_eq!(gone, expected);
            }
        }
    }
}
