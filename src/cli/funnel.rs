//! The story of a run as text: what came in, what each rule dropped, what could not be read, what was written.

use super::steps::{self, Page};
use crate::config::format_bytes;
use crate::exec::{Contamination, OutputFile, Report, StepRole, by_hits};
use std::fmt::Write;
use std::time::Duration;

/// The longest name of a task shown whole, in characters.
const LABEL_CHARS: usize = 60;

/// The whole funnel. `bytes_read` is what the sources read from disk.
pub fn render(report: &Report, bytes_read: u64, page: Page) -> String {
    let mut text = steps::draw(&report.steps, page);
    report.contamination.iter().for_each(|found| text.push_str(&contamination(found)));
    text.push_str(&rejected(report));
    text.push_str(&written("wrote", &report.files));
    text.push_str(&written("dropped documents in", &report.dropped));
    for note in &report.notes {
        let _ = writeln!(text, "  {}", note.replace('\n', "\n  "));
    }
    text.push_str(&total(report, bytes_read));
    for told in steps::warnings(&report.steps) {
        let _ = writeln!(text, "warning: {told}");
    }
    text
}

/// The lines that could not be read; empty if there are none.
pub fn rejected(report: &Report) -> String {
    let n_rejected: u64 = report.rejected.iter().map(|(_, count)| count).sum();
    if n_rejected == 0 {
        return String::new();
    }
    let reasons: Vec<String> =
        report.rejected.iter().map(|(reason, count)| format!("{reason} {}", grouped(*count))).collect();
    let mut text = format!("  set aside {}: {}\n", plural(n_rejected, "line"), reasons.join(", "));
    for example in &report.rejected_examples {
        let _ = writeln!(text, "    {}", one_line_of(example, 200));
    }
    if let Some(path) = &report.rejects_path {
        let _ = writeln!(text, "    all in {}", path.display());
    } else if (report.rejected_examples.len() as u64) < n_rejected {
        let _ =
            writeln!(text, "    keep them with INTO … WITH (rejects = 'folder/'), or stop at the first with --strict");
    }
    text
}

/// The tasks of a `DECONTAMINATE` that were found in documents.
fn contamination(found: &Contamination) -> String {
    const SHOWN: usize = 20;
    let tasks = by_hits(&found.tasks);
    let n_tasks = found.tasks.len() as u64;
    let mut text = format!("  evaluations: {} of {} found\n", grouped(tasks.len() as u64), plural(n_tasks, "task"));
    let shown = &tasks[..tasks.len().min(SHOWN)];
    let width = shown.iter().map(|task| one_line(&task.task).chars().count()).max().unwrap_or(0);
    for task in shown {
        let (found, all) = (grouped(task.n_ngrams_found), grouped(task.n_ngrams));
        let documents = plural(task.n_documents, "document");
        let _ = writeln!(text, "    {:width$}  {documents}, {found} of {all} n-grams", one_line(&task.task));
    }
    if tasks.len() > SHOWN {
        let _ = writeln!(text, "    … and {} more", grouped((tasks.len() - SHOWN) as u64));
    }
    text
}

fn written(what: &str, files: &[OutputFile]) -> String {
    const SHOWN: usize = 10;
    let mut text = String::new();
    for file in files.iter().take(SHOWN) {
        let bytes = bytes_text(file.n_bytes);
        let _ = writeln!(text, "  {what} {}  {}, {bytes}", file.path.display(), plural(file.n_rows, "document"));
    }
    if files.len() > SHOWN {
        let rest = &files[SHOWN..];
        let bytes = bytes_text(rest.iter().map(|file| file.n_bytes).sum());
        let _ = writeln!(text, "  {what} {} more, {bytes}", plural(rest.len() as u64, "file"));
    }
    text
}

fn total(report: &Report, bytes_read: u64) -> String {
    // Documents are measured unpacked where the sources know that; a rate of packed bytes flatters nobody.
    let sources = report.steps.iter().filter(|step| step.kind == StepRole::Source);
    let unpacked: u64 = sources.filter_map(|step| step.bytes_out).sum();
    let bytes = if unpacked > 0 { unpacked } else { bytes_read };
    let mut text = format!("  {} in {}", plural(report.rows_out, "document"), duration(report.elapsed));
    if bytes > 0 {
        let rate = bytes as f64 / 1e6 / report.elapsed.as_secs_f64().max(1e-6);
        let _ = write!(text, ", {} at {rate:.1} MB/s", bytes_text(bytes));
    }
    text.push('\n');
    text
}

/// A time for people: `0.42 s`, `3 min 7 s`.
pub fn duration(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    match elapsed.as_secs() {
        0 if seconds < 0.1 => format!("{:.1} ms", seconds * 1e3),
        0..60 => format!("{seconds:.2} s"),
        whole @ 60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        whole => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `1 row`, `2 rows`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// `1234567` as `1,234,567`.
pub fn grouped(count: u64) -> String {
    indicatif::HumanCount(count).to_string()
}

pub fn bytes_text(bytes: u64) -> String {
    format_bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn one_line(label: &str) -> String {
    one_line_of(label, LABEL_CHARS)
}

fn one_line_of(text: &str, max_chars: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= max_chars {
        return words;
    }
    words.chars().take(max_chars - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{OutputFile, Step};

    fn step(kind: StepRole, label: &str, rows_in: u64, rows_out: u64, bytes_out: Option<u64>) -> Step {
        Step { label: label.into(), kind, preset: None, rows_in, rows_out, bytes_out, n_changed: None }
    }

    #[test]
    fn the_funnel_tells_each_rule_what_it_dropped() {
        let report = Report {
            steps: vec![
                step(StepRole::Source, "'docs.jsonl'", 0, 1200, Some(3_000_000)),
                step(StepRole::Rule, "WHERE words(text)\n  > 50", 1200, 900, None),
            ],
            rejected: vec![("not JSON".into(), 2)],
            rejected_examples: vec!["docs.jsonl:7: not JSON".into(), "docs.jsonl:9: not JSON".into()],
            files: vec![OutputFile { path: "out.jsonl".into(), n_rows: 900, n_bytes: 2_500_000 }],
            rows_out: 900,
            elapsed: Duration::from_millis(1500),
            ..Report::default()
        };
        let expected = "  step                     docs  dropped            text
  'docs.jsonl'            1,200                    3.0 MB
  WHERE words(text) > 50    900     −300  25.0 %
  set aside 2 lines: not JSON 2
    docs.jsonl:7: not JSON
    docs.jsonl:9: not JSON
  wrote out.jsonl  900 documents, 2.5 MB
  900 documents in 1.50 s, 3.0 MB at 2.0 MB/s
";
        let told = render(&report, 400, Page::default());
        let squeezed = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(squeezed(&told), squeezed(expected), "{told}");
    }

    #[test]
    fn tasks_that_were_found_are_listed_most_documents_first() {
        use crate::dedup::TaskReport;
        let task = |n: u64| TaskReport {
            task: format!("task-{n}"),
            n_texts: 1,
            n_short_texts: 0,
            n_ngrams: 1000 + n,
            n_ngrams_found: 1,
            n_documents: n % 23,
        };
        let found = Contamination { rule: "DECONTAMINATE".into(), tasks: (0..24).map(task).collect() };
        let text = contamination(&found);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  evaluations: 22 of 24 tasks found");
        assert_eq!(lines[1], "    task-22  22 documents, 1 of 1,022 n-grams");
        assert_eq!(lines[20], "    task-3   3 documents, 1 of 1,003 n-grams");
        assert_eq!(lines[21..], ["    … and 2 more"]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(duration(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(duration(Duration::from_millis(1500)), "1.50 s");
        assert_eq!(duration(Duration::from_secs(187)), "3 min 7 s");
        assert_eq!(duration(Duration::from_secs(3720)), "1 h 2 min");
    }
}
