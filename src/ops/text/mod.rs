//! Text in, text out. One file an operator; each is listed here.

pub(crate) mod boilerplate;
mod collapse_whitespace;
mod decode_html_entities;
mod fix_unicode;
mod fold_case;
mod limit_newlines;
mod normalize_newlines;
mod normalize_unicode;
mod pack_text;
mod remove_boilerplate;
pub(crate) mod remove_citations;
mod remove_control_chars;
mod remove_lines;
mod remove_urls;
mod slice_between;
mod slice_chars;
mod split_text;
mod strip_markdown;
mod strip_quotation;
mod trim_lines;
mod truncate_words;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &collapse_whitespace::SPEC,
    &decode_html_entities::SPEC,
    &fix_unicode::SPEC,
    &fold_case::SPEC,
    &limit_newlines::SPEC,
    &normalize_newlines::SPEC,
    &normalize_unicode::SPEC,
    &pack_text::SPEC,
    &remove_boilerplate::SPEC,
    &remove_citations::SPEC,
    &remove_control_chars::SPEC,
    &remove_lines::SPEC,
    &remove_urls::SPEC,
    &slice_between::SPEC,
    &slice_chars::SPEC,
    &split_text::SPEC,
    &strip_markdown::SPEC,
    &strip_quotation::SPEC,
    &trim_lines::SPEC,
    &truncate_words::SPEC,
];
