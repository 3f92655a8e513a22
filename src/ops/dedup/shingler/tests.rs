//! What counts as a word, a character, a token; and when two texts have the same shingles.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn shingler(shingle: &str, normalize: Normalize) -> Shingler {
    Shingler::new(shingle.parse().unwrap(), normalize)
}

/// The texts of the shingles.
fn slices(shingle: &str, normalize: Normalize, text: &str) -> Vec<String> {
    let mut slices = vec![];
    shingler(shingle, normalize).each_slice(text, |slice| slices.push(String::from_utf8(slice.to_vec()).unwrap()));
    slices
}

fn hashes(shingle: &str, normalize: Normalize, text: &str) -> Vec<u64> {
    let mut out = vec![9];
    shingler(shingle, normalize).hashes(text, &mut out);
    out
}

#[test]
fn shingles_are_cut_as_the_definitions_say() {
    use Normalize::{Datatrove, None, Words};
    for (shingle, normalize, text, expected) in [
        ("words:2", None, "Ab  c\u{1c}D\u{3000}e", vec!["Ab c", "c D", "D e"]),
        ("words:2", None, "one", vec!["one"]),
        ("words:5", Words, "One, two.", vec!["one two"]),
        ("words:5", Words, "?!", vec![]),
        ("words:5", Datatrove, "one two", vec![]),
        ("tokens:5", Datatrove, "one two", vec![]),
        ("chars:5", Datatrove, "One", vec!["one"]),
        ("words:1", None, "", vec![]),
        ("words:1", Words, "Don't stop_it, ÉTÉ²!", vec!["don", "t", "stop_it", "été²"]),
        // The final sigma, and the dot that İ leaves behind, which is no letter.
        ("words:1", Words, "ΟΔΟΣ İx", vec!["οδος", "i", "x"]),
        ("words:1", Words, "İx", vec!["i", "x"]),
        ("words:1", Words, "日本 語、x", vec!["日本", "語", "x"]),
        (
            "words:1",
            Datatrove,
            "Café 1,234.5 a_b ½ ٣٫٥ \u{301} x…y",
            vec!["cafe", "0", "0", "a", "b", "½", "0", "x", "y"],
        ),
        ("words:2", Datatrove, "a \u{301} b", vec!["a b"]),
        ("chars:3", None, "Äbcd", vec!["Äbc", "bcd"]),
        ("chars:3", None, "ab", vec!["ab"]),
        ("chars:3", None, "äb", vec!["äb"]),
        ("chars:3", None, "", vec![]),
        ("chars:2", Words, "ÄB", vec!["äb"]),
        ("tokens:1", None, "a1-b  日本กx_.", vec!["a1", "-", "b", "日", "本", "ก", "x", "_", "."]),
        ("tokens:2", Words, "A,b", vec!["a ,", ", b"]),
        ("tokens:4", None, "a b c", vec!["a b c"]),
    ] {
        assert_eq!(slices(shingle, normalize, text), expected, "{shingle} {normalize} {text:?}");
        assert_eq!(hashes(shingle, normalize, text).len(), expected.len(), "{shingle} {normalize} {text:?}");
    }
}

#[test]
fn order_matters_and_neighbours_do_not() {
    let of = |text| hashes("words:3", Normalize::Words, text);
    assert_eq!(of("a b c d")[1], of("x b c D!")[1]);
    assert_ne!(of("a b c"), of("c b a"));
    assert_ne!(of("a b c"), of("ab c c"));
    let nul = |text| hashes("words:1", Normalize::None, text);
    assert_ne!(nul("a"), nul("a\0"), "padding is not part of a word");
}

#[test]
fn jaccard_is_the_common_part_of_the_union() {
    for (a, b, expected) in [
        (vec![], vec![], 0.0),
        (vec![1], vec![], 0.0),
        (vec![1, 2, 3], vec![1, 2, 3], 1.0),
        (vec![1, 2, 3], vec![2, 3, 4], 0.5),
        (vec![1, 5, u64::MAX], vec![2, u64::MAX], 0.25),
    ] {
        assert_eq!(jaccard_sorted(&a, &b), expected);
    }
}

/// ASCII with breaks, letters of other scripts, white space of all kinds, words longer than 16 bytes.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-zA-Z0-9_]{1,20}".prop_map(String::from),
        "[ \t\n\u{b}\u{1c}\u{1f}\u{85}\u{a0}\u{3000}]{1,3}".prop_map(String::from),
        "[.,;'\"\u{2019}\u{0}-]{1,2}".prop_map(String::from),
        "[ÀßÉΣσİ日本ﬀДж\u{301}\u{345}²]{1,9}".prop_map(String::from),
    ];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn blocks_find_the_words_that_characters_find(text in texts()) {
        let plain: Vec<&str> = crate::ops::scan::words(&text).collect();
        prop_assert_eq!(slices("words:1", Normalize::None, &text), plain);
        let lower = text.to_lowercase();
        let classes = crate::ops::scan::Classes::get();
        let word = crate::ops::scan::Properties::LETTER.and(crate::ops::scan::Properties::NUMBER);
        let words: Vec<&str> =
            lower.split(|c: char| !(classes.of(c).any(word) || c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
        prop_assert_eq!(slices("words:1", Normalize::Words, &text), words);
    }

    #[test]
    fn shingles_with_the_same_text_have_the_same_hash(
        text in texts(),
        shingle in prop::sample::select(vec!["words:1", "words:3", "chars:4", "tokens:2"]),
        normalize in prop::sample::select(vec![Normalize::None, Normalize::Words, Normalize::Datatrove])
    ) {
        let (slices, hashes) = (slices(shingle, normalize, &text), hashes(shingle, normalize, &text));
        prop_assert_eq!(slices.len(), hashes.len());
        let mut seen = std::collections::HashMap::new();
        for (slice, hash) in slices.iter().zip(&hashes) {
            prop_assert_eq!(seen.entry(slice).or_insert(hash), &hash);
        }
        let distinct: std::collections::HashSet<_> = hashes.iter().collect();
        prop_assert_eq!(distinct.len(), seen.len());
    }
}
