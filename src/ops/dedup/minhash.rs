//! `minhash(text, permutations => 112, …)`: a document's MinHash signature.

use super::options::{HASH, NORMALIZE, Pool, SEED, SHINGLE, minhash, signature_scratch};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "minhash",
    family: Family::Dedup,
    summary: "MinHash signature, from which the Jaccard similarity of documents' shingles is estimated",
    details: "The share of equal values in two signatures estimates the similarity. `hash` chooses whose values they are. `native`: Fast Similarity Sketching (Dahlgaard, Knudsen and Thorup, \
              2017), which hashes each shingle about once. `nemo`: those of NeMo Curator and libcudf, bit for bit; its \
              defaults are `permutations => 260, shingle => 'chars:24', normalize => 'none', seed => 42`. `datatrove`: \
              those of datatrove, bit for bit but for its tokenizer, as words are parted at white space; its defaults \
              are `permutations => 112, shingle => 'words:5', normalize => 'datatrove', seed => 1`. A document without \
              shingles has the empty signature; for `nemo`, zeros. See `shingle_count` for what shingles are.",
    params: &[
        Param::text("text", "the document"),
        Param::int("permutations", "values in the signature").between(1, 65_536).default(Literal::Int(112)),
        SHINGLE,
        NORMALIZE,
        HASH,
        SEED,
    ],
    returns: Returns::List(&Returns::Int64),
    examples: &[
        Example::of(
            "minhash('Hello!', permutations => 3, shingle => 'chars:24', normalize => 'none', hash => 'nemo', seed => 42)",
            "[437472350, 2709513111, 1118756710]",
        ),
        Example::of("minhash('One two three four five.', 4) = minhash('one two, three: four five', 4)", "true"),
        Example::of("cardinality(minhash('one two three four five'))", "112"),
        Example::of("cardinality(minhash('?'))", "0"),
        Example::of("minhash(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.5).and_ns_per_row(1500.0), // one core, web pages, native
    cpu: Cpu::List(|text, args, items| {
        let pool = args.prepared(|args| Pool::new((minhash(args, args.count("permutations"), 1), Vec::new())));
        if let Some(pool) = pool {
            pool.with(|(minhash, values)| {
                minhash.signature(text, values);
                values.iter().for_each(|value| {
                    items.item().int(*value as i64);
                });
            });
        }
    }),
    gpu: Gpu::Kernel(Kernel {
        source: include_str!("../../../kernels/dedup/minhash.cu"),
        takes: |_| Ok(()),
        instructions_per_byte: 270.0, // counted on web pages, native; nemo 1040, datatrove 550
        scratch: |args| signature_scratch(args, args.count("permutations")),
        n_words: |args| args.count("permutations"),
    }),
};
