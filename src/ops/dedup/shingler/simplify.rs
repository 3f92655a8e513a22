//! datatrove's normalization of a text before it is cut into words (`simplify_text` of datatrove 0.10).
//!
//! Lower case; a number is one 0; punctuation is a space; runs of white space are one space, none at the ends; accents
//! (Mn after canonical decomposition) go. In this order, because it decides what counts as a number.

use super::marks::is_nonspacing_mark;
use crate::ops::scan::{is_decimal_digit, is_space};
use unicode_normalization::UnicodeNormalization;

/// The simplified text; its words have one space between them.
pub fn simplify(text: &str) -> String {
    let text = text.to_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut foreign = Vec::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_lowercase() {
            decompose(&mut foreign, &mut out);
            let n_letters = rest.bytes().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(rest.len());
            out.push_str(&rest[..n_letters]);
            rest = &rest[n_letters..];
            continue;
        }
        let n_bytes = if is_decimal_digit(c) { number_bytes(rest) } else { c.len_utf8() };
        let c = match c {
            _ if is_decimal_digit(c) => '0',
            _ if is_punctuation(c) || is_space(c) => ' ',
            _ => c,
        };
        rest = &rest[n_bytes..];
        // Decomposition may reorder marks among themselves, never across an ASCII character.
        if c.is_ascii() {
            decompose(&mut foreign, &mut out);
            // An accent that stood alone leaves nothing, so spaces are joined here too.
            if c != ' ' || !out.is_empty() && !out.ends_with(' ') {
                out.push(c);
            }
        } else {
            foreign.push(c);
        }
    }
    decompose(&mut foreign, &mut out);
    out.truncate(out.trim_end_matches(' ').len());
    out
}

fn decompose(foreign: &mut Vec<char>, out: &mut String) {
    if !foreign.is_empty() {
        out.extend(foreign.drain(..).nfd().filter(|c| !is_nonspacing_mark(*c)));
    }
}

/// The bytes of the number that `text` begins with: digits, and digits after one decimal separator.
fn number_bytes(text: &str) -> usize {
    let n_digits = digits_bytes(text);
    let rest = &text[n_digits..];
    let Some(separator) = rest.chars().next().filter(|c| matches!(c, '.' | ',' | '،' | '٫' | '⎖' | '⎗' | '⎘'))
    else {
        return n_digits;
    };
    match digits_bytes(&rest[separator.len_utf8()..]) {
        0 => n_digits,
        n_decimals => n_digits + separator.len_utf8() + n_decimals,
    }
}

fn digits_bytes(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_decimal_digit).len()
}

/// datatrove's list, control characters but the line feed included.
pub(super) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation() || c.is_ascii_control() && c != '\n';
    }
    matches!(
        c,
        '\u{80}'
            ..='\u{9f}'
                | '«'
                | '´'
                | '»'
                | '–'
                | '—'
                | '’'
                | '“'
                | '”'
                | '„'
                | '…'
                | '∶'
                | '━'
                | '►'
                | '、'
                | '。'
                | '〈'
                | '〉'
                | '《'
                | '》'
                | '「'
                | '」'
                | '【'
                | '】'
                | '！'
                | '％'
                | '（'
                | '）'
                | '，'
                | '．'
                | '：'
                | '；'
                | '？'
                | '～'
    )
}
