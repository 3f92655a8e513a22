//! `minhash_bands(text, bands => 14, rows => 8, …)`: the fingerprints by which nearly equal documents are found.

use super::options::{HASH, NORMALIZE, Pool, SEED, SHINGLE, minhash, signature_scratch};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "minhash_bands",
    family: Family::Dedup,
    summary: "a fingerprint for each band of the MinHash signature: documents that share one are likely alike",
    details: "A signature of bands × rows values (see `minhash`); a band is so many `rows` of it, and its fingerprint the \
              XXH3 hash of their values, with the number of the band as the seed. Documents of Jaccard similarity s \
              share a fingerprint with probability 1 − (1 − s^rows)^bands. A document without shingles has none.",
    params: &[
        Param::text("text", "the document"),
        Param::int("bands", "fingerprints").between(1, 1024).default(Literal::Int(14)),
        Param::int("rows", "values that must be equal in a band").between(1, 256).default(Literal::Int(8)),
        SHINGLE,
        NORMALIZE,
        HASH,
        SEED,
    ],
    returns: Returns::List(&Returns::Int64),
    examples: &[
        Example::of("cardinality(minhash_bands('one two three four five'))", "14"),
        Example::of(
            "minhash_bands('One two three four five.', 4) = minhash_bands('one two, three: four five', 4)",
            "true",
        ),
        Example::of("minhash_bands('a b', 2, 1, shingle => 'words:2')", "[796705685314039057, -562446552707018771]"),
        Example::of("cardinality(minhash_bands('?'))", "0"),
        Example::of("minhash_bands(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.5).and_ns_per_row(2000.0), // one core, web pages, native
    cpu: Cpu::List(|text, args, items| {
        let pool =
            args.prepared(|args| Pool::new((minhash(args, args.count("bands"), args.count("rows")), Vec::new())));
        if let Some(pool) = pool {
            pool.with(|(minhash, fingerprints)| {
                minhash.bands(text, fingerprints);
                fingerprints.iter().for_each(|fingerprint| {
                    items.item().int(*fingerprint as i64);
                });
            });
        }
    }),
    gpu: Gpu::Kernel(Kernel {
        source: include_str!("../../../kernels/dedup/minhash_bands.cu"),
        takes: |_| Ok(()),
        instructions_per_byte: 270.0, // counted on web pages, native; nemo 1040, datatrove 550
        scratch: |args| signature_scratch(args, args.count("bands") * args.count("rows")),
        n_words: |args| args.count("bands"),
    }),
};
