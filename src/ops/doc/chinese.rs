//! The words of Chinese text, as the segmenter jieba 0.42 finds them with its default dictionary.
//!
//! A run of Chinese characters, ASCII letters, digits and `+#&._%-` is cut by the dictionary; what the dictionary leaves
//! as single characters is joined again and cut by a hidden Markov model. Every other character is a word of its own, white
//! space included, except that a carriage return with its line feed is one.
//!
//! The crate `jieba-rs` has the dictionary and the model. It cuts some ASCII differently, so that only its two steps are
//! used, each alone: its dictionary without the model, and the model (a segmenter whose dictionary is empty) on runs of
//! Chinese characters.

use super::words::{Word, WordCounts, WordLengths, Words};
use crate::ops::scan::{self, Classes, Properties};
use jieba_rs::Jieba;
use std::sync::LazyLock;

static DICTIONARY: LazyLock<Jieba> = LazyLock::new(Jieba::new);
static MODEL: LazyLock<Jieba> = LazyLock::new(Jieba::empty);

/// The words of a document that are Chinese, and numbers about them.
#[derive(Debug, Default)]
pub(super) struct ChineseWords {
    pub(super) words: Words,
    pub(super) counts: WordCounts,
    pub(super) lengths: WordLengths,
}

impl ChineseWords {
    pub(super) fn read(&mut self, text: &str) {
        self.words.spans.clear();
        let stripped = text.trim_matches(scan::is_space);
        let mut cut = Cut { text, spans: &mut self.words.spans };
        let mut rest = stripped;
        while let Some(c) = rest.chars().next() {
            let n_bytes = match rest.find(|c| !is_block(c)).unwrap_or(rest.len()) {
                0 if rest.starts_with("\r\n") => 2,
                0 => c.len_utf8(),
                n_bytes => n_bytes,
            };
            let (piece, after) = rest.split_at(n_bytes);
            if is_block(c) {
                cut.block(piece);
            } else {
                cut.push(piece);
            }
            rest = after;
        }
        self.lengths.clear();
        self.words.iter(text).for_each(|word| self.lengths.add(word.chars().count() as u32));
        self.lengths.sort();
        let n_with_letter = self.words.iter(text).filter(|word| word.chars().any(is_letter)).count();
        let n_chars = stripped.chars().count();
        self.words.n_chars = n_chars;
        self.counts = WordCounts { n_words: self.words.len(), n_chars, n_with_letter };
    }
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { Classes::get().of(c).any(Properties::ALPHABETIC) }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fd5}')
}

/// What the dictionary cuts.
fn is_block(c: char) -> bool {
    is_han(c) || c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
}

struct Cut<'a> {
    text: &'a str,
    spans: &'a mut Vec<Word>,
}

impl Cut<'_> {
    /// Notes a word, which is a part of the text.
    fn push(&mut self, word: &str) {
        let start = word.as_ptr() as usize - self.text.as_ptr() as usize;
        self.spans.push(Word { start: start as u32, end: (start + word.len()) as u32 });
    }

    fn block(&mut self, block: &str) {
        let mut singles = 0..0;
        for token in DICTIONARY.cut(block, false) {
            // Without the model, the crate joins single letters and digits; the dictionary knows which are words.
            let is_single = token.end - token.start == 1;
            let is_joined =
                || token.word.bytes().all(|b| b.is_ascii_alphanumeric()) && !DICTIONARY.has_word(token.word);
            if is_single || is_joined() {
                singles.end = token.byte_end;
            } else {
                self.singles(&block[singles.clone()]);
                self.push(token.word);
                singles = token.byte_end..token.byte_end;
            }
        }
        self.singles(&block[singles]);
    }

    /// What the dictionary left as single characters, one after the other.
    fn singles(&mut self, run: &str) {
        if run.chars().nth(1).is_some() && DICTIONARY.has_word(run) {
            run.split_inclusive(|_| true).for_each(|c| self.push(c));
            return;
        }
        let mut rest = run;
        while let Some(c) = rest.chars().next() {
            if is_han(c) {
                let (han, after) = rest.split_at(rest.find(|c| !is_han(c)).unwrap_or(rest.len()));
                if han.len() == c.len_utf8() {
                    self.push(han);
                } else {
                    MODEL.cut(han, true).iter().for_each(|token| self.push(token.word));
                }
                rest = after;
            } else {
                let (ascii, after) = rest.split_at(rest.find(is_han).unwrap_or(rest.len()));
                self.ascii(ascii);
                rest = after;
            }
        }
    }

    /// Letters and digits, with a decimal part and a per cent sign if there is one, are a word; what lies between, too.
    fn ascii(&mut self, run: &str) {
        let mut rest = run;
        while !rest.is_empty() {
            let n_bytes = match rest.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(rest.len()) {
                0 => number(rest.as_bytes()),
                n_bytes => n_bytes,
            };
            let (word, after) = rest.split_at(n_bytes);
            self.push(word);
            rest = after;
        }
    }
}

/// How long `[a-zA-Z0-9]+(\.[0-9]+)?%?` is at the start of `bytes`.
fn number(bytes: &[u8]) -> usize {
    let run = |from: usize, is: fn(&u8) -> bool| bytes[from..].iter().take_while(|byte| is(byte)).count();
    let mut len = run(0, u8::is_ascii_alphanumeric);
    if bytes.get(len) == Some(&b'.') {
        let n_digits = run(len + 1, u8::is_ascii_digit);
        len += if n_digits > 0 { 1 + n_digits } else { 0 };
    }
    len + usize::from(bytes.get(len) == Some(&b'%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_jieba() {
        // From `'/'.join(jieba.cut(text))`, jieba 0.42.1.
        for (text, expected) in [
            ("", ""),
            (
                "小明硕士毕业于中国科学院计算所，后在日本京都大学深造",
                "小明/硕士/毕业/于/中国科学院/计算所/，/后/在/日本京都大学/深造",
            ),
            ("他来到了网易杭研大厦", "他/来到/了/网易/杭研/大厦"),
            ("  a b\r\n1.5%v-2.0 ", "a/ /b/\r\n/1.5%/v/-/2.0"),
        ] {
            let mut chinese = ChineseWords::default();
            chinese.read(text);
            assert_eq!(chinese.words.iter(text).collect::<Vec<_>>().join("/"), expected);
        }
    }
}
