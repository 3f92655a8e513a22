//! Pages of the web: line rules, boilerplate, addresses. One file an operator; each is listed here.

mod c4_lines;
mod device_lists;
mod has_listed_word;
mod letter_word_ratio;
mod letters;
mod line_count;
mod line_end_ratio;
mod line_kinds;
mod line_span;
mod line_start_ratio;
mod lines_with_few_words;
mod lines_without_end;
mod listed_word_ratio;
mod long_lines;
mod mean_non_symbol_word_length;
mod non_symbol_words;
mod sentence_count;
mod string_to_word_ratio;
mod terminal_line_ratio;
mod untrimmed_short_line_ratio;
mod words_containing_ratio;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &c4_lines::SPEC,
    &has_listed_word::SPEC,
    &letter_word_ratio::SPEC,
    &line_count::SPEC,
    &line_end_ratio::SPEC,
    &line_start_ratio::SPEC,
    &lines_with_few_words::SPEC,
    &lines_without_end::SPEC,
    &listed_word_ratio::SPEC,
    &long_lines::SPEC,
    &mean_non_symbol_word_length::SPEC,
    &non_symbol_words::SPEC,
    &string_to_word_ratio::SPEC,
    &terminal_line_ratio::SPEC,
    &untrimmed_short_line_ratio::SPEC,
    &words_containing_ratio::SPEC,
];
