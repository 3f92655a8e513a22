//! `hash_fraction(text, seed)`: a number from 0 to 1 that the text decides.

use crate::ops::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(crate) static SPEC: OpSpec = OpSpec {
    name: "hash_fraction",
    family: Family::Dedup,
    summary: "a number from 0 (inclusive) to 1 (exclusive) that looks random and that the text decides",
    details: "The upper 53 bits of XXH3-64 with the seed, of the UTF-8 bytes, as a fraction. `hash_fraction(url) < 0.1` keeps a \
              tenth of the pages, the same ones in every run and on every machine, and with them all rows of one page. Another \
              seed gives numbers that have nothing to do with the first.",
    params: &[
        Param::text("text", "the document, or what is to decide"),
        Param::int("seed", "which of the many fractions").at_least(0).default(Literal::Int(0)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("hash_fraction('a') = hash_fraction('a')", "true"),
        Example::of("hash_fraction('a') = hash_fraction('a', seed => 1)", "false"),
        Example::of("hash_fraction('a') >= 0 AND hash_fraction('a') < 1", "true"),
        Example::of("hash_fraction(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.1).and_ns_per_row(10.0), // estimate
    cpu: Cpu::Float(|text, args| {
        let hash = xxh3_64_with_seed(text.as_bytes(), args.count("seed") as u64);
        (hash >> 11) as f64 / (1u64 << 53) as f64
    }),
    gpu: Gpu::NOT_YET,
};
