//! Numbers and predicates that tell good documents from bad ones. One file an operator; each is listed here.

mod alpha_ratio;
mod chars;
mod contains_any;
mod digit_ratio;
mod has_lorem_ipsum;
mod lines;
mod mean_word_length;
mod stop_words;
mod symbol_to_word_ratio;
mod text_stats;
mod uppercase_ratio;
mod whitespace_ratio;
mod words;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &alpha_ratio::SPEC,
    &chars::SPEC,
    &contains_any::SPEC,
    &digit_ratio::SPEC,
    &has_lorem_ipsum::SPEC,
    &lines::SPEC,
    &mean_word_length::SPEC,
    &stop_words::SPEC,
    &symbol_to_word_ratio::SPEC,
    &text_stats::SPEC,
    &uppercase_ratio::SPEC,
    &whitespace_ratio::SPEC,
    &words::SPEC,
];
