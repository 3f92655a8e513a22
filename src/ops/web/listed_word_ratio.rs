//! `listed_word_ratio(text, words)`: the share of words that are in a list.

use super::device_lists::can_be_listed;
use crate::ops::prelude::*;
use crate::ops::scan::{Classes, Properties};

pub(super) static SPEC: OpSpec = OpSpec {
    name: "listed_word_ratio",
    family: Family::Web,
    summary: "share of words that are in a list, in lower case and without special characters at their ends",
    details: "(words that are members of `words`) / words. Words are split at space, tab and line feed, put into lower \
              case and stripped of Data-Juicer's special characters (see `special_char_ratio`); a word of nothing else \
              does not count. Data-Juicer's stopwords_filter keeps documents from 0.3, its flagged_words_filter \
              documents up to 0.045, each with its own list. A document without words gives 0.",
    params: &[Param::text("text", "the document"), Param::text_list("words", "the words, in lower case")],
    returns: Returns::Float64,
    examples: &[
        Example::of("listed_word_ratio('The end, (the) END! 42', ['the'])", "0.5"),
        Example::of("listed_word_ratio('- 42', ['the'])", "0.0"),
        Example::of("listed_word_ratio('', ['the'])", "0.0"),
        Example::of("listed_word_ratio(NULL, ['the'])", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(5.0), // estimate
    cpu: Cpu::Float(|text, args| {
        let (mut n_words, mut n_listed) = (0, 0);
        for word in text.split([' ', '\n', '\t']) {
            // Before the ends are cut: the letter Г is special, its lower case is not.
            let lower = word.to_lowercase();
            let word = lower.trim_matches(is_special);
            n_words += usize::from(!word.is_empty());
            n_listed += usize::from(!word.is_empty() && args.has_text("words", word));
        }
        scan::ratio(n_listed, n_words)
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/listed_word_ratio.cu"))
        .and_instructions_per_byte(850.0)
        .if_it_takes(can_be_listed),
};

fn is_special(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_punctuation() || c.is_ascii_digit() || matches!(c, ' ' | '\t'..='\r')
    } else {
        Classes::get().of(c).any(Properties::SPECIAL)
    }
}
