//! E-mail addresses.
//!
//! `local@label.label…tld`. The local part has up to 64 letters, digits and `._%+-'`, begins with a letter, digit or
//! `_`, and has no two full stops in a row. Labels have up to 63 letters, digits and `-`, not at their ends; the last
//! one, at least two letters, is no ending of a picture's or program's file (`icon@2x.png`). Letters are those of the
//! alphabets of Europe, so that text written without spaces does not become part of an address.

use super::walk::char_at;

const MAX_LOCAL_CHARS: usize = 64;
const MAX_DOMAIN_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;
const FILE_ENDINGS: [&str; 14] =
    ["png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "ico", "css", "js", "html", "php", "json", "pdf"];

/// The address whose `@` is at `at`.
pub(super) fn around(text: &str, at: usize) -> Option<(usize, usize)> {
    let end = domain_end(text, at + 1)?;
    Some((local_start(text, at)?, end))
}

fn local_start(text: &str, at: usize) -> Option<usize> {
    let mut start = at;
    for (n_chars, (place, c)) in text[..at].char_indices().rev().enumerate() {
        let doubles_full_stop = c == '.' && text[start..].starts_with('.');
        if !(is_letter_or_digit(c) || "._%+-'".contains(c)) || doubles_full_stop {
            break;
        }
        if n_chars == MAX_LOCAL_CHARS {
            return None;
        }
        start = place;
    }
    let local = &text[start..at];
    let trimmed = local.trim_start_matches(|c: char| !is_letter_or_digit(c) && c != '_');
    (!trimmed.is_empty() && !trimmed.ends_with('.')).then_some(at - trimmed.len())
}

fn domain_end(text: &str, start: usize) -> Option<usize> {
    let mut end = None;
    let mut label_start = start;
    for n_labels in 0.. {
        let rest = text.get(label_start..)?;
        let length = rest.find(|c: char| !is_letter_or_digit(c) && c != '-').unwrap_or(rest.len());
        if length > MAX_LABEL_BYTES {
            break;
        }
        let label = &rest[..length];
        let label_end = label_start + length;
        if n_labels > 0
            && let Some(length) = top_level_bytes(label)
        {
            end = Some(label_start + length);
        }
        let is_sound = !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
        if !is_sound || label_end - start > MAX_DOMAIN_BYTES || char_at(text, label_end) != Some('.') {
            break;
        }
        label_start = label_end + 1;
    }
    end
}

/// How many bytes of the label are a top-level domain; a hyphen ends it, as in "joe@a.org-server".
fn top_level_bytes(label: &str) -> Option<usize> {
    if label.len() > 4 && label.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("xn--")) {
        return Some(label.len());
    }
    let letters = label.find(|c: char| !c.is_alphabetic()).unwrap_or(label.len());
    let is_whole = !label[letters..].starts_with(|c: char| c != '-');
    let top = &label[..letters];
    let is_file = FILE_ENDINGS.iter().any(|ending| top.eq_ignore_ascii_case(ending));
    (is_whole && top.chars().nth(1).is_some() && !is_file).then_some(letters)
}

fn is_letter_or_digit(c: char) -> bool {
    c.is_ascii_alphanumeric() || (c.is_alphanumeric() && matches!(c, '\u{80}'..='\u{58f}' | '\u{1e00}'..='\u{1fff}'))
}
