//! Text in, text out. One file an operator; each is listed here.

pub(crate) mod boilerplate;
mod collapse_whitespace;
mod limit_newlines;
mod normalize_newlines;
mod normalize_unicode;
mod remove_boilerplate;
mod remove_lines;
mod remove_urls;
mod slice_between;
mod slice_chars;
mod strip_markdown;
mod strip_quotation;
mod truncate_words;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &collapse_whitespace::SPEC,
    &limit_newlines::SPEC,
    &normalize_newlines::SPEC,
    &normalize_unicode::SPEC,
    &remove_boilerplate::SPEC,
    &remove_lines::SPEC,
    &remove_urls::SPEC,
    &slice_between::SPEC,
    &slice_chars::SPEC,
    &strip_markdown::SPEC,
    &strip_quotation::SPEC,
    &truncate_words::SPEC,
];
