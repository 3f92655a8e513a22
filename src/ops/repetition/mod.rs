//! How much a document says again: lines, paragraphs, n-grams. One file an operator; each is listed here.

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[];
