//! `shingle_count(text, shingle => 'words:5', …)`: the size of the set that a document is.

use super::options::{NORMALIZE, Pool, SHINGLE, count_scratch, normalize, shingle};
use super::shingler::Shingler;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "shingle_count",
    family: Family::Dedup,
    summary: "number of different shingles: so many words, characters or tokens in a row",
    details: "Words are parted at white space; with `normalize => 'words'` they are runs of letters, digits and `_` of the \
              text in lower case; with `'datatrove'` also numbers are 0, accents and punctuation are gone. Tokens are \
              runs of letters and digits, and every other character that is not white space; characters of scripts \
              without spaces between words are one each. A document with too few of them for one shingle is itself one, \
              unless it has none at all; with `'datatrove'` too few words or tokens give none, as in datatrove. \
              `DEDUP FUZZY` never drops a document without shingles.",
    params: &[Param::text("text", "the document"), SHINGLE, NORMALIZE],
    returns: Returns::Int64,
    examples: &[
        Example::of("shingle_count('one two three four five six')", "2"),
        Example::of("shingle_count('the cat, the cat, the cat', 'words:2')", "2"),
        Example::of("shingle_count('the cat, the cat, the cat', 'words:2', 'none')", "3"),
        Example::of("shingle_count('short', 'chars:24')", "1"),
        Example::of("shingle_count('don''t', 'tokens:2')", "2"),
        Example::of("shingle_count('one two three')", "1"),
        Example::of("shingle_count('one two three', normalize => 'datatrove')", "0"),
        Example::of("shingle_count('')", "0"),
        Example::of("shingle_count(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(8.0).and_ns_per_row(300.0), // estimate
    cpu: Cpu::Int(|text, args| {
        let pool = args.prepared(|args| Pool::new((Shingler::new(shingle(args), normalize(args)), Vec::new())));
        pool.map_or(0, |pool| {
            pool.with(|(shingler, set)| {
                shingler.set(text, set);
                set.len() as i64
            })
        })
    }),
    gpu: Gpu::Kernel(Kernel {
        source: include_str!("../../../kernels/dedup/shingle_count.cu"),
        takes: |_| Ok(()),
        instructions_per_byte: 260.0, // counted on web pages
        scratch: count_scratch,
        n_words: |_| 0,
    }),
};
