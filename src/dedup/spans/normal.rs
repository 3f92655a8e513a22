//! What is compared of a line, paragraph or sentence.
//!
//! `words`: its runs of letters, digits and `_` in lower case, joined by a space. `datatrove`: what its `simplify_text`
//! makes of it by default.

use crate::ops::dedup::{Normalize, simplify};

/// The piece as it is compared; empty if there is nothing to compare. `buffer` is overwritten.
pub(super) fn normalized<'t>(piece: &'t str, normalize: Normalize, buffer: &'t mut String) -> &'t str {
    buffer.clear();
    match normalize {
        Normalize::None => return piece,
        Normalize::Words => push_words(piece, buffer),
        Normalize::Datatrove => buffer.push_str(&simplify(piece)),
    }
    buffer
}

fn push_words(piece: &str, buffer: &mut String) {
    if piece.is_ascii() {
        return push_ascii_words(piece, |byte| byte.is_ascii_alphanumeric() || *byte == b'_', buffer);
    }
    let mut apart = false;
    for c in piece.chars() {
        if c == '_' || c.is_alphanumeric() {
            push_apart(buffer, &mut apart);
            buffer.extend(c.to_lowercase());
        } else {
            apart = true;
        }
    }
}

/// The same, a word at a time.
fn push_ascii_words(piece: &str, is_word: impl Fn(&u8) -> bool, buffer: &mut String) {
    let mut apart = false;
    for word in piece.as_bytes().chunk_by(|a, b| is_word(a) == is_word(b)) {
        if is_word(&word[0]) {
            push_apart(buffer, &mut apart);
            buffer.push_str(std::str::from_utf8(word).unwrap_or_default());
        } else {
            apart = true;
        }
    }
    buffer.make_ascii_lowercase();
}

fn push_apart(buffer: &mut String, apart: &mut bool) {
    if std::mem::take(apart) && !buffer.is_empty() {
        buffer.push(' ');
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(normalize: Normalize, piece: &str, expected: &str) {
        assert_eq!(normalized(piece, normalize, &mut String::new()), expected);
    }

    #[test]
    fn words_are_joined_by_one_space() {
        check(Normalize::None, "A, b", "A, b");
        check(Normalize::Words, "-Don't  STOP_it, Élan!", "don t stop_it élan");
        check(Normalize::Words, "*** !", "");
    }

    #[test]
    fn simplified_as_datatrove_does() {
        // Each checked against `simplify_text` of datatrove 0.10.1.
        for (piece, expected) in [
            ("Hello,  World_1.5 and 1,000,000!", "hello world 0 and 0 0"),
            ("1.a 1|2|3 v1.2.3", "0 a 0 0 0 v0 0"),
            ("Déjà-vu — “naïve”", "deja vu naive"),
            ("ÀÉ 你好，世界。１２", "ae 你好 世界 0"),
            ("٣٫٥ × ½", "0 × ½"),
            ("*** --- …", ""),
        ] {
            check(Normalize::Datatrove, piece, expected);
        }
    }
}
