//! Puts one space in place of each character that is not part of a word.
//!
//! ASCII is done in blocks without branches; only blocks that hold another character are looked at one by one.

use crate::ops::scan::{Classes, Properties, is_space, is_title_case};

const BLOCK: usize = 32;

/// Words are what is not white space; the rest is kept as it is.
pub(super) fn keep_case(text: &str, out: &mut Vec<u8>) {
    let of_byte = |byte: u8| {
        let is_break = byte.wrapping_sub(b'\t') < 5 || byte.wrapping_sub(0x1c) < 4;
        if is_break { b' ' } else { byte }
    };
    in_blocks(text, out, of_byte, |c, out| push(if is_space(c) { ' ' } else { c }, out));
}

/// Words are Python's `\w+` of the text in lower case.
pub(super) fn lower_case(text: &str, out: &mut Vec<u8>) {
    let of_byte = |byte: u8| {
        let lower = byte | u8::from(byte.wrapping_sub(b'A') < 26) << 5;
        let is_word = lower.wrapping_sub(b'a') < 26 || lower.wrapping_sub(b'0') < 10 || lower == b'_';
        if is_word { lower } else { b' ' }
    };
    let classes = Classes::get();
    let of_char = |c: char, out: &mut Vec<u8>| {
        let properties = classes.of(c);
        if properties.any(Properties::UPPERCASE) || is_title_case(c) {
            // The classes leave out ASCII, which the lower case of a character outside it may be.
            let in_word = |c: char| classes.of(c).any(WORD) || c.is_ascii_alphanumeric();
            c.to_lowercase().for_each(|c| push(if in_word(c) { c } else { ' ' }, out));
        } else {
            push(if properties.any(WORD) { c } else { ' ' }, out);
        }
    };
    // The one letter whose lower case depends on its neighbours.
    if !text.is_ascii() && text.contains('Σ') {
        in_blocks(&text.to_lowercase(), out, of_byte, of_char);
    } else {
        in_blocks(text, out, of_byte, of_char);
    }
}

pub(super) const WORD: Properties = Properties::LETTER.and(Properties::NUMBER);

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Maps ASCII by byte and the rest by character.
#[inline(always)]
fn in_blocks(text: &str, out: &mut Vec<u8>, of_byte: impl Fn(u8) -> u8, of_char: impl Fn(char, &mut Vec<u8>)) {
    let mut rest = text;
    out.reserve(text.len() + 2 * BLOCK);
    while !rest.is_empty() {
        if let Some(block) = rest.as_bytes().first_chunk::<BLOCK>()
            && block.is_ascii()
        {
            out.extend_from_slice(&block.map(&of_byte));
            rest = &rest[BLOCK..];
            continue;
        }
        let mut n_bytes = 0;
        for c in rest.chars() {
            if n_bytes >= BLOCK {
                break;
            }
            n_bytes += c.len_utf8();
            match u8::try_from(c) {
                Ok(byte) if byte.is_ascii() => out.push(of_byte(byte)),
                _ => of_char(c, out),
            }
        }
        rest = &rest[n_bytes..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_becomes_its_lower_case_or_a_space() {
        for c in '\0'..=char::MAX {
            let mut folded = vec![];
            lower_case(&c.to_string(), &mut folded);
            let lower: String = c.to_lowercase().collect();
            let folded = String::from_utf8_lossy(&folded).into_owned();
            assert_eq!(folded.chars().count(), lower.chars().count(), "{c:?}");
            assert!(folded.chars().zip(lower.chars()).all(|(ours, lower)| ours == lower || ours == ' '), "{c:?}");
        }
    }
}
