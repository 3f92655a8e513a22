//! Pages of the web: line rules, boilerplate, addresses. One file an operator; each is listed here.

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[];
