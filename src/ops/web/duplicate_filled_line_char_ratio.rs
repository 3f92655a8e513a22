//! `duplicate_filled_line_char_ratio(text)`: the characters of lines that were there before.

use super::line_kinds::is_blank;
use crate::ops::prelude::*;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::xxh3_64;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "duplicate_filled_line_char_ratio",
    family: Family::Web,
    summary: "share of characters in lines that repeat an earlier line, blank lines aside",
    details: "Lines are cut at line feeds; those of white space are left out. (characters of lines equal to an earlier \
              one) / (characters of the document that are not line feeds). FineWeb drops documents above 0.01. A \
              document of line feeds alone gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"duplicate_filled_line_char_ratio(E'ab\n\nab\ncd\n')", "0.3333333333333333"),
        Example::of(r"duplicate_filled_line_char_ratio(E'\n\n')", "0.0"),
        Example::of("duplicate_filled_line_char_ratio('')", "0.0"),
        Example::of("duplicate_filled_line_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.0), // benches/operators.rs
    cpu: Cpu::measure(|_| Needs::LINES, |doc, _| duplicate_ratio(doc)),
    gpu: Gpu::NOT_YET,
};

/// Hashes a line in one go.
#[derive(Default)]
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= xxh3_64(bytes);
    }

    /// The mark that `str` puts after its bytes: one line is hashed at a time.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

fn duplicate_ratio(doc: &Doc) -> f64 {
    let n_lines = doc.lines().spans.len();
    let mut seen: HashSet<&str, BuildHasherDefault<LineHasher>> = HashSet::default();
    seen.reserve(n_lines.min(1 << 12));
    let mut n_duplicate_chars = 0;
    for line in doc.lines().iter(doc.text()) {
        if !is_blank(line) && !seen.insert(line) {
            n_duplicate_chars += scan::n_chars(line);
        }
    }
    if n_duplicate_chars == 0 {
        return 0.0;
    }
    scan::ratio(n_duplicate_chars, scan::n_chars(doc.text()) - (n_lines - 1))
}
