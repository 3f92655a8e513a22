//! Diagnostics as text for a person: the line, the caret, the help.

use super::visible::{Picture, visible};
use super::{Diagnostic, Severity, SourceText, Span};
use ariadne::{CharSet, Config, IndexType, Label, Report, ReportKind};

/// One diagnostic as text. `colour` is the caller's decision, it knows where the text goes.
pub fn render(diagnostic: &Diagnostic, colour: bool) -> String {
    let title = title(diagnostic, colour);
    let Some(main) = diagnostic.labels.first() else {
        let help = diagnostic.help.as_ref().map_or(String::new(), |help| format!("  help: {}\n", visible(help)));
        return format!("{title}\n{help}");
    };
    let pictures = Pictures::of(diagnostic);
    let place = |label: &super::Label| pictures.place(label);
    let config = Config::default()
        .with_color(colour)
        .with_index_type(IndexType::Byte)
        .with_char_set(CharSet::Unicode)
        .with_tab_width(1);
    // The first line is ours; the report's own is cut off below.
    let mut report = Report::build(ReportKind::Error, place(main)).with_config(config);
    for (number, label) in diagnostic.labels.iter().enumerate() {
        let colour = if number == 0 { ariadne::Color::Red } else { ariadne::Color::Blue };
        let told = visible(&label.message);
        let message = if told.is_empty() { "here" } else { &*told };
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
        report = report.with_help(visible(help));
    }
    let mut out = Vec::new();
    let texts = diagnostic.labels.iter().map(|label| (name(&label.source), pictures.text(&label.source)));
    let cache = ariadne::sources(texts);
    if report.finish().write(cache, &mut out).is_err() {
        return format!("{title}\n");
    }
    // No trailing blanks: they would be in every golden file.
    let picture = String::from_utf8_lossy(&out);
    let picture = pictures.with_column(main, &picture);
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
    format!("{head}: {}", visible(&diagnostic.message))
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

/// What a picture calls a text.
fn name(source: &SourceText) -> String {
    visible(source.name()).into_owned()
}

/// The texts that a diagnostic points into, where they cannot be shown as they are.
struct Pictures<'a>(Vec<(&'a SourceText, Picture)>);

impl<'a> Pictures<'a> {
    fn of(diagnostic: &'a Diagnostic) -> Self {
        let mut pictures: Vec<(&SourceText, Picture)> = vec![];
        for label in &diagnostic.labels {
            let of_text = diagnostic.labels.iter().filter(|other| other.source == label.source);
            let spans: Vec<Span> = of_text.map(|label| label.span).collect();
            let is_known = pictures.iter().any(|(source, _)| **source == label.source);
            let picture = (!is_known).then(|| Picture::of(label.source.text(), &spans)).flatten();
            pictures.extend(picture.map(|picture| (&label.source, picture)));
        }
        Self(pictures)
    }

    fn find(&self, source: &SourceText) -> Option<&Picture> {
        self.0.iter().find(|(known, _)| *known == source).map(|(_, picture)| picture)
    }

    fn text(&self, source: &SourceText) -> String {
        self.find(source).map_or_else(|| source.text().to_string(), |picture| picture.text.clone())
    }

    fn place(&self, label: &super::Label) -> LabelPlace {
        // The renderer indexes lines by these: they must be inside the text, on whole characters, and not on the
        // white space that ends a line.
        let text = label.source.text();
        let start = floor_char_boundary(text, label.span.start.min(text.len()));
        let end = floor_char_boundary(text, label.span.end.clamp(start, text.len()));
        let end = start + text[start..end].trim_end().len();
        let place = self.find(&label.source).map_or(start..end, |shown| shown.place_of(start)..shown.place_of(end));
        (name(&label.source), place)
    }

    /// Of a line that was cut, the picture tells the column in what is left of it.
    fn with_column(&self, main: &super::Label, picture: &str) -> String {
        let told = match self.find(&main.source) {
            Some(shown) => (column(&shown.text, self.place(main).1.start), column(main.source.text(), main.span.start)),
            None => return picture.to_string(),
        };
        picture.replacen(&format!(":{} ]", told.0), &format!(":{} ]", told.1), 1)
    }
}

/// The column of a place, from 1.
fn column(text: &str, at: usize) -> usize {
    let before = &text[..floor_char_boundary(text, at.min(text.len()))];
    before[before.rfind('\n').map_or(0, |end| end + 1)..].chars().count() + 1
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
