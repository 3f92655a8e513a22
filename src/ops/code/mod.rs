//! Source code: what is comment, what is text, what is generated. One file an operator; each is listed here.

mod code_letter_ratio;
mod code_limits;
mod code_longest_line;
mod comment_ratio;
mod comments;
mod has_xml_header;
mod html;
mod html_text;
mod html_text_ratio;
mod python;
mod python_comment_ratio;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[
    &code_letter_ratio::SPEC,
    &code_limits::SPEC,
    &code_longest_line::SPEC,
    &comment_ratio::SPEC,
    &has_xml_header::SPEC,
    &html_text::SPEC,
    &html_text_ratio::SPEC,
    &python_comment_ratio::SPEC,
];
