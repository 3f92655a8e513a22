//! The steps of a funnel as aligned columns: what each is, how many documents it left, and how many it dropped.
//!
//! ```text
//!   step                             docs  dropped              text
//!   'data/*.jsonl.gz'               6,360                    19.1 MB
//!   gopher_quality(text)            5,120   −1,240  19.5 %   17.0 MB
//!     words(text) >= 50             5,300   −1,060  16.7 %   18.0 MB
//! ```
//! Labels are wrapped, never cut: what a rule compares with stands at its end.

use super::funnel::{bytes_text, grouped};
use crate::exec::{Step, StepRole};
use unicode_width::UnicodeWidthStr;

/// What is shown of the rules that a preset is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum FunnelDetail {
    /// Every rule, those of a preset below it.
    #[default]
    Full,
    /// One line for each preset.
    Short,
}

/// The paper that a funnel is drawn on.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Columns of a line.
    pub width: usize,
    /// Whether to draw a bar for what each rule dropped.
    pub has_bars: bool,
    /// What is shown of presets.
    pub detail: FunnelDetail,
}

impl Default for Page {
    fn default() -> Self {
        Self { width: 80, has_bars: false, detail: FunnelDetail::Full }
    }
}

/// The widest bar.
const BAR_COLUMNS: usize = 8;

/// A line of the table, before it is aligned.
struct Line {
    is_source: bool,
    indent: usize,
    label: String,
    rows_out: u64,
    dropped: Option<(u64, f64)>,
    bytes: Option<u64>,
}

/// All steps, with a header.
pub fn draw(steps: &[Step], page: Page) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let lines = lines(steps, page.detail);
    let docs: Vec<String> = lines.iter().map(|line| grouped(line.rows_out)).collect();
    let dropped: Vec<String> =
        lines.iter().map(|line| line.dropped.map_or(String::new(), |(n, _)| format!("−{}", grouped(n)))).collect();
    let shares: Vec<String> =
        lines.iter().map(|line| line.dropped.map_or(String::new(), |(_, share)| format!("{share:.1} %"))).collect();
    let bytes: Vec<String> = lines.iter().map(|line| line.bytes.map_or(String::new(), bytes_text)).collect();
    let most = |cells: &[String], header: &str| {
        cells.iter().map(|cell| cell.width()).chain([header.width()]).max().unwrap_or(0)
    };
    let widths = [most(&docs, "docs"), most(&dropped, "dropped"), most(&shares, ""), most(&bytes, "text")];
    let bar_columns = if page.has_bars { BAR_COLUMNS + 2 } else { 0 };
    let numbers: usize = widths.iter().map(|width| width + 2).sum();
    let longest = lines.iter().map(|line| line.indent + line.label.width()).max().unwrap_or(0);
    let room = page.width.saturating_sub(2 + numbers + bar_columns).max(20);
    let label_width = longest.clamp("step".len(), room);
    // What a bar is a share of: everything that came in.
    let n_sources: u64 = steps.iter().filter(|step| step.kind == StepRole::Source).map(|step| step.rows_out).sum();
    let row = |label: &str, cells: [&str; 4], bar: &str| {
        let blanks = label_width.saturating_sub(label.width());
        let mut line = format!("  {label}{}", " ".repeat(blanks));
        for (cell, width) in cells.iter().zip(widths) {
            line += &format!("  {}{cell}", " ".repeat(width - cell.width()));
        }
        format!("{}\n", format!("{line}  {bar}").trim_end())
    };
    let mut text = row("step", ["docs", "dropped", "", "text"], "");
    for (at, line) in lines.iter().enumerate() {
        // Of a path the end says most.
        let label = if line.is_source { last_of(&line.label, label_width) } else { line.label.clone() };
        let mut wrapped = wrap(&label, label_width - line.indent.min(label_width - 1)).into_iter();
        let first = format!("{}{}", " ".repeat(line.indent), wrapped.next().unwrap_or_default());
        let bar = match line.dropped {
            Some((n, _)) if page.has_bars && n_sources > 0 => bar(n as f64 / n_sources as f64),
            _ => String::new(),
        };
        text += &row(&first, [&docs[at], &dropped[at], &shares[at], &bytes[at]], &bar);
        for more in wrapped {
            text += &format!("  {}{more}\n", " ".repeat(line.indent));
        }
    }
    text
}

fn lines(steps: &[Step], detail: FunnelDetail) -> Vec<Line> {
    let mut lines = vec![];
    let mut at = 0;
    while at < steps.len() {
        let step = &steps[at];
        let n_rules = match &step.preset {
            Some(preset) => steps[at..].iter().take_while(|other| other.preset.as_ref() == Some(preset)).count(),
            None => 1,
        };
        let rules = &steps[at..at + n_rules];
        at += n_rules;
        let Some(preset) = &step.preset else {
            lines.push(line(step, 0, label(step)));
            continue;
        };
        let last = &rules[n_rules - 1];
        let whole = Step { rows_in: step.rows_in, ..last.clone() };
        lines.push(line(&whole, 0, preset.clone()));
        if detail == FunnelDetail::Full {
            lines.extend(rules.iter().map(|rule| {
                let label = label(rule);
                line(rule, 2, label.strip_prefix("WHERE ").unwrap_or(&label).to_string())
            }));
        }
    }
    lines
}

fn line(step: &Step, indent: usize, label: String) -> Line {
    let n_dropped = step.rows_in.saturating_sub(step.rows_out);
    let counts = !matches!(step.kind, StepRole::Source | StepRole::Reshape) && n_dropped > 0;
    let share = 100.0 * n_dropped as f64 / step.rows_in.max(1) as f64;
    let dropped = counts.then_some((n_dropped, share));
    let is_source = step.kind == StepRole::Source;
    Line {
        is_source,
        indent,
        label,
        rows_out: step.rows_out,
        dropped,
        bytes: step.bytes_out.filter(|bytes| *bytes > 0),
    }
}

fn label(step: &Step) -> String {
    let words = step.label.split_whitespace().collect::<Vec<_>>().join(" ");
    match step.n_changed {
        Some(n_changed) => format!("{words}: {} changed", grouped(n_changed)),
        None => words,
    }
}

/// As much of the end of a text as takes `width` columns, with `…` for the rest.
fn last_of(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut ends = text.char_indices().map(|(at, _)| &text[at..]);
    let end = ends.find(|end| end.width() < width).unwrap_or_default();
    format!("…{end}")
}

/// A text in lines of at most `width` columns, broken between words where it can be; later lines are indented.
fn wrap(text: &str, width: usize) -> Vec<String> {
    const INDENT: usize = 2;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word;
        loop {
            let is_first = lines.len() == 1;
            let room = if is_first { width } else { width.saturating_sub(INDENT) }.max(1);
            let Some(line) = lines.last_mut() else { return lines };
            let blank = usize::from(!line.is_empty());
            if line.width() + blank + word.width() <= room {
                line.push_str(&" ".repeat(blank));
                line.push_str(word);
                break;
            }
            if line.is_empty() {
                // A word that no line has room for.
                let cut = word
                    .char_indices()
                    .map(|(at, _)| at)
                    .take_while(|at| word[..*at].width() <= room)
                    .last()
                    .unwrap_or(0);
                let cut = if cut == 0 { word.chars().next().map_or(word.len(), char::len_utf8) } else { cut };
                line.push_str(&word[..cut]);
                word = &word[cut..];
            }
            lines.push(String::new());
        }
    }
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| if at == 0 { line.clone() } else { format!("{}{line}", " ".repeat(INDENT)) })
        .collect()
}

/// A share as a bar, in eighths of a column.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (8 * BAR_COLUMNS) as f64).round() as usize;
    // What was dropped is seen, however little it is.
    let eighths = eighths.max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// What is likely not as meant: nothing came out, or a rule that dropped nothing.
pub fn warnings(steps: &[Step]) -> Vec<String> {
    let mut told = vec![];
    let n_sources: u64 = steps.iter().filter(|step| step.kind == StepRole::Source).map(|step| step.rows_out).sum();
    if n_sources == 0 {
        return told;
    }
    let drops = |step: &Step| matches!(step.kind, StepRole::Rule | StepRole::Verb);
    if let Some(step) = steps.iter().find(|step| drops(step) && step.rows_in > 0 && step.rows_out == 0) {
        let before = if step.rows_in == n_sources { "all" } else { "the last" };
        told.push(format!("no document is left: {} dropped {before} {}", label(step), grouped(step.rows_in)));
    }
    let idle: Vec<String> = units(steps)
        .filter(|unit| {
            unit.iter().all(|step| step.kind == StepRole::Rule && step.rows_in > 0 && step.rows_out == step.rows_in)
        })
        .filter_map(|unit| unit.first().map(|step| step.preset.clone().unwrap_or_else(|| label(step))))
        .collect();
    if !idle.is_empty() {
        told.push(format!("dropped nothing: {}", idle.join(", ")));
    }
    told
}

/// Rules as they were written: a preset, or a rule by itself.
fn units(steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    steps.chunk_by(|one, other| one.preset.is_some() && one.preset == other.preset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: StepRole, label: &str, rows_in: u64, rows_out: u64, bytes_out: Option<u64>) -> Step {
        Step { kind, label: label.into(), rows_in, rows_out, bytes_out, preset: None, n_changed: None }
    }

    fn of(preset: &str, label: &str, rows_in: u64, rows_out: u64) -> Step {
        let rule = step(StepRole::Rule, label, rows_in, rows_out, Some(1000 * rows_out));
        Step { preset: Some(preset.into()), ..rule }
    }

    fn funnel() -> Vec<Step> {
        let set = Step { n_changed: Some(12), ..step(StepRole::Change, "SET text", 900, 900, None) };
        vec![
            step(StepRole::Source, "'docs.jsonl'", 0, 1200, Some(3_000_000)),
            of("gopher_quality(text)", "WHERE words(text) >= 50", 1200, 1000),
            of("gopher_quality(text)", "WHERE words(text) <= 100000", 1000, 1000),
            step(StepRole::Rule, "WHERE lang = 'en'", 1000, 900, Some(500_000)),
            set,
            step(StepRole::Reshape, "LIMIT 10", 900, 10, None),
        ]
    }

    #[test]
    fn rules_stand_under_the_preset_that_they_were_written_as() {
        let expected = "  step                       docs  dropped            text
  'docs.jsonl'              1,200                  3.0 MB
  gopher_quality(text)      1,000     −200  16.7 %  1.0 MB
    words(text) >= 50       1,000     −200  16.7 %  1.0 MB
    words(text) <= 100000   1,000                   1.0 MB
  WHERE lang = 'en'           900     −100  10.0 %  500.0 kB
  SET text: 12 changed        900
  LIMIT 10                     10
";
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let drawn = draw(&funnel(), Page::default());
        assert_eq!(squeezed(&drawn), squeezed(expected), "{drawn}");
        // Numbers of a column end below each other.
        let ends: Vec<usize> = ["1,200  ", "1,000  ", "  900  "]
            .iter()
            .filter_map(|n| drawn.lines().find_map(|line| line.find(n).map(|at| at + n.len())))
            .collect();
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{drawn}");
        let short = draw(&funnel(), Page { detail: FunnelDetail::Short, ..Page::default() });
        assert!(short.contains("gopher_quality(text)") && !short.contains("words(text)"), "{short}");
    }

    #[test]
    fn labels_are_wrapped_and_their_thresholds_stay() {
        let label = format!("WHERE contains_any(text, ['{}']) AND words(text) >= 12345", "javascript".repeat(12));
        let steps = vec![
            step(StepRole::Source, "'docs.jsonl'", 0, 1200, Some(3_000_000)),
            step(StepRole::Rule, &label, 1200, 10, Some(1)),
        ];
        let long = format!("'{}/part-*.jsonl.gz'", "folder/".repeat(20));
        let source = draw(&[step(StepRole::Source, &long, 0, 1200, None)], Page::default());
        assert!(
            source.lines().nth(1).is_some_and(|line| line.starts_with("  …") && line.contains("/part-*.jsonl.gz'")),
            "{source}"
        );
        assert_eq!(source.lines().count(), 2, "{source}");
        for (width, has_bars) in [(80, false), (80, true), (120, true)] {
            let drawn = draw(&steps, Page { width, has_bars, detail: FunnelDetail::Full });
            assert!(drawn.lines().all(|line| line.width() <= width), "{drawn}");
            let without_breaks: String = drawn.split_whitespace().collect();
            assert!(without_breaks.contains("12345"), "{drawn}");
            assert_eq!(drawn.contains('█'), has_bars, "{drawn}");
        }
    }

    #[test]
    fn what_drops_everything_or_nothing_is_told() {
        let source = step(StepRole::Source, "'docs.jsonl'", 0, 20, None);
        let gone = step(StepRole::Rule, "WHERE lang = 'EN'", 20, 0, None);
        assert_eq!(warnings(&[source.clone(), gone]), ["no document is left: WHERE lang = 'EN' dropped all 20"]);
        let idle = step(StepRole::Rule, "WHERE words(text) >= 0", 20, 20, None);
        assert_eq!(warnings(&[source.clone(), idle]), ["dropped nothing: WHERE words(text) >= 0"]);
        // Of a preset it is the whole that counts.
        let half = [of("p(text)", "WHERE a", 20, 20), of("p(text)", "WHERE b", 20, 3)];
        assert!(warnings(&[&[source.clone()][..], &half].concat()).is_empty());
        // Nothing came in: the source is what is to be looked at.
        assert!(warnings(&[step(StepRole::Source, "'x'", 0, 0, None)]).is_empty());
    }
}
