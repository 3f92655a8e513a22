//! Whether a text looks as if it had been decoded wrongly.
//!
//! A text is bad if one of a few dozen short sequences of characters occurs in it: neighbours that are common when
//! UTF-8 is read as a code page, and rare in any language. The sequences are those of ftfy 6.3.1.
//!
//! All of them are looked for at once: each place of each sequence is a bit of a number, each character knows the
//! places that it may take, and one shift and one AND per character move all begun sequences on.
//!
//! Invariant: every sequence needs a character that is not ASCII, with at most two ASCII characters before it and at
//! most two after it, so that ASCII stretches are jumped over.

use super::chars::{CharTable, TABLE};
use super::first_byte;
use super::tables::*;

/// A set of characters: kinds, and single characters.
pub(super) struct Set {
    kinds: Kinds,
    pub(super) chars: &'static str,
}

impl Set {
    /// Whether a character, which is of these kinds, is a member.
    fn has(&self, c: char, kinds: Kinds) -> bool {
        self.kinds & kinds != 0 || self.chars.contains(c)
    }
}

const fn kinds(kinds: Kinds) -> Set {
    Set { kinds, chars: "" }
}

const fn chars(chars: &'static str) -> Set {
    Set { kinds: 0, chars }
}

const fn either(kinds: Kinds, chars: &'static str) -> Set {
    Set { kinds, chars }
}

const LETTER: Kinds = LOWER | UPPER;
const PUNCTUATION: Kinds = OPENING | CLOSING;
const ASCII_LETTER: Kinds = ASCII_LOWER | ASCII_UPPER;
const ODD: Kinds = LETTER | BOX | PUNCTUATION | CURRENCY | NUMERIC | LAW;
/// The second byte of an Arabic letter, read as Windows-1252.
const ARABIC_REST: Set = either(COMMON | CURRENCY | BAD | NUMERIC | OPENING, "ŸŠ®°µ»");

/// The sequences.
pub(super) static SEQUENCES: &[&[Set]] = &[
    &[kinds(C1)],
    // Kinds that do not go together.
    &[kinds(ODD | BAD), kinds(BAD)],
    &[kinds(BAD), kinds(ODD)],
    &[kinds(ASCII_LETTER), kinds(LOWER_OTHER | UPPER_OTHER), kinds(BAD)],
    &[kinds(LOWER | LOWER_OTHER | BOX | CLOSING | CURRENCY | NUMERIC), kinds(UPPER)],
    &[kinds(BOX | CLOSING | CURRENCY | NUMERIC), kinds(LOWER)],
    &[kinds(LOWER | BOX | CLOSING), kinds(CURRENCY)],
    &[kinds(SPACE), kinds(UPPER), kinds(CURRENCY)],
    &[kinds(ASCII_LOWER), kinds(UPPER), kinds(OPENING | CURRENCY)],
    &[kinds(UPPER | BOX), kinds(NUMERIC | LAW)],
    &[kinds(UPPER), chars("°")],
    &[kinds(LETTER | BOX | CURRENCY | CLOSING), kinds(OPENING), kinds(NUMERIC)],
    &[kinds(LETTER | CURRENCY | NUMERIC | BOX | LAW), kinds(CLOSING), kinds(OPENING)],
    &[kinds(LETTER), kinds(PUNCTUATION), kinds(WORD)],
    &[kinds(CURRENCY | NUMERIC | BOX), kinds(OPENING)],
    &[kinds(BOX), kinds(FACE | CLOSING)],
    &[kinds(LETTER | CURRENCY | NUMERIC | PUNCTUATION | LAW), kinds(BOX)],
    &[chars("Œœ"), kinds(NOT_ASCII_LETTER)],
    // UTF-8 read as Windows-1252: Latin, Greek, Cyrillic; multiplied signs; Arabic; South Asian letters.
    &[chars("ÂÃÎÐ"), either(PUNCTUATION, "€œŠš¢£Ÿž\u{a0}\u{ad}°·–—´")],
    &[chars("×"), chars("²³")],
    &[chars("ØÙ"), ARABIC_REST, chars("ØÙ"), ARABIC_REST],
    &[chars("à"), chars("²µ¹¼½¾")],
    // The letter à, and the no-break space as a space.
    &[kinds(ASCII_LOWER), chars("ÃÂ"), chars(" ")],
    &[kinds(ASCII_LOWER), kinds(SPACE), chars("ÃÂ"), chars(" ")],
    &[either(ASCII_LOWER | CLOSING, ".,?!"), chars("Â"), either(PUNCTUATION, " ")],
    // Read as Mac Roman.
    &[chars("√"), chars("±∂†≠®™´≤≥¥µø")],
    &[chars("≈"), chars("°¢")],
    &[chars("‚"), chars("Ä"), chars("ìîïòôúùû†°¢π")],
    &[chars("‚"), chars("âó"), chars("àä°ê")],
    // Read as Windows-1251: punctuation; Latin and Cyrillic; twice over.
    &[chars("в"), chars("Ђ")],
    &[chars("ВГРС"), either(C1 | BAD | PUNCTUATION | CURRENCY, "°µ"), chars("ВГРС")],
    &[chars("Г"), chars("ў"), chars("В"), chars("Ђ"), chars("В"), kinds(NOT_LINE_FEED), either(ASCII_LETTER, " ")],
    // Read as Windows-1253 and Windows-1257.
    &[chars("β"), chars("€"), chars("™\u{a0}Ά\u{ad}®°")],
    &[chars("ΒΓΞΟ"), either(C1 | BAD | PUNCTUATION | CURRENCY, "°"), chars("ΒΓΞΟ")],
    &[chars("ā"), chars("€")],
];

/// The places of all sequences, in order, that a character may take: bit 0 is the first place of the first one.
pub(super) fn places(c: char, kinds: Kinds) -> u128 {
    let sets = SEQUENCES.iter().flat_map(|sequence| sequence.iter());
    sets.enumerate().filter(|(_, set)| set.has(c, kinds)).fold(0, |places, (place, _)| places | (1 << place))
}

/// The first and the last place of each sequence.
#[derive(Debug, Default)]
pub(super) struct Ends {
    first: u128,
    last: u128,
}

/// Where the sequences begin and end.
pub(super) fn ends() -> Ends {
    let mut ends = Ends::default();
    let mut place = 0;
    for sequence in SEQUENCES {
        ends.first |= 1 << place;
        place += sequence.len();
        ends.last |= 1 << (place - 1);
    }
    ends
}

/// ASCII characters that matter on either side of another character.
const CONTEXT: usize = 2;

/// What one walk over a text finds out.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// A bad sequence was found; the walk ended there.
    pub(super) bad: bool,
    /// All flags of the characters that are not ASCII.
    pub(super) flags: u8,
}

/// Whether the text looks wrongly decoded.
pub(super) fn is_bad(text: &str) -> bool {
    survey(text).bad
}

/// Looks for bad sequences, and gathers the flags of all characters that are not ASCII.
pub(super) fn survey(text: &str) -> Survey {
    let table: &CharTable = &TABLE;
    // At the very beginning, an accented A before a space needs no letter in front of it.
    let mut survey = Survey { bad: text.starts_with("Ã ") || text.starts_with("Â "), flags: 0 };
    let mut begun: u128 = 0;
    let mut at = 0;
    while !survey.bad
        && let Some(n_ascii) = first_byte(&text.as_bytes()[at..], |byte| !byte.is_ascii())
    {
        let skipped = n_ascii.saturating_sub(CONTEXT);
        if skipped > 0 {
            begun = 0;
        }
        let mut rest = text[at + skipped..].chars();
        let mut ascii_until_end = None;
        for c in rest.by_ref() {
            let info = table.info(c);
            begun = ((begun << 1) | table.ends.first) & info.places;
            if begun & table.ends.last != 0 {
                survey.bad = true;
                break;
            }
            if !c.is_ascii() {
                survey.flags |= info.flags;
                ascii_until_end = Some(CONTEXT);
            } else if let Some(n) = &mut ascii_until_end {
                *n -= 1;
                if *n == 0 {
                    break;
                }
            }
        }
        at = text.len() - rest.as_str().len();
    }
    survey
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_places_fit_the_number() {
        assert!(SEQUENCES.iter().map(|sequence| sequence.len()).sum::<usize>() <= u128::BITS as usize);
    }

    #[test]
    fn sequences_are_found_wherever_they_stand() {
        let bad = ["Ã©", "â€™", "Ã ", "a Â b", "Ð¿Ñ€Ð¸", "вЂ”", "√©", "\u{81}", "ā€", "x¬ß", "ГўВЂВ&a"];
        for sequence in bad {
            for n_before in [0, 1, 2, 3, 15, 16, 17, 40] {
                for n_after in [0, 1, 2, 3, 40] {
                    let text = format!("{}{sequence}{}", " x".repeat(n_before), "y ".repeat(n_after));
                    assert!(is_bad(&text), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn good_text_is_not_bad() {
        for text in ["", "plain", "naïve café", "œuvre", "Привет, мир", "καλημέρα", "日本語", "“quoted” – 5 €", "½ × 2"]
        {
            assert!(!is_bad(text), "{text:?}");
        }
    }
}
