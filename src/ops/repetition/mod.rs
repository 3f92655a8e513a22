//! How much a document says again: lines, paragraphs, n-grams. One file an operator; each is listed here.

mod char_repetition_ratio;
mod covered_ngram_char_ratio;
mod duplicate_line_char_ratio;
mod duplicate_line_ratio;
mod duplicate_ngram_char_ratio;
mod duplicate_paragraph_char_ratio;
mod duplicate_paragraph_ratio;
mod line_choice;
mod natural_log;
mod nemo_duplicate_ngram_ratio;
mod nemo_top_ngram_ratio;
mod repeated_line_char_ratio;
mod repeated_line_ratio;
mod repeated_ngram_word_char_ratio;
mod repeated_paragraph_char_ratio;
mod repeated_paragraph_ratio;
mod top_ngram_char_ratio;
mod top_ngram_covered_char_ratio;
mod top_ngram_word_char_ratio;
mod unique_line_char_ratio;
mod unique_line_ratio;
mod unique_paragraph_char_ratio;
mod unique_paragraph_ratio;
mod unique_word_ratio;
mod word_entropy;
mod word_repetition_ratio;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &char_repetition_ratio::SPEC,
    &covered_ngram_char_ratio::SPEC,
    &duplicate_line_char_ratio::SPEC,
    &duplicate_line_ratio::SPEC,
    &duplicate_ngram_char_ratio::SPEC,
    &duplicate_paragraph_char_ratio::SPEC,
    &duplicate_paragraph_ratio::SPEC,
    &nemo_duplicate_ngram_ratio::SPEC,
    &nemo_top_ngram_ratio::SPEC,
    &repeated_line_char_ratio::SPEC,
    &repeated_line_ratio::SPEC,
    &repeated_ngram_word_char_ratio::SPEC,
    &repeated_paragraph_char_ratio::SPEC,
    &repeated_paragraph_ratio::SPEC,
    &top_ngram_char_ratio::SPEC,
    &top_ngram_covered_char_ratio::SPEC,
    &top_ngram_word_char_ratio::SPEC,
    &unique_line_char_ratio::SPEC,
    &unique_line_ratio::SPEC,
    &unique_paragraph_char_ratio::SPEC,
    &unique_paragraph_ratio::SPEC,
    &unique_word_ratio::SPEC,
    &word_entropy::SPEC,
    &word_repetition_ratio::SPEC,
];
