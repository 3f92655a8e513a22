//! Diagnostics as text for a person: the line, the caret, the help.

use super::{Diagnostic, Severity};
use ariadne::{CharSet, Config, IndexType, Label, Report, ReportKind};

/// One diagnostic as text. `colour` is the caller's decision, it knows where the text goes.
pub fn render(diagnostic: &Diagnostic, colour: bool) -> String {
    let title = title(diagnostic, colour);
    let Some(main) = diagnostic.labels.first() else {
        let help = diagnostic.help.as_ref().map_or(String::new(), |help| format!("  help: {help}\n"));
        return format!("{title}\n{help}");
    };
    let config = Config::default()
        .with_color(colour)
        .with_index_type(IndexType::Byte)
        .with_char_set(CharSet::Unicode)
        .with_tab_width(1);
    // The first line is ours; the report's own is cut off below.
    let mut report = Report::build(ReportKind::Error, place(main)).with_config(config);
    for (number, label) in diagnostic.labels.iter().enumerate() {
        let colour = if number == 0 { ariadne::Color::Red } else { ariadne::Color::Blue };
        let message = if label.message.is_empty() { "here" } else { &label.message };
        // Labels of one text are drawn in one picture if they come in the order of their places.
        let text = diagnostic.labels.iter().position(|other| other.source == label.source).unwrap_or(number);
        let before = diagnostic
            .labels
            .iter()
            .filter(|other| other.source == label.source && other.span.start < label.span.start);
        let order = (text * diagnostic.labels.len() + before.count()) as i32;
        report = report.with_label(Label::new(place(label)).with_message(message).with_color(colour).with_order(order));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(help);
    }
    let mut out = Vec::new();
    let cache =
        ariadne::sources(diagnostic.labels.iter().map(|label| (label.source.name().to_string(), label.source.text())));
    if report.finish().write(cache, &mut out).is_err() {
        return format!("{title}\n");
    }
    // No trailing blanks: they would be in every golden file.
    let picture = String::from_utf8_lossy(&out);
    let lines = picture.lines().skip(1).map(str::trim_end).map(|line| line.replace("Help: ", "help: "));
    std::iter::once(title).chain(lines).map(|line| line + "\n").collect()
}

/// `error[N001]: no column `x``
fn title(diagnostic: &Diagnostic, colour: bool) -> String {
    let (word, paint) = match diagnostic.severity {
        Severity::Error => ("error", nu_ansi_term::Color::Red),
        Severity::Warning => ("warning", nu_ansi_term::Color::Yellow),
    };
    let head = format!("{word}[{}]", diagnostic.code.as_str());
    let head = if colour { paint.bold().paint(head).to_string() } else { head };
    format!("{head}: {}", diagnostic.message)
}

/// Nobody reads more at once; each picture goes through the whole text.
const MOST_SHOWN: usize = 100;

/// All diagnostics, in the order of their places in the text.
pub fn render_all(diagnostics: &[Diagnostic], colour: bool) -> String {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|diagnostic| diagnostic.labels.first().map(|label| label.span.start));
    let mut shown: Vec<String> = sorted.iter().take(MOST_SHOWN).map(|diagnostic| render(diagnostic, colour)).collect();
    if sorted.len() > MOST_SHOWN {
        shown.push(format!("… and {} more\n", sorted.len() - MOST_SHOWN));
    }
    shown.join("\n")
}

type LabelPlace = (String, std::ops::Range<usize>);

fn place(label: &super::Label) -> LabelPlace {
    // The renderer indexes lines by these: they must be inside the text, on whole characters, and not on the
    // white space that ends a line.
    let text = label.source.text();
    let start = floor_char_boundary(text, label.span.start.min(text.len()));
    let end = floor_char_boundary(text, label.span.end.clamp(start, text.len()));
    let end = start + text[start..end].trim_end().len();
    (label.source.name().to_string(), start..end)
}

fn floor_char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Code, SourceText, Span};

    #[test]
    fn any_span_of_any_text_can_be_drawn() {
        for text in ["", "\n", "a\n", "é\r\nß", "\t|> WHERE x\n\n"] {
            let source = SourceText::new("t.cql", text);
            for start in 0..=text.len() + 1 {
                for end in start..=text.len() + 1 {
                    let drawn =
                        render(&Diagnostic::error(Code::Syntax, "wrong", &source, Span::new(start, end)), false);
                    assert!(drawn.starts_with("error[P001]: wrong\n"), "{drawn}");
                }
            }
        }
    }
}
