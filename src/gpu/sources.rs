//! The CUDA C that kernels share, and how a source that includes it becomes one text.

/// The files of `kernels/lib`, by the name they are included by.
static LIBRARY: &[(&str, &str)] = &[
    ("lib/abi.cuh", include_str!("../../kernels/lib/abi.cuh")),
    ("lib/bytes.cuh", include_str!("../../kernels/lib/bytes.cuh")),
    ("lib/case.cuh", include_str!("../../kernels/lib/case.cuh")),
    ("lib/chain.cuh", include_str!("../../kernels/lib/chain.cuh")),
    ("lib/char_grams.cuh", include_str!("../../kernels/lib/char_grams.cuh")),
    ("lib/chars.cuh", include_str!("../../kernels/lib/chars.cuh")),
    ("lib/dots.cuh", include_str!("../../kernels/lib/dots.cuh")),
    ("lib/doc.cuh", include_str!("../../kernels/lib/doc.cuh")),
    ("lib/find.cuh", include_str!("../../kernels/lib/find.cuh")),
    ("lib/fold.cuh", include_str!("../../kernels/lib/fold.cuh")),
    ("lib/grams.cuh", include_str!("../../kernels/lib/grams.cuh")),
    ("lib/groups.cuh", include_str!("../../kernels/lib/groups.cuh")),
    ("lib/hash_table.cuh", include_str!("../../kernels/lib/hash_table.cuh")),
    ("lib/joined.cuh", include_str!("../../kernels/lib/joined.cuh")),
    ("lib/line_kinds.cuh", include_str!("../../kernels/lib/line_kinds.cuh")),
    ("lib/line_span.cuh", include_str!("../../kernels/lib/line_span.cuh")),
    ("lib/lines.cuh", include_str!("../../kernels/lib/lines.cuh")),
    ("lib/lower.cuh", include_str!("../../kernels/lib/lower.cuh")),
    ("lib/minhash.cuh", include_str!("../../kernels/lib/minhash.cuh")),
    ("lib/murmur3.cuh", include_str!("../../kernels/lib/murmur3.cuh")),
    ("lib/natural_log.cuh", include_str!("../../kernels/lib/natural_log.cuh")),
    ("lib/needs.cuh", include_str!("../../kernels/lib/needs.cuh")),
    ("lib/numeric.cuh", include_str!("../../kernels/lib/numeric.cuh")),
    ("lib/permutations.cuh", include_str!("../../kernels/lib/permutations.cuh")),
    ("lib/refined.cuh", include_str!("../../kernels/lib/refined.cuh")),
    ("lib/repeats.cuh", include_str!("../../kernels/lib/repeats.cuh")),
    ("lib/repetition.cuh", include_str!("../../kernels/lib/repetition.cuh")),
    ("lib/running_sum.cuh", include_str!("../../kernels/lib/running_sum.cuh")),
    ("lib/search.cuh", include_str!("../../kernels/lib/search.cuh")),
    ("lib/shingles.cuh", include_str!("../../kernels/lib/shingles.cuh")),
    ("lib/signs.cuh", include_str!("../../kernels/lib/signs.cuh")),
    ("lib/spans.cuh", include_str!("../../kernels/lib/spans.cuh")),
    ("lib/tables.cuh", include_str!("../../kernels/lib/tables.cuh")),
    ("lib/urls.cuh", include_str!("../../kernels/lib/urls.cuh")),
    ("lib/utf8.cuh", include_str!("../../kernels/lib/utf8.cuh")),
    ("lib/walk.cuh", include_str!("../../kernels/lib/walk.cuh")),
    ("lib/words.cuh", include_str!("../../kernels/lib/words.cuh")),
    ("lib/xxh3.cuh", include_str!("../../kernels/lib/xxh3.cuh")),
    ("lib/xxh64.cuh", include_str!("../../kernels/lib/xxh64.cuh")),
];

/// `sources` one after the other, with each file that they include put in where it is first asked for.
pub fn flatten<'a>(sources: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut included = vec![];
    for source in sources {
        append(source, &mut included, &mut text);
    }
    text
}

fn append(source: &str, included: &mut Vec<String>, text: &mut String) {
    for line in source.lines() {
        let name = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
        match name {
            Some(name) if included.iter().any(|known| known == name) => {}
            Some(name) => {
                included.push(name.to_string());
                match LIBRARY.iter().find(|(known, _)| *known == name) {
                    Some((_, file)) => append(file, included, text),
                    // The compiler will name the file that is missing.
                    None => text.push_str(&format!("{line}\n")),
                }
            }
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
}
