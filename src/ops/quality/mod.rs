//! Numbers and predicates that tell good documents from bad ones. One file an operator; each is listed here.

mod alpha_ratio;
mod alpha_word_ratio;
mod alphanumeric_ratio;
mod boilerplate_paragraph_ratio;
mod bullet_line_ratio;
mod char_ratio;
mod chars;
mod compression_ratio;
mod contains_any;
mod digit_ratio;
mod ellipsis_line_ratio;
mod has_curly_bracket;
mod has_javascript;
mod has_lorem_ipsum;
mod has_url_with;
mod juicer_words;
mod lines;
mod longest_line;
mod longest_word;
mod mean_line_length;
mod mean_word_length;
mod median_word_length;
mod newlines;
mod paragraphs;
mod punctuation_ratio;
mod sentences;
mod short_line_ratio;
mod special_char_ratio;
mod stop_words;
mod symbol_to_word_ratio;
mod symbol_word_ratio;
mod text_stats;
mod unterminated_line_ratio;
mod uppercase_ratio;
mod url_ratio;
mod whitespace_ratio;
mod words;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &alpha_ratio::SPEC,
    &alpha_word_ratio::SPEC,
    &alphanumeric_ratio::SPEC,
    &boilerplate_paragraph_ratio::SPEC,
    &bullet_line_ratio::SPEC,
    &char_ratio::SPEC,
    &chars::SPEC,
    &compression_ratio::SPEC,
    &contains_any::SPEC,
    &digit_ratio::SPEC,
    &ellipsis_line_ratio::SPEC,
    &has_curly_bracket::SPEC,
    &has_javascript::SPEC,
    &has_lorem_ipsum::SPEC,
    &has_url_with::SPEC,
    &juicer_words::SPEC,
    &lines::SPEC,
    &longest_line::SPEC,
    &longest_word::SPEC,
    &mean_line_length::SPEC,
    &mean_word_length::SPEC,
    &median_word_length::SPEC,
    &newlines::SPEC,
    &paragraphs::SPEC,
    &punctuation_ratio::SPEC,
    &sentences::SPEC,
    &short_line_ratio::SPEC,
    &special_char_ratio::SPEC,
    &stop_words::SPEC,
    &symbol_to_word_ratio::SPEC,
    &symbol_word_ratio::SPEC,
    &text_stats::SPEC,
    &unterminated_line_ratio::SPEC,
    &uppercase_ratio::SPEC,
    &url_ratio::SPEC,
    &whitespace_ratio::SPEC,
    &words::SPEC,
];
