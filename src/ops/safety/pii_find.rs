//! `pii_find(text, kinds => […], public_only => false)`: personal data, one by one.

use super::detect::{Wanted, find};
use crate::ops::prelude::*;

static FOUND: Returns = Returns::Struct(&[
    ("kind", Returns::Utf8),
    ("start", Returns::Int64),
    ("length", Returns::Int64),
    ("value", Returns::Utf8),
]);

pub(super) static SPEC: OpSpec = OpSpec {
    name: "pii_find",
    family: Family::Safety,
    summary: "the personal data of the document: kind, place and text of each",
    details: "Lists what `pii_redact` hides, in order; the rules are there. `start` and `length` count characters, the \
              first being 1, so that `substr(text, start, length)` is `value`. `unnest` makes a row of each. An empty \
              document gives an empty list.",
    params: &[Param::text("text", "the document"), Wanted::KINDS, Wanted::PUBLIC_ONLY],
    returns: Returns::List(&FOUND),
    examples: &[
        Example::of("pii_find('ask joe@example.org')[1]['value']", "'joe@example.org'"),
        Example::of("pii_find('ask joe@example.org')[1]['start']", "5"),
        Example::of("cardinality(pii_find('nothing here'))", "0"),
        Example::of("pii_find(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.3), // measured on mixed documents
    cpu: Cpu::List(|text, args, items| {
        let (mut bytes_before, mut chars_before) = (0, 0);
        for finding in find(text, Wanted::of(args)) {
            let value = &text[finding.start..finding.end];
            chars_before += scan::n_chars(&text[bytes_before..finding.start]);
            bytes_before = finding.start;
            items
                .item()
                .text(finding.kind.name())
                .int(chars_before as i64 + 1)
                .int(scan::n_chars(value) as i64)
                .text(value);
        }
    }),
    gpu: Gpu::NOT_YET,
};
