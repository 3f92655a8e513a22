//! The quality signals that RedPajama publishes with its documents. One file an operator; each is listed here.

mod bare_text;
mod characters;
mod redpajama_signals;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[&bare_text::SPEC, &redpajama_signals::SPEC];
