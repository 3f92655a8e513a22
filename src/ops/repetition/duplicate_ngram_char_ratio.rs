//! `duplicate_ngram_char_ratio(text, n => 5)`: the share of characters in n-grams met before on a walk.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "duplicate_ngram_char_ratio",
    family: Family::Repetition,
    summary: "share of characters in word n-grams that a walk from left to right met before",
    details: "The walk goes from word to word. Where the next n words were met before it adds their characters and \
              goes on after them; otherwise it remembers them and goes on with the next word. The sum, without \
              spaces / characters of the document. The n words are compared run together: `ab c` equals `a bc`. \
              Words are split at white space. Fewer than n words give 0. datatrove's GopherRepetitionFilter drops \
              documents above 0.15, 0.14, 0.13, 0.12, 0.11, 0.10 for n = 5 to 10.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(5)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("duplicate_ngram_char_ratio('a b c a b', n => 2)", "0.2222222222222222"),
        Example::of("duplicate_ngram_char_ratio('ab c a bc', n => 2)", "0.3333333333333333"),
        Example::of("duplicate_ngram_char_ratio('')", "0.0"),
        Example::of("duplicate_ngram_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.2).and_ns_per_row(100.0),
    cpu: Cpu::bounded_measure(
        |args| Needs::joined_grams(args.count("n")),
        |doc, args| scan::ratio(doc.joined_repeated_chars(args.count("n")), doc.n_chars()),
        Bound {
            needs: |args| Needs::joined_bound(args.count("n")),
            at_most: |doc, args| scan::ratio(doc.joined_repeated_bytes_at_most(args.count("n")), doc.n_chars()),
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/duplicate_ngram_char_ratio.cu"))
        .and_instructions_per_byte(100.0),
};
