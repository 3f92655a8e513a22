//! Cuts a text into lines, paragraphs or sentences.
//!
//! - line: ends at `\n`, which goes with it; `\r` before it counts as white space.
//! - paragraph: a run of lines that are not blank; the blank lines after it go with it.
//! - sentence: ends at a line break, after `。！？｡`, and after `.!?…` and the full stops of other scripts where white
//!   space or the end follows, all with the quotes and brackets that close behind it. No abbreviations, no language.
//!   The white space before it goes with it, as in datatrove.
//!
//! Invariant: units are in order, do not overlap, and hold more than white space.

use super::finder::is_space;
use crate::dedup::LinesUnit;
use memchr::memchr;
use std::ops::Range;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// What is compared: without white space at both ends.
    pub text: Range<usize>,
    /// What goes when it goes.
    pub whole: Range<usize>,
}

/// All units of the text.
pub(super) fn units(text: &str, unit: LinesUnit) -> Vec<Unit> {
    match unit {
        LinesUnit::Line => lines(text).filter_map(|line| trimmed(text, line)).collect(),
        LinesUnit::Paragraph => paragraphs(text),
        LinesUnit::Sentence => sentences(text),
    }
}

/// Line breaks included.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.as_bytes().get(start..).filter(|rest| !rest.is_empty())?;
        let line = start..start + memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        start = line.end;
        Some(line)
    })
}

/// The unit of this range; none if it is blank.
fn trimmed(text: &str, whole: Range<usize>) -> Option<Unit> {
    let piece = text.get(whole.clone())?;
    let inner = piece.trim_end_matches(is_space);
    let end = whole.start + inner.len();
    let start = end - inner.trim_start_matches(is_space).len();
    (start < end).then_some(Unit { text: start..end, whole })
}

fn paragraphs(text: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = vec![];
    let mut after_blank = true;
    for line in lines(text) {
        match (trimmed(text, line.clone()), units.last_mut()) {
            (Some(unit), Some(last)) if !after_blank => {
                last.text.end = unit.text.end;
                last.whole.end = line.end;
            }
            (Some(unit), _) => units.push(unit),
            (None, last) => {
                after_blank = true;
                if let Some(last) = last {
                    last.whole.end = line.end;
                }
                continue;
            }
        }
        after_blank = false;
    }
    units
}

fn sentences(text: &str) -> Vec<Unit> {
    let mut units = vec![];
    let mut start = 0;
    for end in sentence_ends(text) {
        let Some(unit) = trimmed(text, start..end) else { continue };
        start = unit.text.end;
        units.push(Unit { whole: unit.whole.start..unit.text.end, text: unit.text });
    }
    units
}

/// Where a sentence may end; the end of the text is the last.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum After {
        Text,
        Stop,
        WideStop,
    }
    let mut after = After::Text;
    let mut at = 0;
    let ends = std::iter::from_fn(move || {
        loop {
            if after == After::Text {
                // Most of a text is passed over byte by byte.
                let rest = text.as_bytes().get(at..)?;
                at += rest.iter().position(|byte| matches!(byte, b'.' | b'!' | b'?' | b'\n' | 0x80..))?;
            }
            let c = text.get(at..)?.chars().next()?;
            let (was, here) = (after, at);
            at += c.len_utf8();
            match c {
                '.' | '!' | '?' | '…' | '؟' | '۔' | '।' | '॥' | '։' | '።' | '‼' | '⁇' | '⁈' | '⁉' => {
                    after = After::Stop
                }
                '。' | '！' | '？' | '｡' => after = After::WideStop,
                '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '」' | '』' | '）' | '】' | '》'
                    if was != After::Text => {}
                _ => after = After::Text,
            }
            let is_end = match was {
                After::Text => c == '\n',
                After::Stop => is_space(c),
                After::WideStop => after == After::Text,
            };
            if is_end {
                return Some(here);
            }
        }
    });
    ends.chain(std::iter::once(text.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(unit: LinesUnit, text: &str, expected: &[&str]) {
        let found: Vec<_> = units(text, unit).into_iter().map(|unit| text[unit.whole].to_string()).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn lines_end_at_line_breaks_and_blank_ones_do_not_count() {
        check(LinesUnit::Line, "a\r\n\n b \n\t\nc", &["a\r\n", " b \n", "c"]);
        check(LinesUnit::Line, "", &[]);
        check(LinesUnit::Line, "a\rb\n", &["a\rb\n"]);
    }

    #[test]
    fn paragraphs_end_at_blank_lines() {
        check(LinesUnit::Paragraph, "\na\nb\n \n\nc\r\n\r\nd", &["a\nb\n \n\n", "c\r\n\r\n", "d"]);
    }

    #[test]
    fn sentences_end_at_stops_before_white_space() {
        check(LinesUnit::Sentence, "A 1.5 b. C?! D", &["A 1.5 b.", " C?!", " D"]);
        check(LinesUnit::Sentence, "He said \"no.\" Then (yes!) x", &["He said \"no.\"", " Then (yes!)", " x"]);
        check(LinesUnit::Sentence, "title\n\nA. B.\n", &["title", "\n\nA.", " B."]);
        check(LinesUnit::Sentence, "你好。你好！」好", &["你好。", "你好！」", "好"]);
        check(LinesUnit::Sentence, "wait… what…? no...yes", &["wait…", " what…?", " no...yes"]);
        check(LinesUnit::Sentence, "क है। ख", &["क है।", " ख"]);
    }

    proptest! {
        #[test]
        fn units_are_in_order_and_hold_all_that_is_not_white_space(text in "[a。.!?\"\r\n é]{0,60}") {
            for unit in [LinesUnit::Line, LinesUnit::Paragraph, LinesUnit::Sentence] {
                let (mut end, mut held) = (0, String::new());
                for unit in units(&text, unit) {
                    prop_assert!(unit.whole.start >= end && unit.text.start >= unit.whole.start);
                    prop_assert!(unit.text.end <= unit.whole.end && !text[unit.text.clone()].trim().is_empty());
                    held.push_str(&text[unit.text.clone()]);
                    end = unit.whole.end;
                }
                let bare = |text: &str| text.split_whitespace().collect::<String>();
                prop_assert_eq!(bare(&held), bare(&text));
            }
        }
    }
}
