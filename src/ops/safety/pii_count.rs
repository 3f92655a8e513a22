//! `pii_count(text, kinds => […], public_only => false)`: how much personal data there is.

use super::detect::{Wanted, find};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "pii_count",
    family: Family::Safety,
    summary: "how many e-mail addresses, telephone numbers and the like the document holds",
    details: "Counts what `pii_redact` hides; the rules are there. An empty document has none.",
    params: &[Param::text("text", "the document"), Wanted::KINDS, Wanted::PUBLIC_ONLY],
    returns: Returns::Int64,
    examples: &[
        Example::of("pii_count('Write to joe@example.org or call (212) 555-0123.')", "2"),
        Example::of("pii_count('joe@example.org', kinds => ['phone'])", "0"),
        Example::of("pii_count('from 10.0.0.7 to 8.8.8.8', ['ipv4'], public_only => true)", "1"),
        Example::of("pii_count('')", "0"),
        Example::of("pii_count(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.3), // measured on mixed documents
    cpu: Cpu::Int(|text, args| find(text, Wanted::of(args)).len() as i64),
    gpu: Gpu::NOT_YET,
};
