//! Personal data: finding and hiding it. One file an operator; each is listed here.

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[];
