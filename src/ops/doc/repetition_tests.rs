//! The parts about repetition against their plain definitions, on texts that repeat a lot.

use super::{Doc, Level, Needs};
use crate::ops::scan;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

const LONGEST: usize = 12;

fn n_chars(words: &[&str]) -> usize {
    words.iter().map(|word| word.chars().count()).sum()
}

/// What [`Level`] says, from lists and maps of the n-grams themselves.
fn plain_level(words: &[&str], n: usize) -> Level {
    let grams: Vec<&[&str]> = words.windows(n).collect();
    let mut places: HashMap<&[&str], Vec<usize>> = HashMap::new();
    for (at, gram) in grams.iter().enumerate() {
        places.entry(gram).or_default().push(at);
    }
    let covered = |places: &mut dyn Iterator<Item = &usize>| {
        let covered: HashSet<usize> = places.flat_map(|at| *at..*at + n).collect();
        covered.into_iter().map(|at| n_chars(&words[at..=at])).sum()
    };
    let repeated: Vec<(&[&str], &Vec<usize>)> =
        places.iter().filter(|(_, at)| at.len() > 1).map(|(gram, at)| (*gram, at)).collect();
    let first = |at: &[usize]| std::cmp::Reverse(at[0]);
    let top = places.values().max_by_key(|at| (at.len(), first(at)));
    let longest_top = repeated.iter().max_by_key(|(gram, at)| (at.len(), n_chars(gram), first(at)));
    // NeMo's loop: words already counted in an overlapping occurrence are left out.
    let (mut seen, mut n_overlapping, mut later_chars) = (HashSet::new(), 0, 0);
    for gram in &grams {
        if !seen.insert(gram) {
            later_chars += n_chars(&gram[n_overlapping..]) + (n - n_overlapping).min(n - 1);
            n_overlapping = n;
        }
        n_overlapping = n_overlapping.saturating_sub(1);
    }
    Level {
        top_count: top.map_or(0, Vec::len),
        top_start: top.map_or(0, |at| at[0]),
        n_repeated: repeated.iter().map(|(_, at)| at.len()).sum(),
        repeated_chars: repeated.iter().map(|(gram, at)| at.len() * n_chars(gram)).sum(),
        covered_chars: covered(&mut repeated.iter().flat_map(|(_, at)| at.iter())),
        top_covered_chars: covered(&mut longest_top.iter().flat_map(|(_, at)| at.iter())),
        later_chars,
    }
}

/// datatrove's walk, on strings.
fn plain_joined(words: &[&str], n: usize) -> usize {
    let (mut seen, mut n_repeated, mut at) = (HashSet::new(), 0, 0);
    while at + n <= words.len() {
        let gram = words[at..at + n].concat();
        let n_chars = gram.chars().count();
        if seen.insert(gram) {
            at += 1;
        } else {
            n_repeated += n_chars;
            at += n;
        }
    }
    n_repeated
}

/// Data-Juicer's ratio, with sorted frequencies.
fn plain_top_ratio(text: &str, n: usize) -> f64 {
    let chars: Vec<char> = text.chars().collect();
    let mut counts: HashMap<&[char], usize> = HashMap::new();
    for gram in chars.windows(n) {
        *counts.entry(gram).or_default() += 1;
    }
    let mut sorted: Vec<usize> = counts.into_values().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let n_repeated = sorted.iter().filter(|count| **count > 1).count();
    let n_top = n_repeated.min((sorted.len() as f64).sqrt() as usize);
    scan::ratio(sorted[..n_top].iter().sum(), sorted.iter().sum())
}

fn all_needs() -> Needs {
    let tables = Needs::LINE_REPEATS.and(Needs::BLOCK_REPEATS).and(Needs::PARAGRAPH_REPEATS);
    (1..=LONGEST)
        .fold(tables, |needs, n| needs.and(Needs::grams(n)).and(Needs::joined_grams(n)).and(Needs::char_grams(n)))
}

fn all_bounds() -> Needs {
    (1..=LONGEST).fold(Needs::TEXT, |needs, n| needs.and(Needs::top_bound(n)).and(Needs::joined_bound(n)))
}

/// Reads `text` into a used document and compares every part.
fn check<'t>(doc: &mut Doc<'t>, text: &'t str) {
    doc.read(text, all_needs());
    let words: Vec<&str> = scan::words(text).collect();
    for n in 1..=LONGEST {
        assert_eq!(doc.level(n), plain_level(&words, n), "{n}-grams of {text:?}");
        assert_eq!(doc.joined_repeated_chars(n), plain_joined(&words, n), "joined {n}-grams of {text:?}");
        assert_eq!(doc.top_char_gram_ratio(n), plain_top_ratio(text, n), "{n} characters of {text:?}");
        let all: usize = words.windows(n).map(n_chars).sum();
        assert_eq!((doc.grams().gram_chars(n), doc.grams().n_grams(n)), (all, words.windows(n).len()));
    }
    let distinct: HashSet<&&str> = words.iter().collect();
    assert_eq!(doc.word_tallies().len(), distinct.len(), "{text:?}");
    assert_eq!((doc.grams().word_chars(), doc.n_chars()), (n_chars(&words), text.chars().count()));

    let lines: Vec<&str> = text.split('\n').collect();
    let solid: Vec<&str> = lines.iter().copied().filter(|line| !line.chars().all(scan::is_space)).collect();
    let filled: Vec<&str> = lines.iter().copied().filter(|line| !line.is_empty()).collect();
    let mut merged: Vec<&str> = filled.clone();
    merged.extend(text.is_empty().then_some(""));
    merged.extend(text.starts_with('\n').then_some(""));
    merged.extend(text.ends_with('\n').then_some(""));
    let blocks = text.trim_matches(scan::is_space).split("\n\n").map(|block| block.trim_start_matches('\n'));
    // A run of more than two feeds leaves empty pieces, or feeds at the beginning of the next.
    let mut blocks: Vec<&str> = blocks.filter(|block| !block.is_empty()).collect();
    if blocks.is_empty() {
        blocks.push("");
    }
    let paragraphs: Vec<&str> = text.split("\n\n").collect();
    let table = doc.line_repeats();
    for (repeats, pieces, what) in [
        (table.all(), lines, "lines"),
        (table.solid, solid, "solid lines"),
        (table.filled(), filled, "filled lines"),
        (table.merged(text), merged, "merged lines"),
        (doc.block_repeats().all(), blocks, "blocks"),
        (doc.paragraph_repeats().all(), paragraphs, "paragraphs"),
    ] {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        pieces.iter().for_each(|piece| *counts.entry(piece).or_default() += 1);
        let distinct: Vec<&str> = counts.keys().copied().collect();
        let repeated: Vec<&str> = pieces.iter().copied().filter(|piece| counts[piece] > 1).collect();
        assert_eq!((repeats.n, repeats.chars), (pieces.len(), n_chars(&pieces)), "{what} of {text:?}");
        assert_eq!((repeats.n_distinct, repeats.distinct_chars), (distinct.len(), n_chars(&distinct)), "{what}");
        assert_eq!((repeats.n_repeated, repeats.repeated_chars), (repeated.len(), n_chars(&repeated)), "{what}");
        assert_eq!(repeats.n_duplicates(), pieces.len() - distinct.len());
        assert_eq!(repeats.duplicate_chars(), n_chars(&pieces) - n_chars(&distinct));
    }

    // Where single words are not asked for, most are never numbered.
    for lengths in [2..=LONGEST, 3..=3] {
        doc.read(text, lengths.clone().map(Needs::grams).fold(Needs::TEXT, Needs::and));
        for n in lengths {
            assert_eq!(doc.level(n), plain_level(&words, n), "only {n}-grams of {text:?}");
        }
    }
}

/// Words of a small vocabulary that run together in several ways, and separators of all kinds.
fn texts() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a",
        "b",
        "ab",
        "ba",
        "aab",
        "é",
        "日本",
        "abcdefgh",
        "abcdefghi",
        "sixteen-bytes-is",
        "seventeen-bytes-is",
        "a\0",
        "",
        "a sentence with some words",
        "a rather long word-like-piece-of-text-without-space",
        "ß",
    ]);
    let gap = prop::sample::select(vec![" ", " ", " ", "\n", "\n\n", "\n\n\n", "  ", "\t", "\u{3000}", " \n"]);
    prop::collection::vec((word, gap), 0..80).prop_map(|pieces| pieces.into_iter().flat_map(|(a, b)| [a, b]).collect())
}

proptest! {
    #[test]
    fn parts_agree_with_their_definitions(texts in prop::collection::vec(texts(), 1..4)) {
        let mut doc = Doc::new();
        texts.iter().for_each(|text| check(&mut doc, text));
    }
}

#[test]
fn a_document_leaves_nothing_behind_for_the_next() {
    let numbers: String = (0..500).map(|n| format!("w{n} ")).collect();
    let same = "again ".repeat(300);
    let mut doc = Doc::new();
    for text in ["", " ", "\n", "a", &numbers, "a b", &same, "x y x y", "", "ab c a bc", "a\n\na\n"] {
        check(&mut doc, text);
    }
}

/// Texts that would be slow if anything here were worse than linear.
#[test]
fn hard_documents_take_linear_time() {
    let many = 50_000;
    let distinct: String = (0..many).map(|n| format!("{n} ")).collect();
    let same = "a ".repeat(many);
    let period: String = (0..many).map(|n| format!("{} ", n % 1000)).collect();
    let one_word = "a".repeat(2 * many);
    let feeds = "\n".repeat(2 * many);
    let long_words = "x".repeat(many / 10) + " ";
    for text in [distinct, same, period, one_word, feeds, long_words.repeat(10)] {
        let mut doc = Doc::new();
        doc.read(&text, all_needs());
        let n_words = scan::words(&text).count();
        assert_eq!(doc.grams().n_words(), n_words);
        assert!(doc.level(2).top_count <= n_words.saturating_sub(1));
        let found = doc.joined_repeated_chars(2);
        doc.read(&text, all_bounds());
        assert!(doc.joined_repeated_bytes_at_most(2) >= found);
    }
}
