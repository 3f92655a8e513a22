//! `nemo_top_ngram_ratio(text, n => 2)`: how much the document shrinks without its most frequent n-gram.

use crate::ops::Word;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "nemo_top_ngram_ratio",
    family: Family::Repetition,
    summary: "share of characters that go when the most frequent word n-gram is cut out as a string",
    details: "The n words of the most frequent n-gram with one space between them are looked for in the text, from \
              the left, without overlap, also inside words; characters of all finds / characters. Words are split \
              at white space. Of equally frequent n-grams it is the one that comes first in the text. Fewer than n \
              words give 1; words that are separated by something else than one space are not found. NeMo's \
              RepeatingTopNGramsFilter keeps documents up to 0.2, 0.18, 0.16 for n = 2, 3, 4; it leaves ties to \
              chance.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(2)),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("nemo_top_ngram_ratio('a b c a b')", "0.6666666666666666"),
        Example::of("nemo_top_ngram_ratio('one two')", "1.0"),
        Example::of("nemo_top_ngram_ratio('a  b')", "0.0"),
        Example::of("nemo_top_ngram_ratio('')", "1.0"),
        Example::of("nemo_top_ngram_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.0).and_ns_per_row(100.0),
    cpu: Cpu::bounded_measure(
        Needs::grams_in,
        nemo_top_ngram_ratio,
        Bound {
            needs: Needs::found_bound_in,
            at_most: |doc, args| scan::ratio_at_most(doc.found_bytes_at_most(args), doc.n_chars()),
        },
    ),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/repetition/nemo_top_ngram_ratio.cu"))
        .and_instructions_per_byte(50.0),
};

fn nemo_top_ngram_ratio(doc: &Doc, args: &Args) -> f64 {
    let (n, grams) = (args.count("n"), doc.grams_in(args));
    let level = doc.level_in(args);
    if level.top_count == 0 {
        return 1.0;
    }
    let words = doc.words_in(args).spans.get(level.top_start..level.top_start + n).unwrap_or_default();
    let n_finds = n_occurrences(doc.text(), words);
    scan::ratio(n_finds * (grams.chars(level.top_start, n) + n - 1), doc.n_chars())
}

/// How often the words, with one space between them, occur one after the other in the text.
fn n_occurrences(text: &str, words: &[Word]) -> usize {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return 0 };
    let is_plain = |pair: &[Word]| text.get(pair[0].end as usize..pair[1].start as usize) == Some(" ");
    let pattern = if words.windows(2).all(is_plain) {
        Cow::Borrowed(text.get(first.start as usize..last.end as usize).unwrap_or_default())
    } else {
        let words: Vec<&str> = words.iter().map(|word| word.of(text)).collect();
        Cow::Owned(words.join(" "))
    };
    memchr::memmem::find_iter(text.as_bytes(), pattern.as_bytes()).count()
}
