//! Classes of characters outside ASCII: what a walk over a document looks up for each of them.
//!
//! Every character has [`Properties`]. Characters with the same properties form a class (there are a few dozen), so that
//! a walk counts one number for each character, and how many characters have a property is a sum over classes.
//!
//! ```text
//! 'é' ──table──► class 1 ──properties──► LETTER | ALPHABETIC
//! ```
//! Invariant: the table holds every character; it is made once, at the first use.
//! Not here: ASCII, of which each kind is a mask of the walk (`doc/block.rs`).

use super::{is_space, marks, tables};
use std::sync::LazyLock;

/// A set of properties of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Properties(u16);

impl Properties {
    const NONE: Properties = Properties(0);
    /// A letter for Python 3.11's `str.isalpha()`.
    pub(crate) const LETTER: Properties = Properties(1 << 0);
    /// Not a letter, and yet true for `str.isalnum()`.
    pub(crate) const NUMBER: Properties = Properties(1 << 1);
    /// The Unicode property `Alphabetic`: letters and the marks that belong to them.
    pub(crate) const ALPHABETIC: Properties = Properties(1 << 2);
    /// The Unicode property `Uppercase`.
    pub(crate) const UPPERCASE: Properties = Properties(1 << 3);
    /// White space for Python.
    pub(crate) const SPACE: Properties = Properties(1 << 4);
    /// Punctuation: general categories `P*`.
    pub(crate) const PUNCTUATION: Properties = Properties(1 << 5);
    /// One of Data-Juicer's special characters.
    pub(crate) const SPECIAL: Properties = Properties(1 << 6);
    /// Ends a line for Python's `str.splitlines()`.
    pub(crate) const LINE_BREAK: Properties = Properties(1 << 7);
    /// The brackets ⟨ and ⟩.
    pub(crate) const ANGLE_BRACKET: Properties = Properties(1 << 8);
    /// The ellipsis `…`.
    pub(crate) const ELLIPSIS: Properties = Properties(1 << 9);
    /// The letters `K` (the Kelvin sign) and `İ`: outside ASCII, and ASCII once they are in lower case.
    pub(crate) const ASCII_IN_LOWER_CASE: Properties = Properties(1 << 10);
    /// Punctuation or a control character, as the marks are listed in `marks.rs`.
    pub(crate) const SYMBOL: Properties = Properties(1 << 11);

    /// Whether it has one of the properties `other`.
    pub(crate) const fn any(self, other: Properties) -> bool {
        self.0 & other.0 != 0
    }

    /// Both.
    pub(crate) const fn and(self, other: Properties) -> Properties {
        Properties(self.0 | other.0)
    }
}

/// More classes than there are sets of properties that occur.
pub(crate) const MAX_CLASSES: usize = 64;
const PAGE: usize = 256;
const N_PAGES: usize = 0x110000 / PAGE;

/// The class of each character, and the properties of each class. Two steps, because most pages of 256 characters are
/// like another one.
pub(crate) struct Classes {
    pages: [u8; N_PAGES],
    classes: Box<[[u8; PAGE]; 256]>,
    properties: [Properties; MAX_CLASSES],
}

static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::build);

impl Classes {
    /// The class of letters that have no case or are in lower case: of most characters in most texts.
    pub(crate) const LETTERS: u8 = 1;

    /// The table.
    pub(crate) fn get() -> &'static Classes {
        &CLASSES
    }

    /// The class of a code point.
    #[inline(always)]
    pub(crate) fn class(&self, code_point: u32) -> u8 {
        let page = self.pages.get(code_point as usize / PAGE).copied().unwrap_or(0);
        self.classes[usize::from(page)][code_point as usize % PAGE]
    }

    /// What all characters of a class have.
    #[inline(always)]
    pub(crate) fn properties(&self, class: u8) -> Properties {
        self.properties[usize::from(class) % MAX_CLASSES]
    }

    /// What a character has.
    #[inline(always)]
    pub(crate) fn of(&self, c: char) -> Properties {
        self.properties(self.class(c as u32))
    }

    /// The table's parts as kernels read them: the page of each 256 characters, the properties of each class (two
    /// bytes each), the classes page by page.
    pub(crate) fn bytes(&self) -> [Vec<u8>; 3] {
        let properties = self.properties.iter().flat_map(|properties| properties.0.to_le_bytes()).collect();
        [self.pages.to_vec(), properties, self.classes.concat()]
    }

    fn build() -> Classes {
        let mut of = vec![Properties::NONE; N_PAGES * PAGE];
        let ranges: [(&[u32], Properties); 5] = [
            (&tables::LETTERS, Properties::LETTER),
            (&tables::NUMBERS, Properties::NUMBER),
            (&tables::PUNCTUATION, Properties::PUNCTUATION),
            (&tables::SPECIAL, Properties::SPECIAL),
            (&tables::ALPHABETIC_LATER, Properties::ALPHABETIC),
        ];
        let mut put = |first: u32, last: u32, property| {
            let members = of.get_mut(first as usize..=last as usize).unwrap_or_default();
            members.iter_mut().for_each(|properties| *properties = properties.and(property));
        };
        for (ranges, property) in ranges {
            ranges.chunks_exact(2).for_each(|range| put(range[0], range[1], property));
        }
        for (first, last) in marks::TERMINAL.iter().chain(marks::OTHER_SYMBOLS) {
            put(*first, *last, Properties::SYMBOL);
        }
        type Test = fn(char) -> bool;
        let tests: [(Test, Properties); 6] = [
            (char::is_alphabetic, Properties::ALPHABETIC),
            (char::is_uppercase, Properties::UPPERCASE),
            (is_space, Properties::SPACE),
            (|c| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'), Properties::LINE_BREAK),
            (|c| matches!(c, '⟨' | '⟩'), Properties::ANGLE_BRACKET),
            (|c| matches!(c, '\u{212a}' | '\u{130}'), Properties::ASCII_IN_LOWER_CASE),
        ];
        for c in '\u{80}'..=char::MAX {
            for (is, property) in tests {
                if is(c) {
                    of[c as usize] = of[c as usize].and(property);
                }
            }
        }
        of['…' as usize] = of['…' as usize].and(Properties::ELLIPSIS);

        let mut properties = vec![Properties::NONE, Properties::LETTER.and(Properties::ALPHABETIC)];
        let mut classes = Box::new([[0; PAGE]; 256]);
        let mut n_classes = 0;
        let mut pages = [0; N_PAGES];
        for (number, characters) in of.chunks_exact(PAGE).enumerate() {
            let mut page = [0; PAGE];
            for (class, of) in page.iter_mut().zip(characters) {
                let known = properties.iter().position(|other| other == of).unwrap_or_else(|| {
                    properties.push(*of);
                    properties.len() - 1
                });
                *class = known as u8;
            }
            let known = classes[..n_classes].iter().position(|other| *other == page).unwrap_or_else(|| {
                classes[n_classes] = page;
                n_classes += 1;
                n_classes - 1
            });
            pages[number] = known as u8;
        }
        debug_assert!(properties.len() <= MAX_CLASSES);
        properties.resize(MAX_CLASSES, Properties::NONE);
        let mut table = Classes { pages, classes, properties: [Properties::NONE; MAX_CLASSES] };
        table.properties.copy_from_slice(&properties);
        table
    }
}

/// Letters that are not upper case and yet have a lower case: ǅ and the like, and Greek with an iota beside it.
pub(crate) fn is_title_case(c: char) -> bool {
    matches!(c, '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}' | '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}'
        | '\u{1fa8}'..='\u{1faf}' | '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}')
}

/// Whether the lower case of a character outside ASCII is another one.
pub(crate) fn has_lower_case(c: char) -> bool {
    is_title_case(c) || Classes::get().of(c).any(Properties::UPPERCASE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_the_properties_that_python_and_unicode_give_them() {
        let all = |property| ('\u{80}'..=char::MAX).filter(|c| Classes::get().of(*c).any(property)).count();
        // From Python 3.11: `sum(chr(c).isalpha() for c in range(0x80, 0x110000))` and so on.
        assert_eq!(all(Properties::LETTER), 131_704);
        assert_eq!(all(Properties::LETTER.and(Properties::NUMBER)), 133_485);
        assert_eq!(all(Properties::PUNCTUATION), 796);
        // From the `regex` module: the members of `[[:alpha:]]`, 52 of which are ASCII.
        assert_eq!(all(Properties::ALPHABETIC), 160_254 - 52);
        assert_eq!(all(Properties::SPACE), 19);
        assert_eq!(all(Properties::SYMBOL), ('\u{80}'..=char::MAX).filter(|c| marks::is_symbol(*c)).count());
        for (c, property, has) in [
            ('é', Properties::LETTER, true),
            ('½', Properties::NUMBER, true),
            ('\u{345}', Properties::LETTER, false),
            ('\u{345}', Properties::ALPHABETIC, true),
            ('\u{3000}', Properties::SPACE, true),
            ('。', Properties::SPECIAL, true),
            ('😀', Properties::SPECIAL, true),
            ('日', Properties::SPECIAL, false),
            ('…', Properties::ELLIPSIS, true),
        ] {
            assert_eq!(Classes::get().of(c).any(property), has, "{c:?} {property:?}");
        }
    }

    #[test]
    fn what_has_no_lower_case_is_its_own() {
        for c in ('\u{80}'..=char::MAX).filter(|c| !has_lower_case(*c)) {
            assert!(c.to_lowercase().eq([c]), "{c:?}");
        }
    }
}
