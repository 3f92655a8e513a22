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
    c.is_numeric() || (!c.is_ascii() && NUMBER_IDEOGRAPHS.binary_search(&c).is_ok())
}

/// In the order of their code points.
#[rustfmt::skip]
const NUMBER_IDEOGRAPHS: [char; 81] = [
    '㐅', '㒃', '㠪', '㭍', '一', '七', '万', '三', '九', '二', '五', '亖', '亿', '什', '仟', '仨', '伍', '佰',
    '億', '兆', '兩', '八', '六', '十', '千', '卄', '卅', '卌', '叁', '参', '參', '叄', '四', '壱', '壹', '幺',
    '廾', '廿', '弌', '弍', '弎', '弐', '拾', '捌', '柒', '漆', '玖', '百', '肆', '萬', '貮', '貳', '贰', '阡',
    '陆', '陌', '陸', '零', '\u{f96b}', '\u{f973}', '\u{f978}', '\u{f9b2}', '\u{f9d1}', '\u{f9d3}', '\u{f9fd}', '𠀁', '𠁤', '𠃢', '𠄡', '𠤪', '𠦃', '𠦌',
    '𠦜', '𠫪', '𠫽', '𠬙', '𢎐', '𢦘', '𣬛', '𦉭', '\u{2f890}',
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_classed_as_python_does() {
        for c in ['a', 'Z', '0', '_', 'é', 'ß', '日', '٣', 'Ⅷ', '½', '²', 'ª'] {
            assert!(is_word_char(c), "{c}");
        }
        for c in ['-', ' ', '\u{301}', '\u{93e}', 'Ⓐ', '…', '€', '😀'] {
            assert!(!is_word_char(c), "{c}");
        }
        assert!(['1', '½', '²', 'Ⅷ', '三', '億', '\u{2f890}'].into_iter().all(is_numeric));
        assert!(!['a', '日', '-'].into_iter().any(is_numeric));
        assert!(NUMBER_IDEOGRAPHS.is_sorted());
        let upper = ["ABC", "A1", "Ö-X", "1A"];
        assert!(upper.into_iter().all(is_upper) && !["", "1", "Ab", "ǅA", "ªA"].into_iter().any(is_upper));
    }
}
