//! Text in, text out. One file an operator; each is listed here.

mod collapse_whitespace;
mod normalize_newlines;
mod normalize_unicode;
mod truncate_words;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] =
    &[&collapse_whitespace::SPEC, &normalize_newlines::SPEC, &normalize_unicode::SPEC, &truncate_words::SPEC];
