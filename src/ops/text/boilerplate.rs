//! The sentences that mark boilerplate: cookie notices, links to policies, filler text.
//!
//! The list is C4's, as NeMo Curator extended it; two of NeMo's fourteen (the notices that say "uses cookies") are left
//! out because every text that holds them holds a shorter one of the list.
//!
//! Invariant: one walk over the text, with a table look-up for each byte; a sentence is compared only where a rare
//! letter of it stands. Letters are compared as Python's `lower()` makes them: A is a, and the Kelvin sign is k.

use memchr::memmem;
use std::borrow::Cow;

/// What was found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Boilerplate {
    /// "lorem ipsum".
    pub lorem_ipsum: bool,
    /// Any of the policy sentences.
    pub policy: bool,
}

/// A word that all of some sentences hold, and those sentences. All in lower case.
struct Stem {
    word: &'static str,
    /// A letter of the word that is rare in prose, and its place in the word.
    rare: (u8, usize),
    sentences: &'static [&'static str],
}

const STEMS: [Stem; 4] = [
    Stem {
        word: "cookie",
        rare: (b'k', 3),
        sentences: &[
            "cookie policy",
            "uses cookies",
            "use of cookies",
            "use cookies",
            "necessary cookies are absolutely essential for the website to function properly. this category only \
             includes cookies that ensures basic functionalities and security features of the website. these cookies \
             do not store any personal information.",
            "any cookies that may not be particularly necessary for the website to function and is used specifically \
             to collect user personal data via analytics, ads, other embedded contents are termed as non-necessary \
             cookies. it is mandatory to procure user consent prior to running these cookies on your website.",
            "if you continue to browse this site without changing your cookie settings, you agree to this use. \
             acceptread more",
        ],
    },
    Stem {
        word: "privacy",
        rare: (b'v', 3),
        sentences: &["privacy policy", "privacy overview", "privacy & cookies policy", "privacy and cookies policy"],
    },
    Stem { word: "terms of use", rare: (b'f', 7), sentences: &["terms of use"] },
    Stem { word: LOREM_IPSUM, rare: (b'p', 7), sentences: &[LOREM_IPSUM] },
];
const LOREM_IPSUM: &str = "lorem ipsum";

/// For each byte the number of the stem whose rare letter it is, in either case, and one more; 0 for the others.
const STEM_OF: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < STEMS.len() {
        table[STEMS[i].rare.0 as usize] = i as u8 + 1;
        table[STEMS[i].rare.0.to_ascii_uppercase() as usize] = i as u8 + 1;
        i += 1;
    }
    table
};

const KELVIN_SIGN: &str = "\u{212a}";

/// Looks for every sentence of the list, anywhere in `text`.
pub(crate) fn boilerplate(text: &str) -> Boilerplate {
    let text = match memmem::find(text.as_bytes(), KELVIN_SIGN.as_bytes()) {
        Some(_) => Cow::Owned(text.replace(KELVIN_SIGN, "k")),
        None => Cow::Borrowed(text),
    };
    let bytes = text.as_bytes();
    let mut found = Boilerplate::default();
    for (at, &byte) in bytes.iter().enumerate() {
        let Some(stem) = usize::from(STEM_OF[usize::from(byte)]).checked_sub(1).map(|number| &STEMS[number]) else {
            continue;
        };
        let Some(start) = at.checked_sub(stem.rare.1).filter(|start| stands_at(bytes, *start, stem.word)) else {
            continue;
        };
        if stem.word == LOREM_IPSUM {
            found.lorem_ipsum = true;
            return found;
        }
        found.policy =
            found.policy || stem.sentences.iter().any(|sentence| holds_stem_at(bytes, start, sentence, stem));
    }
    found
}

/// Whether the sentence stands where its first `stem` is at `start`.
fn holds_stem_at(bytes: &[u8], start: usize, sentence: &str, stem: &Stem) -> bool {
    let offset = sentence.find(stem.word).unwrap_or(0);
    start.checked_sub(offset).is_some_and(|start| stands_at(bytes, start, sentence))
}

fn stands_at(bytes: &[u8], start: usize, pattern: &str) -> bool {
    bytes.get(start..start + pattern.len()).is_some_and(|place| place.eq_ignore_ascii_case(pattern.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_is_found_in_any_case_and_nothing_near_it() {
        for sentence in STEMS.iter().flat_map(|stem| stem.sentences) {
            let expected = match *sentence {
                LOREM_IPSUM => Boilerplate { lorem_ipsum: true, policy: false },
                _ => Boilerplate { lorem_ipsum: false, policy: true },
            };
            for text in [sentence.to_string(), format!("fvk é{}.", sentence.to_uppercase()), format!("k{sentence}p")] {
                assert_eq!(boilerplate(&text), expected, "{text}");
            }
            assert_eq!(boilerplate(&sentence[1..]), Boilerplate::default(), "{sentence}");
        }
        assert!(boilerplate("we use coo\u{212a}ies").policy);
        assert!(boilerplate("xLorem IPSUM").lorem_ipsum);
        for clean in
            ["", "k", "terms of us", "cookies policies", "use  cookies", "lorem\nipsum", "privacy pol\u{130}cy"]
        {
            assert_eq!(boilerplate(clean), Boilerplate::default(), "{clean}");
        }
    }
}
