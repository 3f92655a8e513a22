//! Source code: what is comment, what is text, what is generated. One file an operator; each is listed here.

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[];
