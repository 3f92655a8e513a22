//! International bank account numbers (ISO 13616).
//!
//! A country of the registry in capitals, two check digits, and letters and digits to the country's length, in one
//! piece or in groups of four; the whole is 1 modulo 97.

use super::number::{Number, plain_separator};
use super::walk::{char_at, char_before, is_word};

/// Country and length, as the registry has them.
const COUNTRIES: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// The account number whose check digits begin the number.
pub(super) fn read(number: &Number) -> Option<(usize, usize)> {
    let text = number.text;
    let start = number.start.checked_sub(2)?;
    let country = text.as_bytes().get(start..number.start)?;
    let length = COUNTRIES.iter().find(|(code, _)| code.as_slice() == country).map(|(_, length)| *length)?;
    if is_word(char_before(text, start)) {
        return None;
    }
    let (mut characters, mut end) = ([0_u8; 34], start);
    for (place, character) in characters.iter_mut().enumerate().take(length) {
        let mut c = char_at(text, end)?;
        if place % 4 == 0 && place > 0 && plain_separator(c) == ' ' {
            end += c.len_utf8();
            c = char_at(text, end)?;
        }
        let is_right =
            if matches!(place, 2 | 3) { c.is_ascii_digit() } else { c.is_ascii_digit() || c.is_ascii_uppercase() };
        is_right.then_some(())?;
        *character = c as u8;
        end += 1;
    }
    (!is_word(char_at(text, end)) && remainder_97(&characters[..length]) == 1).then_some((start, end))
}

/// The number that the characters make with the first four moved to the end and A read as 10, B as 11, …, modulo 97.
fn remainder_97(characters: &[u8]) -> u32 {
    let (head, tail) = characters.split_at(4);
    tail.iter().chain(head).fold(0, |remainder, c| match c {
        b'0'..=b'9' => (remainder * 10 + u32::from(c - b'0')) % 97,
        _ => (remainder * 100 + u32::from(c - b'A') + 10) % 97,
    })
}
