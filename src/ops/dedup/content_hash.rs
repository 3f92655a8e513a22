//! `content_hash(text)`: a short name for a text.

use crate::ops::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "content_hash",
    family: Family::Dedup,
    summary: "128-bit hash of the text, as 32 hexadecimal digits",
    details: "XXH3-128 with seed 0 of the UTF-8 bytes. Equal texts have equal hashes, on every machine and in every \
              version; it is not made to withstand an attacker.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Utf8,
    examples: &[
        Example::of("content_hash('')", "'99aa06d3014798d86001c324468d497f'"),
        Example::of("content_hash('a') = content_hash('a ')", "false"),
        Example::of("content_hash(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.1).and_ns_per_row(80.0), // estimate
    cpu: Cpu::Text(|text, _| Cow::Owned(format!("{:032x}", xxh3_128(text.as_bytes())))),
    gpu: Gpu::Kernel(Kernel {
        source: include_str!("../../../kernels/dedup/content_hash.cu"),
        takes: |_| Ok(()),
        instructions_per_byte: 9.0, // counted on web pages
        scratch: |_| Scratch::NONE,
        n_words: |_| 2,
    }),
};
