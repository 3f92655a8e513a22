//! Punctuation, as the recipes for web text define it: marks that end a sentence, marks that make a word a symbol.
//!
//! The sets are datatrove's, which takes the sentence-ending marks of all scripts; they are listed because no Unicode
//! property equals them.

use super::{Classes, Properties};

/// Whether `c` ends a sentence, in any script.
#[inline]
pub(crate) fn is_terminal(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, '.' | '?' | '!');
    }
    // Few characters are symbols, and only those are looked for in the list.
    Classes::get().of(c).any(Properties::SYMBOL) && in_ranges(c, TERMINAL)
}

/// Whether `c` is punctuation or a control character: a word of nothing else is a symbol. The full-width digit one is
/// in the set, as in datatrove's. A walk asks for the property [`SYMBOL`](super::Properties::SYMBOL) instead.
#[cfg(test)]
pub(crate) fn is_symbol(c: char) -> bool {
    if c.is_ascii() {
        !c.is_ascii_alphanumeric() && !matches!(c, '\t' | '\n' | ' ')
    } else {
        in_ranges(c, OTHER_SYMBOLS) || in_ranges(c, TERMINAL)
    }
}

/// Whether a sorted list of ranges, ends included, holds `c`.
fn in_ranges(c: char, ranges: &[(u32, u32)]) -> bool {
    let c = u32::from(c);
    let after = ranges.partition_point(|(first, _)| *first <= c);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| c <= *last)
}

/// Sentence-ending marks outside ASCII.
#[rustfmt::skip]
pub(super) const TERMINAL: &[(u32, u32)] = &[
    (0x0589, 0x0589), (0x061D, 0x061F), (0x06D4, 0x06D4), (0x0700, 0x0702), (0x07F9, 0x07F9), (0x0837, 0x0837),
    (0x0839, 0x0839), (0x083D, 0x083E), (0x0964, 0x0965), (0x104A, 0x104B), (0x1362, 0x1362), (0x1367, 0x1368),
    (0x166E, 0x166E), (0x1735, 0x1736), (0x17D4, 0x17D6), (0x17D9, 0x17DA), (0x1803, 0x1803), (0x1809, 0x1809),
    (0x1944, 0x1945), (0x1AA8, 0x1AAB), (0x1B5A, 0x1B5B), (0x1B5E, 0x1B5F), (0x1B7D, 0x1B7E), (0x1C3B, 0x1C3C),
    (0x1C7E, 0x1C7F), (0x203C, 0x203D), (0x2047, 0x2049), (0x2E2E, 0x2E2E), (0x2E3C, 0x2E3C), (0x2E53, 0x2E54),
    (0x3002, 0x3002), (0xA4FF, 0xA4FF), (0xA60E, 0xA60F), (0xA6F3, 0xA6F3), (0xA6F7, 0xA6F7), (0xA876, 0xA877),
    (0xA8CE, 0xA8CF), (0xA92F, 0xA92F), (0xA9C8, 0xA9C9), (0xAA5D, 0xAA5F), (0xAAF0, 0xAAF1), (0xABEB, 0xABEB),
    (0xFE52, 0xFE52), (0xFE56, 0xFE57), (0xFF01, 0xFF01), (0xFF0E, 0xFF0E), (0xFF1F, 0xFF1F), (0xFF61, 0xFF61),
    (0x10A56, 0x10A57), (0x10F55, 0x10F59), (0x10F86, 0x10F89), (0x11047, 0x11048), (0x110BE, 0x110C1),
    (0x11141, 0x11143), (0x111C5, 0x111C6), (0x111CD, 0x111CD), (0x111DE, 0x111DF), (0x11238, 0x11239),
    (0x1123B, 0x1123C), (0x112A9, 0x112A9), (0x1144B, 0x1144C), (0x115C2, 0x115C3), (0x115C9, 0x115D7),
    (0x11641, 0x11642), (0x1173C, 0x1173E), (0x11944, 0x11944), (0x11946, 0x11946), (0x11A42, 0x11A43),
    (0x11A9B, 0x11A9C), (0x11C41, 0x11C42), (0x11EF7, 0x11EF8), (0x11F43, 0x11F44), (0x16A6E, 0x16A6F),
    (0x16AF5, 0x16AF5), (0x16B37, 0x16B38), (0x16B44, 0x16B44), (0x16E98, 0x16E98), (0x1BC9F, 0x1BC9F),
    (0x1DA88, 0x1DA88),
];

/// Further punctuation and control characters outside ASCII.
#[rustfmt::skip]
pub(super) const OTHER_SYMBOLS: &[(u32, u32)] = &[
    (0x0080, 0x009F),
    (0x00AB, 0x00AB), (0x00B4, 0x00B4), (0x00BB, 0x00BB), (0x2013, 0x2014), (0x2019, 0x2019), (0x201C, 0x201E),
    (0x2026, 0x2026), (0x2236, 0x2236), (0x2501, 0x2501), (0x25BA, 0x25BA), (0x3001, 0x3001), (0x3008, 0x300D),
    (0x3010, 0x3011), (0xFF05, 0xFF05), (0xFF08, 0xFF09), (0xFF0C, 0xFF0C), (0xFF11, 0xFF11), (0xFF1A, 0xFF1B),
    (0xFF5E, 0xFF5E),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_sizes_of_their_sources() {
        let count = |is: fn(char) -> bool| ('\0'..=char::MAX).filter(|c| is(*c)).count();
        // `len(TERMINAL_PUNCTUATION)` and `len(PUNCTUATION_SET)` of datatrove.
        assert_eq!(count(is_terminal), 159);
        assert_eq!(count(is_symbol), 281);
    }

    #[test]
    fn members_and_neighbours_are_told_apart() {
        for (c, terminal, symbol) in [
            ('.', true, true),
            ('。', true, true),
            ('…', false, true),
            ('•', false, false),
            ('１', false, true),
            ('２', false, false),
            ('٣', false, false),
            ('½', false, false),
            ('a', false, false),
            ('\u{7f}', false, true),
        ] {
            assert_eq!((is_terminal(c), is_symbol(c)), (terminal, symbol), "{c:?}");
        }
    }
}
