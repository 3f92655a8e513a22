//! `code_limits(key)`: what a source file of a language and extension may look like.

use crate::ops::prelude::*;
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_limits",
    family: Family::Code,
    summary: "the limits that a source file of this language and extension should keep, from a table of 90 languages",
    details: "The key is `language/extension`, as `python/py`; the language in any case, with spaces or hyphens, `C#` or \
              `c-sharp`. `language`: the name in the table, empty if the table does not have it. `include`: whether such \
              files are worth having; false for an extension that is not in the table. `longest_line`, `mean_line`: the \
              most characters of a line (`code_longest_line`) and of a line on average; \
              9223372036854775807 without a limit. `plain_ratio`, `letter_ratio`: the least share of the characters `[a-zA-Z0-9\\n?!,.]` and the least \
              `code_letter_ratio`; 0 without a limit. The table is NeMo Curator's `code_meta.csv`, made for StarCoder; \
              `nemo_per_extension` applies it.",
    params: &[Param::text("key", "language and extension, with a slash between them")],
    returns: Returns::Struct(&[
        ("language", Returns::Utf8),
        ("include", Returns::Boolean),
        ("longest_line", Returns::Int64),
        ("mean_line", Returns::Int64),
        ("plain_ratio", Returns::Float64),
        ("letter_ratio", Returns::Float64),
    ]),
    examples: &[
        Example::of("code_limits('python/py')['longest_line']", "1000"),
        Example::of("code_limits('C#/cs')['language']", "'c-sharp'"),
        Example::of("code_limits('klingon/kl')['include']", "false"),
        Example::of("code_limits('')['language']", "''"),
        Example::of("code_limits(NULL)['include']", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.0).and_ns_per_row(100.0), // estimate
    cpu: Cpu::Record(|key, _, record| {
        let (language, extension) = key.split_once('/').unwrap_or((key, ""));
        let language = table_name(language);
        let (language, limits) = match TABLE.get_key_value(language.as_str()) {
            Some((name, by_extension)) => (*name, by_extension.get(extension).copied()),
            None => ("", None),
        };
        let limits = limits.unwrap_or_default();
        record
            .text(language)
            .bool(limits.include)
            .int(limits.longest_line.unwrap_or(i64::MAX))
            .int(limits.longest_line.map_or(i64::MAX, |_| MEAN_LINE))
            .float(limits.plain_ratio)
            .float(limits.letter_ratio);
    }),
    gpu: Gpu::No("a table of names"),
};

/// One row of the table.
#[derive(Debug, Default, Clone, Copy)]
struct Limits {
    include: bool,
    longest_line: Option<i64>,
    plain_ratio: f64,
    letter_ratio: f64,
}

/// Where the longest line is limited, so is the mean one.
const MEAN_LINE: i64 = 100;

/// By language, then by extension.
static TABLE: LazyLock<HashMap<&'static str, HashMap<&'static str, Limits>>> = LazyLock::new(|| {
    let mut table: HashMap<&str, HashMap<&str, Limits>> = HashMap::new();
    for line in include_str!("limits.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [language, extension, include, longest_line, plain_ratio, letter_ratio] = cells[..] else { continue };
        let limits = Limits {
            include: include == "1",
            longest_line: longest_line.parse().ok(),
            plain_ratio: plain_ratio.parse().unwrap_or(0.0),
            letter_ratio: letter_ratio.parse().unwrap_or(0.0),
        };
        table.entry(language).or_default().insert(extension, limits);
    }
    table
});

/// The name of a language as the table writes it.
fn table_name(language: &str) -> String {
    match language {
        "C#" => "c-sharp".to_string(),
        "F#" => "f-sharp".to_string(),
        _ => language.to_lowercase().replace(' ', "-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(TABLE.len(), 89);
        assert_eq!(TABLE.values().map(HashMap::len).sum::<usize>(), 302);
        assert!(TABLE["dockerfile"].contains_key(""));
        assert!(TABLE.values().flat_map(HashMap::values).all(|limits| limits.include || limits.longest_line.is_none()));
    }
}
