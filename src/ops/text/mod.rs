//! Text in, text out. One file an operator; each is listed here.

mod collapse_whitespace;
mod decode_html_entities;
mod fix_unicode;
mod normalize_newlines;
mod normalize_unicode;
mod truncate_words;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &collapse_whitespace::SPEC,
    &decode_html_entities::SPEC,
    &fix_unicode::SPEC,
    &normalize_newlines::SPEC,
    &normalize_unicode::SPEC,
    &truncate_words::SPEC,
];
