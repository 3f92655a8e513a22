//! Named character references of HTML.

use htmlize::ENTITIES;

/// The characters that `&name;` stands for.
pub(super) fn named(name: &str) -> Option<&'static str> {
    let characters = ENTITIES.get(format!("&{name};").as_bytes())?;
    std::str::from_utf8(characters).ok()
}

/// The character that `&#number;` stands for: what HTML says, so 0, surrogates and numbers past Unicode are replaced,
/// and 128 to 159 mean the characters of Windows-1252.
pub(super) fn numbered(number: u32) -> char {
    match number {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => WINDOWS_1252[number as usize - 0x80],
        _ => char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// The characters of Windows-1252 from 0x80; the five that it leaves open stand for themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '\u{2dc}', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stand_for_their_characters() {
        assert_eq!(named("amp"), Some("&"));
        assert_eq!(named("NotEqualTilde"), Some("\u{2242}\u{338}"));
        assert_eq!(named("nope"), None);
        assert_eq!(
            [0x41, 0x80, 0x81, 0, 0xd800, 0x110000].map(numbered),
            ['A', '€', '\u{81}', '\u{fffd}', '\u{fffd}', '\u{fffd}']
        );
    }
}
