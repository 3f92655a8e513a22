//! Lines, paragraphs and sentences that repeat.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use super::super::beyond_memory_tests::found_by;
use super::super::finder::Tally;
use super::super::{TooLittle, cut_text};
use super::*;
use crate::dedup::FixedBudget;
use proptest::prelude::*;
use std::collections::HashMap;

fn spec(unit: LinesUnit, span: usize) -> Lines {
    let normalize = Normalize::None;
    Lines { unit, span, min_words: 0, normalize, min_document_words: 0, min_document_units: 0 }
}

fn found(
    spec: &Lines,
    keep: KeepWhich,
    texts: &[Option<&str>],
    batch_rows: usize,
    budget: FixedBudget,
) -> (Vec<Outcome>, Tally) {
    let budget: Arc<dyn Budget> = Arc::new(budget);
    let (outcomes, partitions) = found_by(&mut LineFinder::new(spec, keep, &budget), texts, batch_rows, 1, &budget);
    (outcomes, partitions[0].tally())
}

#[track_caller]
fn check(spec: &Lines, keep: KeepWhich, texts: &[&str], expected: &[Option<&str>]) {
    let shown: Vec<_> = texts.iter().map(|text| Some(*text)).collect();
    let (outcomes, _) = found(spec, keep, &shown, 2, FixedBudget::new());
    let rest = texts.iter().zip(outcomes).map(|(text, outcome)| match outcome {
        Outcome::Same => Some(text.to_string()),
        Outcome::Cut(cuts) => Some(cut_text(text, &cuts)),
        Outcome::Drop(..) => None,
    });
    assert_eq!(rest.collect::<Vec<_>>(), expected.iter().map(|text| text.map(str::to_string)).collect::<Vec<_>>());
}

#[test]
fn a_line_that_was_there_before_goes() {
    let texts = ["menu\nnew\n", "  menu\r\nother\nmenu", "menu"];
    let lines = spec(LinesUnit::Line, 1);
    check(&lines, KeepWhich::First, &texts, &[Some(texts[0]), Some("other\n"), None]);
    check(&lines, KeepWhich::Last, &texts, &[Some("new\n"), Some("other\n"), Some("menu")]);
    check(&lines, KeepWhich::None, &texts, &[Some("new\n"), Some("other\n"), None]);
}

#[test]
fn blank_lines_stay_but_not_between_lines_that_go() {
    let texts = ["a\nb\n", "x\n\na\n\nb\n\ny\n"];
    check(&spec(LinesUnit::Line, 1), KeepWhich::First, &texts, &[Some(texts[0]), Some("x\n\n\ny\n")]);
}

#[test]
fn paragraphs_go_with_the_blank_lines_behind_them() {
    let texts = ["a\nb\n\nc", "x\n\na\nb\n\n\ny\n\na\nc"];
    check(&spec(LinesUnit::Paragraph, 1), KeepWhich::First, &texts, &[Some(texts[0]), Some("x\n\ny\n\na\nc")]);
}

#[test]
fn three_sentences_go_together() {
    let texts = ["A. B. C. D.", "X. A. B. C. Y.", "A. B. Z. C. D.", "A. B. C. W."];
    let sentences = spec(LinesUnit::Sentence, 3);
    check(&sentences, KeepWhich::First, &texts, &[Some(texts[0]), Some("X. Y."), Some(texts[2]), Some("W.")]);
    check(&sentences, KeepWhich::First, &["A. B. C.", " X. A. B. C.\n"], &[Some("A. B. C."), Some("X.\n")]);
}

#[test]
fn all_units_of_overlapping_spans_go() {
    // Two repeated spans of three, one unit apart: four units go.
    let texts = ["a\nb\nc\nd\n", "x\na\nb\nc\nd\ny\n", "s\ns\ns\ns\nt\n"];
    check(&spec(LinesUnit::Line, 3), KeepWhich::First, &texts, &[Some(texts[0]), Some("x\ny\n"), Some("s\nt\n")]);
}

#[test]
fn short_spans_are_left_alone_by_all_their_words() {
    let texts = ["a\nb c d\n", "a\nb c d\n", "b c\nb c\n"];
    let of_words = |min_words, span| Lines { min_words, ..spec(LinesUnit::Line, span) };
    check(&of_words(2, 1), KeepWhich::First, &texts, &[Some(texts[0]), Some("a\n"), Some("b c\n")]);
    check(&of_words(4, 2), KeepWhich::First, &texts, &[Some(texts[0]), None, Some(texts[2])]);
    check(&of_words(5, 2), KeepWhich::First, &texts, &[Some(texts[0]), Some(texts[1]), Some(texts[2])]);
}

#[test]
fn normalized_spans_are_compared_by_their_words() {
    let texts = ["Hello, World 1\n***\n", "hello world 1!\n***\n", "hello world 2\n"];
    let by = |normalize| Lines { normalize, ..spec(LinesUnit::Line, 1) };
    check(&by(Normalize::None), KeepWhich::First, &texts, &[Some(texts[0]), Some("hello world 1!\n"), Some(texts[2])]);
    check(&by(Normalize::Words), KeepWhich::First, &texts, &[Some(texts[0]), Some("***\n"), Some(texts[2])]);
    check(&by(Normalize::Datatrove), KeepWhich::First, &texts, &[Some(texts[0]), Some("***\n"), None]);
}

#[test]
fn documents_with_too_little_left_go_and_untouched_ones_stay() {
    let spec = Lines { min_document_words: 2, min_document_units: 2, ..spec(LinesUnit::Line, 1) };
    let texts = [Some("m\n"), Some("m\na b\nc\n"), Some("m\nd e\n"), Some("m\nf\n"), None, Some(" \n")];
    let (outcomes, tally) = found(&spec, KeepWhich::First, &texts, 4, FixedBudget::new());
    let cuts = vec![0..2];
    assert_eq!(
        outcomes,
        [
            Outcome::Same,
            Outcome::Cut(cuts.clone()),
            Outcome::Drop(cuts.clone(), TooLittle::Units(1)),
            Outcome::Drop(cuts, TooLittle::Words(1)),
            Outcome::Same,
            Outcome::Same,
        ]
    );
    assert_eq!(tally, Tally { n_cuts: 3, cut_bytes: 6, n_cut_documents: 1, n_dropped_documents: 2 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spans_go_as_in_a_comparison_of_all_spans(
        texts in prop::collection::vec(prop::option::of("([abc]\n){0,12}"), 0..10),
        span in 1usize..4,
        batch_rows in 1usize..4,
        limit_bytes in prop_oneof![Just(0), Just(usize::MAX)],
        n_partitions in 1usize..4,
    ) {
        let lines = |text: &'_ Option<String>| text.iter().flat_map(|text| text.lines().map(str::to_string)).collect();
        let units: Vec<Vec<String>> = texts.iter().map(lines).collect();
        let mut places: HashMap<&[String], Vec<(usize, usize)>> = HashMap::new();
        for (row, units) in units.iter().enumerate() {
            units.windows(span).enumerate().for_each(|(at, run)| places.entry(run).or_default().push((row, at)));
        }
        for keep in [KeepWhich::First, KeepWhich::Last, KeepWhich::None] {
            let mut kept: Vec<Vec<bool>> = units.iter().map(|units| vec![true; units.len()]).collect();
            for places in places.values().filter(|places| places.len() > 1) {
                let gone = match keep {
                    KeepWhich::Last => &places[..places.len() - 1],
                    KeepWhich::None => places,
                    _ => &places[1..],
                };
                gone.iter().for_each(|(row, at)| kept[*row][*at..at + span].fill(false));
            }
            let shown: Vec<_> = texts.iter().map(Option::as_deref).collect();
            let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(limit_bytes, 2));
            let mut finder = LineFinder::new(&spec(LinesUnit::Line, span), keep, &budget);
            let (outcomes, _) = found_by(&mut finder, &shown, batch_rows, n_partitions, &budget);
            for (row, outcome) in outcomes.iter().enumerate() {
                let text = texts[row].as_deref().unwrap_or_default();
                let kept_units = units[row].iter().zip(&kept[row]).filter(|(_, kept)| **kept);
                let left: String = kept_units.map(|(unit, _)| format!("{unit}\n")).collect();
                match outcome {
                    Outcome::Same => prop_assert_eq!(text, left),
                    Outcome::Cut(cuts) => prop_assert_eq!(cut_text(text, cuts), left),
                    Outcome::Drop(cuts, _) => prop_assert!(left.is_empty() && cuts.len() == 1),
                }
            }
        }
    }
}
