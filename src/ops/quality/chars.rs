//! `chars(text)`: the number of characters.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "chars",
    family: Family::Quality,
    summary: "number of characters (Unicode code points)",
    details: "As Python's `len()`; `octet_length(text)` is the number of bytes. An empty document has 0 \
              characters.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[Example::of("chars('naïve')", "5"), Example::of("chars('')", "0"), Example::of("chars(NULL)", "NULL")],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.36),
    cpu: Cpu::count(|_| Needs::CHARS, |doc, _| doc.chars().n_chars as i64),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/chars.cu")),
};
