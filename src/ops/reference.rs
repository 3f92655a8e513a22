//! The registry for people: a list, one operator in full, and the reference page.
//!
//! All three are made from the specs alone, so that they cannot be out of date. Nothing is printed here.
//! Not here: presets, which are no operators (`cli/ops/presets.rs` adds them to list and page).

use super::param::Param;
use super::registry::Registry;
use super::spec::{Cost, Family, Gpu, OpSpec};
use super::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Past this many characters, a call in the list leaves its options to `curator ops NAME`.
const LONGEST_SHORT_CALL: usize = 60;

/// `curator ops`: every operator with its summary, by family.
pub fn list(registry: &Registry) -> String {
    let width = registry.iter().map(|spec| short_call(spec).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (family, specs) in by_family(registry) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(family.as_str());
        out.push('\n');
        for spec in specs {
            out.push_str(&format!("  {:width$}  {}\n", short_call(spec), plain(spec.summary)));
        }
    }
    out
}

/// `curator ops NAME`: everything about one operator.
pub fn describe(spec: &OpSpec) -> String {
    let mut out = format!("{}\n\n  {}\n", spec.signature(), plain(spec.summary));
    if !spec.details.is_empty() {
        out.push('\n');
        for line in wrapped(&plain(spec.details), 96) {
            out.push_str(&format!("  {line}\n"));
        }
    }
    let params: Vec<(String, String)> =
        spec.params.iter().map(|param| (param.name.to_string(), explain(param))).collect();
    section(&mut out, "parameters", &params);
    let examples: Vec<(String, String)> =
        spec.examples.iter().map(|example| (example.call.to_string(), example.result.to_string())).collect();
    section(&mut out, "examples", &examples);
    let gpu = match spec.gpu {
        Gpu::No(why) => format!("no: {why}"),
        Gpu::Kernel(_) => "yes".to_string(),
    };
    section(&mut out, "runs", &[("CPU".to_string(), show_cost(spec.cost)), ("GPU".to_string(), gpu)]);
    out
}

/// `curator ops --markdown`: the reference page.
pub fn markdown(registry: &Registry) -> String {
    let mut out = String::from(
        "<!-- Made by `curator ops --markdown`; edit the operators' files in src/ops instead. -->\n\
         # Operators\n\n\
         Row functions, for CQL and SQL alike. The first argument is the document: any text expression. The others are\n\
         options: constants, given by position or by name (`f(text, max => 3)`). A null document gives null.\n\
         Costs are for one core, per byte of text; they order the rules of a query and are estimates, not promises.\n\n\
         - *white space* is what Python's `str.split()` splits at; a *word* is a run of other characters\n\
         - a *character* is a Unicode code point\n\
         - results of type `TEXT` are shown in quotes, with `\\n` for a line feed\n",
    );
    for (family, specs) in by_family(registry) {
        out.push_str(&format!("\n## {}\n\n| operator | |\n|---|---|\n", family.as_str()));
        for spec in &specs {
            out.push_str(&format!("| [`{0}`](#{0}) | {1} |\n", spec.name, spec.summary));
        }
        for spec in specs {
            out.push_str(&section_markdown(spec));
        }
    }
    out
}

fn section_markdown(spec: &OpSpec) -> String {
    let mut out = format!("\n### {}\n\n```text\n{}\n```\n\n", spec.name, spec.signature());
    out.push_str(&format!("{}.", capitalized(spec.summary)));
    if !spec.details.is_empty() {
        out.push_str(&format!("\n\n{}", spec.details));
    }
    out.push_str("\n\n");
    for param in spec.options() {
        out.push_str(&format!("- `{}`: {}\n", param.name, explain(param)));
    }
    if !spec.options().is_empty() {
        out.push('\n');
    }
    let width = spec.examples.iter().map(|example| example.call.chars().count()).max().unwrap_or(0);
    out.push_str("```sql\n");
    for example in spec.examples {
        out.push_str(&format!("{:width$}  -- {}\n", example.call, example.result));
    }
    let gpu = match spec.gpu {
        Gpu::No(why) => format!("no, {why}"),
        Gpu::Kernel(_) => "yes".to_string(),
    };
    out.push_str(&format!("```\n\nCPU: {}. GPU: {gpu}.\n", show_cost(spec.cost)));
    out
}

fn by_family(registry: &Registry) -> BTreeMap<Family, Vec<&Arc<OpSpec>>> {
    let mut families: BTreeMap<Family, Vec<&Arc<OpSpec>>> = BTreeMap::new();
    for spec in registry.iter() {
        families.entry(spec.family).or_default().push(spec);
    }
    families
}

/// The call without types, what may be left off in brackets: `stop_words(text, [words])`.
fn short_call(spec: &OpSpec) -> String {
    let params: Vec<String> = spec
        .params
        .iter()
        .map(|param| if param.default.is_some() { format!("[{}]", param.name) } else { param.name.to_string() })
        .collect();
    let call = format!("{}({})", spec.name, params.join(", "));
    if call.chars().count() <= LONGEST_SHORT_CALL {
        return call;
    }
    let required = spec.params.iter().filter(|param| param.default.is_none()).map(|param| param.name);
    format!("{}({})", spec.name, required.chain(["[…]"]).collect::<Vec<_>>().join(", "))
}

/// A parameter's meaning, values and default: `words to keep; a whole number of at least 0; default 2`.
fn explain(param: &Param) -> String {
    let default = match param.default {
        Some(default) => format!("; default {}", Value::from(default)),
        None => String::new(),
    };
    format!("{}; {}{default}", param.doc, param.ty)
}

fn show_cost(cost: Cost) -> String {
    let per_row = if cost.ns_per_row > 0.0 { format!(" and {} ns a document", cost.ns_per_row) } else { String::new() };
    format!("about {} ns a byte{per_row}", cost.ns_per_byte)
}

/// A title and, below it, two columns.
pub(crate) fn section(out: &mut String, title: &str, rows: &[(String, String)]) {
    let width = rows.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    if !rows.is_empty() {
        out.push_str(&format!("\n{title}\n"));
    }
    for (left, right) in rows {
        out.push_str(&format!("  {left:width$}  {right}\n"));
    }
}

/// Markdown's back quotes mean nothing on a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.replace('`', "")
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// The words of a text in lines of at most `width` characters, longer words aside.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_described_in_full() {
        insta::assert_snapshot!(describe(Registry::builtin().find("normalize_newlines").unwrap()), @r"
        normalize_newlines(text TEXT, max BIGINT => 2) -> TEXT

          every line end becomes a line feed, and no more than max of them follow each other

          CR LF and a lone CR become LF; then each run of more than max line feeds is cut to max. With the
          default, paragraphs stay apart by one blank line.

        parameters
          text  the document; a text
          max   line feeds that may follow each other; a whole number of at least 1; default 2

        examples
          normalize_newlines(E'a\r\nb\rc')         'a\nb\nc'
          normalize_newlines(E'a\n\n\n\nb')        'a\n\nb'
          normalize_newlines(E'a\n\nb', max => 1)  'a\nb'
          normalize_newlines(NULL)                 NULL

        runs
          CPU  about 1.5 ns a byte
          GPU  no: its kernel is not written yet
        ");
    }

    #[test]
    fn the_list_has_one_line_for_each_operator() {
        let registry = Registry::builtin();
        let list = list(&registry);
        for spec in registry.iter() {
            assert_eq!(list.lines().filter(|line| line.trim().starts_with(&short_call(spec))).count(), 1, "{list}");
        }
    }
}
