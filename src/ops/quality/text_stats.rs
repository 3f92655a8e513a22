//! `text_stats(text)`: the plain counts of a document, at once.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "text_stats",
    family: Family::Quality,
    summary: "characters, words, lines and mean word length of a document, as a struct",
    details: "Each field is what the operator of that name gives. Read one with `text_stats(text)['words']`.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Struct(&[
        ("chars", Returns::Int64),
        ("words", Returns::Int64),
        ("lines", Returns::Int64),
        ("mean_word_length", Returns::Float64),
    ]),
    examples: &[
        Example::of(r"text_stats(E'one two\nabc')", "{chars: 11, words: 3, lines: 2, mean_word_length: 3.0}"),
        Example::of("text_stats('one two')['words']", "2"),
        Example::of("text_stats('')", "{chars: 0, words: 0, lines: 0, mean_word_length: 0.0}"),
        Example::of("text_stats(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.0), // estimate
    cpu: Cpu::Record(text_stats),
    gpu: Gpu::No("structs are built on the CPU"),
};

fn text_stats(text: &str, _: &Args, record: &mut Record) {
    let (mut n_chars, mut n_word_chars, mut n_words) = (0, 0, 0);
    let mut in_word = false;
    for c in text.chars() {
        let space = scan::is_space(c);
        n_chars += 1;
        n_word_chars += usize::from(!space);
        n_words += usize::from(!space && !in_word);
        in_word = !space;
    }
    record
        .int(n_chars)
        .int(n_words as i64)
        .int(scan::lines(text).count() as i64)
        .float(scan::ratio(n_word_chars, n_words));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ops::{Registry, evaluate};
    use arrow::array::{ArrayRef, AsArray, StringArray};
    use std::sync::Arc;

    #[test]
    fn fields_are_what_the_operators_of_their_names_give() {
        let docs = ["", "\n", "one", " one\u{1c}two \n\nthree\r\n", "日本\u{3000}語 été"];
        let documents: ArrayRef = Arc::new(StringArray::from_iter_values(docs));
        let registry = Registry::builtin();
        let of = |name: &str| {
            let spec = registry.find(name).unwrap();
            evaluate(spec, &documents, &Args::new(spec, vec![]).unwrap()).unwrap()
        };
        let stats = of(SPEC.name);
        let stats = stats.as_struct();
        for (field, column) in stats.fields().iter().zip(stats.columns()) {
            assert_eq!(column, &of(field.name()), "{}", field.name());
        }
    }
}
