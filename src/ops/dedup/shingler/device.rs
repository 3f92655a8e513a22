//! What a kernel looks up about characters when it folds a text: `CaseTable` in `kernels/lib/case.cuh`.
//!
//! ```text
//! u32: place of part 0 | … | u32: place of part 5
//! 0: the page of each 256 characters      1: the kind of each character, page by page
//! 2: for each kind its properties (9 bits), the class of its signs (5 bits) and the distance to the lower case (18 bits)
//! 3: as 0, and 4: as 1 (u16 each), the place in 5 of what is left without accents
//! 5: texts, each after its length (one byte)
//! ```
//! Invariant: the tables say what [`fold`](super::fold) and [`simplify`](super::simplify()) do to each character by
//! itself. Not here: what depends on neighbours (numbers, the final sigma, the order of signs), which kernels find
//! themselves; Hangul syllables, which they take apart by arithmetic.

use super::fold::WORD;
use super::marks::is_nonspacing_mark;
use super::simplify::is_punctuation;
use super::spans::is_spaceless;
use crate::ops::scan::{Classes, is_decimal_digit, is_space, is_title_case};
use std::collections::{BTreeSet, HashMap};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

const PAGE: usize = 256;
const N_PAGES: usize = 0x110000 / PAGE;

const IN_WORD: u32 = 1 << 0;
const CASED: u32 = 1 << 1;
const IGNORABLE: u32 = 1 << 2;
const IN_RUN: u32 = 1 << 3;
const SPACE: u32 = 1 << 4;
const DIGIT: u32 = 1 << 5;
const PUNCTUATION: u32 = 1 << 6;
const STRIPPED: u32 = 1 << 7;
const ATTACHED: u32 = 1 << 8;
const ORDER_SHIFT: u32 = 9;
const LAST_ORDER: usize = 31;
const LOWER_SHIFT: u32 = 14;

/// The table.
pub(crate) fn case_table() -> Vec<u8> {
    let mut kinds = Kinds::default();
    let mut stripped = Stripped::default();
    let sign_classes = sign_classes();
    for page in 0..N_PAGES {
        let characters = (page * PAGE..(page + 1) * PAGE).map(|c| char::from_u32(c as u32).unwrap_or('\0'));
        let (mut kind_page, mut stripped_page) = ([0; PAGE], [0; PAGE]);
        for (at, c) in characters.enumerate() {
            let (info, text) = describe(c, &sign_classes);
            kind_page[at] = kinds.number(info);
            stripped_page[at] = text.map_or(0, |text| stripped.place(&text));
        }
        kinds.pages.push(&kind_page);
        stripped.pages.push(&stripped_page);
    }
    let kinds_of = kinds.infos.iter().flat_map(|info| info.to_le_bytes()).collect();
    let places = stripped.pages.pages.concat().iter().flat_map(|place| place.to_le_bytes()).collect();
    let parts: [Vec<u8>; 6] =
        [kinds.pages.numbers, kinds.pages.pages.concat(), kinds_of, stripped.pages.numbers, places, stripped.texts];
    let mut table = vec![0; 4 * parts.len()];
    for (number, part) in parts.iter().enumerate() {
        table.resize(table.len().next_multiple_of(4), 0);
        let place = table.len() as u32;
        table[4 * number..4 * number + 4].copy_from_slice(&place.to_le_bytes());
        table.extend_from_slice(part);
    }
    table
}

/// The canonical combining class of a sign that stays where accents are dropped; such signs are put in the order of their
/// classes. 0: it is an accent or no sign.
fn sign_class(c: char) -> u8 {
    let class = canonical_combining_class(c);
    if class != 0 && is_nonspacing_mark(c) { 0 } else { class }
}

/// The classes that there are, in their order.
fn sign_classes() -> Vec<u8> {
    let classes: BTreeSet<u8> = ('\u{80}'..=char::MAX).map(sign_class).filter(|class| *class != 0).collect();
    debug_assert!(classes.len() <= LAST_ORDER);
    classes.into_iter().collect()
}

/// The properties of a character, the class of its signs and the distance to its lower case; and what is left without
/// accents, if that is something else.
fn describe(c: char, sign_classes: &[u8]) -> (u32, Option<String>) {
    let mut lower = c.to_lowercase();
    let first = lower.next().unwrap_or(c);
    let classes = Classes::get();
    let mut info = 0;
    let mut set = |property, holds| info |= if holds { property } else { 0 };
    let in_run = if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() && !is_spaceless(c) };
    let cased = c.is_lowercase() || c.is_uppercase() || is_title_case(c);
    let ignorable = is_case_ignorable(c);
    let is_gap = is_space(c) || is_punctuation(c);
    set(IN_WORD, classes.of(first).any(WORD) || first.is_ascii_alphanumeric() || first == '_');
    set(IGNORABLE, ignorable);
    set(CASED, cased && !ignorable);
    set(IN_RUN, in_run);
    set(SPACE, is_space(c));
    set(DIGIT, is_decimal_digit(c));
    set(PUNCTUATION, is_punctuation(c));
    let is_syllable = matches!(c, '\u{ac00}'..='\u{d7a3}');
    let decomposed: String = c.to_lowercase().nfd().collect();
    let left = (!c.is_ascii() && !is_gap && !is_decimal_digit(c) && !is_syllable)
        .then(|| decomposed.chars().filter(|c| !is_nonspacing_mark(*c)).collect())
        .filter(|left: &String| !left.chars().eq([first]));
    set(STRIPPED, left.is_some());
    // A character that is more than signs is where their order begins again.
    set(ATTACHED, decomposed.chars().all(|c| canonical_combining_class(c) != 0));
    let class = decomposed.chars().map(sign_class).find(|class| *class != 0);
    let order = class.map_or(0, |class| 1 + sign_classes.partition_point(|known| *known < class));
    let shift = (first as i32 - c as i32) << LOWER_SHIFT;
    (info | (order as u32) << ORDER_SHIFT | shift as u32, left)
}

/// Whether a character is passed over when a word's last letter is looked for: asked of the standard library, which has
/// the property and does not show it. Without one between, the sigma is followed by a letter.
fn is_case_ignorable(c: char) -> bool {
    // Large blocks that have none; the rest is looked at one by one.
    if matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{e000}'..='\u{f8ff}'
        | '\u{17000}'..='\u{18cff}' | '\u{20000}'..='\u{dffff}' | '\u{e1000}'..)
    {
        return false;
    }
    let is_final = |text: String| text.to_lowercase().chars().nth(1) == Some('ς');
    is_final(format!("aΣ{c}")) && !is_final(format!("aΣ{c}a"))
}

/// Pages of characters, each kept once.
struct Pages<T> {
    numbers: Vec<u8>,
    pages: Vec<[T; PAGE]>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { numbers: vec![], pages: vec![] }
    }
}

impl<T: Copy + PartialEq> Pages<T> {
    fn push(&mut self, page: &[T; PAGE]) {
        let known = self.pages.iter().position(|known| known == page).unwrap_or_else(|| {
            self.pages.push(*page);
            self.pages.len() - 1
        });
        debug_assert!(known < 256);
        self.numbers.push(known as u8);
    }
}

/// What characters are like, each only once.
#[derive(Default)]
struct Kinds {
    infos: Vec<u32>,
    pages: Pages<u8>,
}

impl Kinds {
    fn number(&mut self, info: u32) -> u8 {
        let known = self.infos.iter().position(|known| *known == info).unwrap_or_else(|| {
            self.infos.push(info);
            self.infos.len() - 1
        });
        debug_assert!(known < 256);
        known as u8
    }
}

/// What is left of characters, each text only once.
#[derive(Default)]
struct Stripped {
    places: HashMap<String, u16>,
    texts: Vec<u8>,
    pages: Pages<u16>,
}

impl Stripped {
    fn place(&mut self, text: &str) -> u16 {
        *self.places.entry(text.to_string()).or_insert_with(|| {
            let place = self.texts.len();
            debug_assert!(place < 1 << 16 && text.len() < 256);
            self.texts.push(text.len() as u8);
            self.texts.extend_from_slice(text.as_bytes());
            place as u16
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{fold, simplify};
    use super::*;

    fn word_at(table: &[u8], at: usize) -> usize {
        table[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | usize::from(*byte))
    }

    fn info(table: &[u8], c: char) -> u32 {
        let part = |number: usize| word_at(table, 4 * number);
        let page = usize::from(table[part(0) + c as usize / PAGE]);
        let kind = usize::from(table[part(1) + page * PAGE + c as usize % PAGE]);
        word_at(table, part(2) + 4 * kind) as u32
    }

    fn stripped(table: &[u8], c: char) -> String {
        let part = |number: usize| word_at(table, 4 * number);
        let page = usize::from(table[part(3) + c as usize / PAGE]);
        let at = part(4) + 2 * (page * PAGE + c as usize % PAGE);
        let text = part(5) + usize::from(table[at]) + 256 * usize::from(table[at + 1]);
        let n_bytes = usize::from(table[text]);
        String::from_utf8_lossy(&table[text + 1..text + 1 + n_bytes]).into_owned()
    }

    #[test]
    fn the_table_says_what_becomes_of_each_character() {
        let table = case_table();
        assert!(table.len() < 100_000, "{} bytes", table.len());
        for c in '\u{80}'..=char::MAX {
            let info = info(&table, c);
            let lower = char::from_u32((c as i32 + (info as i32 >> LOWER_SHIFT)) as u32);
            assert_eq!(lower, c.to_lowercase().next(), "{c:?}");
            let mut folded = vec![];
            fold::lower_case(&c.to_string(), &mut folded);
            assert_eq!(info & IN_WORD != 0, !folded.starts_with(b" "), "{c:?}");
            let expected = simplify(&c.to_string());
            let found = match lower {
                _ if info & (SPACE | PUNCTUATION) != 0 => String::new(),
                _ if info & DIGIT != 0 => "0".to_string(),
                _ if info & STRIPPED != 0 => stripped(&table, c),
                _ if matches!(c, '\u{ac00}'..='\u{d7a3}') => expected.clone(),
                lower => lower.into_iter().collect(),
            };
            assert_eq!(found, expected, "{c:?}");
        }
    }

    /// The place of the class of a character's signs.
    fn order(info: u32) -> usize {
        (info >> ORDER_SHIFT) as usize & LAST_ORDER
    }

    #[test]
    fn signs_are_put_in_the_order_that_the_table_says() {
        let table = case_table();
        let signs: Vec<char> = ('\u{80}'..=char::MAX).filter(|c| order(info(&table, *c)) != 0).collect();
        for known in ['\u{1b44}', '\u{302e}', '\u{1d165}', '\u{1d16d}', '\u{1d15e}'] {
            assert!(signs.contains(&known), "{known:?}");
        }
        for c in &signs {
            let info = info(&table, *c);
            // What a kernel leaves as it stands is one sign, and in lower case.
            let is_one_sign = info & ATTACHED != 0 && info as i32 >> LOWER_SHIFT == 0;
            assert!(info & STRIPPED != 0 || is_one_sign, "{c:?}");
        }
        for (first, second) in signs.iter().flat_map(|first| signs.iter().map(move |second| (*first, *second))) {
            // A kernel's way: what each character leaves, class by class; within a class as it is written.
            let mut found: Vec<char> = [first, second].map(|c| simplify(&c.to_string())).concat().chars().collect();
            if info(&table, second) & ATTACHED != 0 {
                found.sort_by_key(|c| order(info(&table, *c)));
            }
            let found: String = found.into_iter().collect();
            assert_eq!(found, simplify(&format!("{first}{second}")), "{first:?} {second:?}");
        }
    }

    #[test]
    fn signs_change_places_across_what_is_attached_and_nothing_else() {
        let table = case_table();
        for c in '\0'..'\u{20000}' {
            let simple = simplify(&format!("x\u{302e}{c}\u{1b44}"));
            let change_places = simple.find('\u{1b44}') < simple.find('\u{302e}');
            assert_eq!(change_places, info(&table, c) & ATTACHED != 0, "{c:?}");
        }
    }

    #[test]
    fn the_last_sigma_of_a_word_is_found_by_what_is_around_it() {
        let table = case_table();
        for c in ('\0'..=char::MAX).filter(|c| !matches!(c, 'Σ' | 'ς')) {
            let info = info(&table, c);
            // Between a letter and the sigma, and after it.
            let is_final = |text: String| text.to_lowercase().contains('ς');
            let before = is_final(format!("a{c}Σ"));
            assert_eq!(before, info & (CASED | IGNORABLE) != 0, "{c:?}");
            assert_eq!(is_final(format!("aΣ{c}a")), info & (CASED | IGNORABLE) == 0, "{c:?}");
        }
    }
}
