//! Personal data: finding and hiding it. One file an operator; each is listed here.
//!
//! All of them look for the same things, by the same rules: `detect`.

mod detect;
mod pii_count;
mod pii_find;
mod pii_redact;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[&pii_count::SPEC, &pii_find::SPEC, &pii_redact::SPEC];
