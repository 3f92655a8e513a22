//! The CUDA C that kernels share, and how a source that includes it becomes one text.

/// The files of `kernels/lib`, by the name they are included by.
static LIBRARY: &[(&str, &str)] = &[
    ("lib/abi.cuh", include_str!("../../kernels/lib/abi.cuh")),
    ("lib/doc.cuh", include_str!("../../kernels/lib/doc.cuh")),
    ("lib/repetition.cuh", include_str!("../../kernels/lib/repetition.cuh")),
    ("lib/tables.cuh", include_str!("../../kernels/lib/tables.cuh")),
    ("lib/walk.cuh", include_str!("../../kernels/lib/walk.cuh")),
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
