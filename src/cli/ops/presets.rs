//! The presets for people: in the list, one in full, and their chapter of the reference page.
//!
//! All made from the files of `std/`, as they are written.

use crate::logical::{Preset, preset_files};
use crate::ops::reference::{plain, section, wrapped};

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(_, preset)| preset.definition.name.as_str())
}

/// Each preset with the first sentence of its comment, by file.
pub fn list() -> String {
    let width = all().map(|(_, preset)| short_call(preset).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for file in preset_files().iter().filter(|file| !file.presets.is_empty()) {
        out.push_str(&format!("\npresets of {}\n", file.name));
        for preset in &file.presets {
            out.push_str(&format!("  {:width$}  {}\n", short_call(preset), plain(&summary(preset))));
        }
    }
    out
}

/// A preset's comment, parameters and text; nothing if there is none of that name.
pub fn describe(name: &str) -> Option<String> {
    let (file, preset) = all().find(|(_, preset)| preset.definition.name.eq_ignore_ascii_case(name))?;
    let mut out = format!("{}\n\n", preset.definition.signature());
    for line in plain(&preset.comment).lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
    let params: Vec<(String, String)> = preset
        .definition
        .params
        .iter()
        .map(|param| {
            let default = param.default.map(|default| preset.definition.source.slice(default.span));
            (param.name.text.clone(), default.map_or("required".to_string(), |default| format!("default {default}")))
        })
        .collect();
    section(&mut out, "parameters", &params);
    out.push_str(&format!("\n{file}\n"));
    for line in preset.text.lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
    Some(out)
}

/// The chapter of the reference page.
pub fn markdown() -> String {
    let mut out = String::from(
        "\n## presets\n\n\
         Published recipes as macros, in CQL (`std/*.cql`): to be read, used, copied and changed. A parameter is given by\n\
         position or by name; a `DEFINE` of the same name takes a preset's place.\n",
    );
    for file in preset_files().iter().filter(|file| !file.presets.is_empty()) {
        out.push_str(&format!("\n**{}**: {}\n\n| preset | |\n|---|---|\n", file.name, one_paragraph(&file.intro)));
        for preset in &file.presets {
            out.push_str(&format!("| [`{0}`](#{0}) | {1} |\n", preset.definition.name, summary(preset)));
        }
    }
    for (_, preset) in all() {
        out.push_str(&format!("\n### {}\n\n{}\n", preset.definition.name, preset.comment));
        out.push_str(&format!("\n```sql\n{}\n```\n", preset.text));
    }
    out
}

fn all() -> impl Iterator<Item = (&'static str, &'static Preset)> {
    preset_files().iter().flat_map(|file| file.presets.iter().map(|preset| (file.name, preset)))
}

/// The call with what must be given; `[…]` stands for parameters with defaults.
fn short_call(preset: &Preset) -> String {
    let (required, others): (Vec<_>, Vec<_>) =
        preset.definition.params.iter().partition(|param| param.default.is_none());
    let mut params: Vec<&str> = required.iter().map(|param| param.name.text.as_str()).collect();
    if !others.is_empty() {
        params.push("[…]");
    }
    format!("{}({})", preset.definition.name, params.join(", "))
}

/// The first sentence of a comment, without its full stop.
fn summary(preset: &Preset) -> String {
    let text = one_paragraph(&preset.comment);
    let sentence = text.split(". ").next().unwrap_or_default();
    sentence.trim_end_matches(['.', ':']).to_string()
}

fn one_paragraph(text: &str) -> String {
    wrapped(text, usize::MAX).join(" ")
}
