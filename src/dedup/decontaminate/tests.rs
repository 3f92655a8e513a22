//! Decontamination of planted texts; the expected pieces and matches are those of the packages it follows.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::dedup::{Budget, Decontaminate, DecontaminateMode, FixedBudget};
use crate::ops::dedup::Normalize;
use proptest::prelude::*;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

fn spec(mode: DecontaminateMode) -> Decontaminate {
    Decontaminate {
        mode,
        ngram: if mode == DecontaminateMode::Drop { 12 } else { 13 },
        min_ngram: 8,
        normalize: Normalize::Datatrove,
        max_matches: 10,
        remove_chars: 200,
        min_document_chars: 200,
        max_splits: 10,
        text_columns: Vec::new(),
        label: None,
        queries: false,
        overlap: true,
        task: None,
    }
}

fn budget() -> Arc<dyn Budget> {
    Arc::new(FixedBudget::new())
}

const LONG: &str =
    "the quick brown fox jumps over the lazy dog while seven wizards quietly mix strange potions under a pale moon";
const SHORT: &str = "Why do cats purr when you stroke their ears?";

fn filler(sentences: std::ops::Range<usize>) -> String {
    let sentence =
        |i| format!("Sentence number {i} is here and it goes on for a while, so that it fills a whole line. ");
    sentences.map(sentence).collect()
}

fn cutter(spec: &Decontaminate, tasks: &[(&str, &str)]) -> CutMatcher {
    let mut builder = CutMatcherBuilder::new(spec);
    tasks.iter().for_each(|(task, text)| builder.add_text(task, text));
    builder.finish(&budget()).unwrap()
}

/// What is planted, the document, the pieces that are left of it.
type Case<'a> = (&'a str, String, &'a [(usize, usize)]);

#[test]
fn cuts_where_nemo_cuts() {
    let a = filler(10..20);
    let loud = "THE QUICK, BROWN FOX JUMPS OVER THE LAZY DOG, WHILE (SEVEN) WIZARDS QUIETLY MIX STRANGE POTIONS!";
    let twelve_words = LONG.split(' ').take(12).collect::<Vec<_>>().join(" ");
    let twelve_times: String = (0..12).map(|k| filler(10 + 10 * k..20 + 10 * k) + SHORT + " ").collect();
    // The pieces are those of `TaskDecontamination` of NeMo Curator 0.9.0 with max_matches=100.
    let cases: [Case<'_>; 11] = [
        ("in the middle", format!("{a}{LONG}. {}", filler(40..50)), &[(0, 601), (1142, 1831)]),
        ("at the start", format!("{LONG}. {a}"), &[(282, 971)]),
        ("at the end", format!("{a}{LONG}"), &[(0, 601)]),
        (
            "two texts",
            format!("{a}{LONG}. {}{SHORT} {}", filler(30..40), filler(50..60)),
            &[(0, 601), (1142, 1572), (2133, 2736)],
        ),
        // NeMo counts 1214 from another place, as it skips punctuation: 1128.
        ("other case and punctuation", format!("{a}{loud} {}", filler(30..40)), &[(0, 601), (1214, 1817)]),
        ("a short text as a whole", format!("{a}{SHORT} {}", filler(30..40)), &[(0, 601), (1162, 1765)]),
        ("no sentence ends", format!("{0}{LONG} {0}", "word ".repeat(60)), &[]),
        ("what is left is too short", format!("{}{LONG}. {}", filler(10..13), filler(16..19)), &[]),
        ("nothing", a.clone(), &[(0, 860)]),
        ("one word too few", format!("{a}{twelve_words}. {}", filler(20..30)), &[(0, 1785)]),
        ("too many pieces", twelve_times, &[]),
    ];
    for (name, text, wanted) in cases {
        let matcher =
            cutter(&Decontaminate { max_matches: 100, ..spec(DecontaminateMode::Cut) }, &[("a", LONG), ("b", SHORT)]);
        matcher.count(&text);
        let pieces = match matcher.apply(&text) {
            None => vec![(0, text.len())],
            Some(cutting) if cutting.is_dropped => vec![],
            Some(cutting) => cutting.pieces.iter().map(|piece| (piece.start, piece.end)).collect(),
        };
        assert_eq!(pieces, wanted, "{name}");
    }
}

#[test]
fn an_ngram_found_too_often_is_no_evidence() {
    let text = filler(10..20) + LONG + ". " + &filler(30..40);
    for (n_documents, is_cut) in [(10, true), (11, false)] {
        let matcher = cutter(&spec(DecontaminateMode::Cut), &[("a", LONG)]);
        (0..n_documents).for_each(|_| matcher.count(&text));
        assert_eq!(matcher.apply(&text).is_some(), is_cut, "{n_documents} documents");
    }
}

#[test]
fn a_line_break_does_not_hide_a_match() {
    let text = filler(10..20) + &LONG.replace(" lazy ", "\r\n\tlazy\u{3000}") + ". " + &filler(30..40);
    let matcher = cutter(&spec(DecontaminateMode::Cut), &[("a", LONG)]);
    matcher.count(&text);
    let cutting = matcher.apply(&text).unwrap();
    assert_eq!((cutting.matches[0].task, cutting.pieces.len()), ("a", 2));
    assert!(text[cutting.matches[0].place.clone()].starts_with("the quick"));
}

#[test]
fn a_word_that_a_cut_goes_through_begins_at_the_cut() {
    let short = Decontaminate { min_ngram: 3, remove_chars: 0, min_document_chars: 0, ..spec(DecontaminateMode::Cut) };
    let matcher = cutter(&short, &[("a", "one two three four"), ("b", "yes five six")]);
    let text = "one two three four no.yes five six seven. Eight";
    // The first pass sees `noyes`; what it has not counted is not cut out.
    matcher.count(text);
    matcher.count("Yes five six!");
    let cutting = matcher.apply(text).unwrap();
    assert_eq!(cutting.matches.iter().map(|found| found.task).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(cutting.pieces.iter().map(|piece| &text[piece.clone()]).collect::<Vec<_>>(), [" Eight"]);
}

#[test]
fn a_short_document_is_searched_too() {
    let matcher = cutter(&spec(DecontaminateMode::Cut), &[("b", SHORT)]);
    matcher.count(SHORT);
    assert!(matcher.apply(SHORT).unwrap().is_dropped);
}

/// n-grams of runs of letters and digits in lower case.
fn ngrams(n: usize) -> impl FnMut(&str, &mut Vec<u64>) {
    move |text, out| {
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        out.extend(words.windows(n).map(|words| xxh3_64(words.join(" ").as_bytes())));
    }
}

fn hashes(text: &str) -> Vec<u64> {
    let mut out = Vec::new();
    ngrams(12)(text, &mut out);
    out
}

const QUESTION: &str = "Which river flows through the city of Vienna on its way to the Black Sea";
const ANSWER: &str = "The Danube flows through four capitals and ends in a delta in Romania after a long journey";

#[test]
fn drops_what_datatrove_drops() {
    let documents = [
        format!("Filler one. {ANSWER} more filler"),
        format!("Well. {QUESTION}? Nobody knows."),
        "x y z on its way to the Black Sea? The Danube flows through four capitals, as we saw".to_string(),
        "The Danube flows through four capitals and ends in a river and so on and on".to_string(),
    ];
    // The places of the first n-grams found, as `NGramsDecontFilter` of datatrove 0.10.1 reports them.
    let cases = [
        (false, true, [Some(2), None, Some(3), None]),
        (true, true, [Some(2), Some(1), Some(3), None]),
        (false, false, [Some(2), None, None, None]),
    ];
    for (queries, overlap, wanted) in cases {
        let spec = Decontaminate { queries, overlap, ..spec(DecontaminateMode::Drop) };
        let mut builder = DropMatcherBuilder::new(&spec, ngrams(12));
        builder.add_question("rivers", QUESTION, ANSWER);
        let matcher = builder.finish(&budget()).unwrap();
        let found = documents.each_ref().map(|text| matcher.find(&hashes(text)).map(|hit| hit.ngram));
        assert_eq!(found, wanted, "queries {queries}, overlap {overlap}");
    }
}

#[test]
fn the_report_counts_an_ngram_for_every_task_that_has_it() {
    let mut builder = DropMatcherBuilder::new(&spec(DecontaminateMode::Drop), ngrams(12));
    builder.add_text("rivers", QUESTION);
    builder.add_text("rivers", "too short");
    builder.add_text("seas", &format!("{QUESTION} today"));
    builder.add_text("lakes", ANSWER);
    let matcher = builder.finish(&budget()).unwrap();
    for text in [QUESTION.to_string(), format!("Ah: {QUESTION} today"), "nothing of the kind".to_string()] {
        matcher.find(&hashes(&text));
    }
    let rows = matcher.ngrams().report();
    let rows: Vec<_> = rows
        .iter()
        .map(|r| (&*r.task, r.n_texts, r.n_short_texts, r.n_ngrams, r.n_ngrams_found, r.n_documents))
        .collect();
    assert_eq!(rows, [("rivers", 2, 1, 4, 4, 2), ("seas", 1, 0, 5, 5, 2), ("lakes", 1, 0, 6, 0, 0)]);
    assert_eq!(matcher.find(&hashes(QUESTION)).unwrap().task, "rivers");
}

#[test]
fn no_tasks_find_nothing() {
    let matcher = DropMatcherBuilder::new(&spec(DecontaminateMode::Drop), ngrams(12)).finish(&budget()).unwrap();
    assert!(matcher.ngrams().is_empty() && matcher.find(&[0, 1, u64::MAX]).is_none());
    let matcher = cutter(&spec(DecontaminateMode::Cut), &[("a", "too short")]);
    matcher.count(LONG);
    assert!(matcher.apply(LONG).is_none() && matcher.apply("").is_none());
}

#[test]
fn too_little_memory_is_said() {
    let mut builder = CutMatcherBuilder::new(&spec(DecontaminateMode::Cut));
    builder.add_text("a", LONG);
    let small: Arc<dyn Budget> = Arc::new(FixedBudget::of(100, 1));
    assert!(builder.finish(&small).err().unwrap().to_string().contains("n-grams of the evaluations"));
}

#[test]
fn threads_count_the_same() {
    let documents: Vec<String> = (0..200)
        .map(|k| if k % 3 == 0 { filler(0..9) + LONG + ". " + &filler(9..19) } else { filler(k..k + 9) })
        .collect();
    let counted = |n_threads: usize| {
        let matcher =
            cutter(&Decontaminate { max_matches: 1000, ..spec(DecontaminateMode::Cut) }, &[("a", LONG), ("b", SHORT)]);
        for pass in 0..2 {
            std::thread::scope(|scope| {
                for part in documents.chunks(documents.len().div_ceil(n_threads)) {
                    let matcher = &matcher;
                    scope.spawn(move || {
                        part.iter()
                            .for_each(|text| if pass == 0 { matcher.count(text) } else { drop(matcher.apply(text)) })
                    });
                }
            });
        }
        matcher.ngrams().report()
    };
    assert_eq!(counted(1)[0].n_documents, 67);
    assert_eq!(counted(1), counted(7));
}

proptest! {
    /// Whatever a document holds, nothing that was rare is left in a piece, and pieces are parts of it in order.
    #[test]
    fn no_match_is_left_in_a_piece(
        parts in prop::collection::vec(prop_oneof![
            4 => "([a-d]{1,2}[.,!?é]?[ \u{a0}\n]){1,12}".prop_map(String::from),
            1 => Just("aa b c. D a é b".to_string()),
        ], 0..12),
        remove_chars in 0usize..9, min_document_chars in 0usize..9,
    ) {
        let cut = Decontaminate { ngram: 5, min_ngram: 3, max_matches: 1000, ..spec(DecontaminateMode::Cut) };
        let spec = Decontaminate { remove_chars, min_document_chars, ..cut };
        let text = parts.join(" ");
        let tasks = [("x", "aa b c d a é b"), ("y", "b c a")];
        let matcher = cutter(&spec, &tasks);
        matcher.count(&text);
        if let Some(cutting) = matcher.apply(&text) {
            let mut last = 0;
            for piece in &cutting.pieces {
                prop_assert!(piece.start >= last && piece.end > piece.start);
                last = piece.end;
                prop_assert!(matcher.apply(&text[piece.clone()]).is_none(), "{:?}", &text[piece.clone()]);
            }
        }
    }
}
