//! `compression_ratio(text)`: how much smaller the document becomes.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "compression_ratio",
    family: Family::Quality,
    summary: "bytes after compression per byte before",
    details: "(bytes of the document compressed with Zstandard, level 3) / bytes. Text that repeats itself \
              compresses well and gives a small number; natural prose lies between 0.3 and 0.6. The exact value \
              depends on the version of the library. An empty document gives 1.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("compression_ratio(repeat('again ', 1000)) < 0.05", "true"),
        Example::of("compression_ratio('')", "1.0"),
        Example::of("compression_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(10.64).and_ns_per_row(5000.0),
    cpu: Cpu::Float(|text, _| compression_ratio(text)),
    gpu: Gpu::No("compression stays on the CPU"),
};

fn compression_ratio(text: &str) -> f64 {
    if text.is_empty() {
        return 1.0;
    }
    // Writing to memory does not fail; a text that could not be compressed would be as large as it is.
    zstd::bulk::compress(text.as_bytes(), 3).map_or(1.0, |packed| packed.len() as f64 / text.len() as f64)
}
