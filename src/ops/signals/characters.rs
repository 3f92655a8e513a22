//! Characters as Python's regular expressions and `str` methods class them.

use unicode_normalization::char::is_combining_mark;

/// Python's `\w`: letters, numbers of any script and `_`. Marks are none, nor are letters in circles and squares.
pub(super) fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    c.is_alphanumeric() && !is_combining_mark(c) && !is_enclosed_letter(c)
}

/// Letters in circles and squares: alphabetic for Unicode, symbols for Python.
fn is_enclosed_letter(c: char) -> bool {
    matches!(c, 'Ⓐ'..='ⓩ' | '🄰'..='🅉' | '🅐'..='🅩' | '🅰'..='🆉')
}

/// Python's `str.isnumeric()`: digits, fractions, letter numbers, and ideographs that are numbers.
pub(super) fn is_numeric(c: char) -> bool {
    c.is_numeric() || (c >= '㐅' && NUMBER_IDEOGRAPHS.contains(c))
}

const NUMBER_IDEOGRAPHS: &str = "㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零\
                                 \u{f96b}\u{f973}\u{f978}\u{f9b2}\u{f9d1}\u{f9d3}\u{f9fd}𠀁𠁤𠃢𠄡𠤪𠦃𠦌𠦜𠫪𠫽𠬙𢎐𢦘𣬛𦉭\u{2f890}";

/// Python's `str.isupper()`: a cased character, and none that is not upper-case.
pub(super) fn is_upper(word: &str) -> bool {
    let mut has_upper = false;
    for c in word.chars() {
        if c.is_lowercase() || is_titlecase(c) {
            return false;
        }
        has_upper |= c.is_uppercase();
    }
    has_upper
}

/// Digraphs and Greek letters with a small second part: `ǅ`, `ᾈ`.
fn is_titlecase(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ' | 'ᾈ'..='ᾏ' | 'ᾘ'..='ᾟ' | 'ᾨ'..='ᾯ' | 'ᾼ' | 'ῌ' | 'ῼ')
}
