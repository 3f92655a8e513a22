//! What a run did: the funnel, the files written, what was set aside.

use crate::dedup::TaskReport;
use std::path::PathBuf;
use std::time::Duration;

/// The story of one run, for the funnel at the end and for a JSON report.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Report {
    /// From the source to the output, in the order rows pass.
    pub steps: Vec<Step>,
    /// Lines that could not be read, by reason, most frequent first.
    pub rejected: Vec<(String, u64)>,
    /// The first few of them, as `file:line: reason`.
    pub rejected_examples: Vec<String>,
    /// Where all of them were written, if asked for.
    pub rejects_path: Option<PathBuf>,
    /// Files of the drop ledger: the documents that rules dropped, if asked for.
    pub dropped: Vec<OutputFile>,
    /// Files written, with rows and bytes.
    pub files: Vec<OutputFile>,
    /// What each `DECONTAMINATE` found, task by task.
    pub contamination: Vec<Contamination>,
    /// What else the user should know: a GPU that failed, for instance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Rows that came out.
    pub rows_out: u64,
    /// Wall time.
    pub elapsed: Duration,
}

/// What a `DECONTAMINATE` found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Contamination {
    /// The verb, as the funnel names it.
    pub rule: String,
    /// Every task of the evaluations, in their order.
    pub tasks: Vec<TaskReport>,
}

/// The tasks that were found, in most documents first.
pub fn by_hits(tasks: &[TaskReport]) -> Vec<&TaskReport> {
    let mut found: Vec<&TaskReport> = tasks.iter().filter(|task| task.n_documents > 0).collect();
    found.sort_by(|one, other| other.n_documents.cmp(&one.n_documents).then_with(|| one.task.cmp(&other.task)));
    found
}

/// One file that a run wrote.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct OutputFile {
    /// Where it is.
    pub path: PathBuf,
    /// Documents in it.
    pub n_rows: u64,
    /// Its size on disk.
    pub n_bytes: u64,
}

/// One line of the funnel.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Step {
    /// The source, rule or verb, as EXPLAIN names it.
    pub label: String,
    /// What kind of step it is.
    pub kind: StepRole,
    /// The preset that a rule was written as: `gopher_quality(text)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Rows that came in (0 for a source).
    pub rows_in: u64,
    /// Rows that went on.
    pub rows_out: u64,
    /// Bytes of text in the rows that went on, where counted.
    pub bytes_out: Option<u64>,
    /// How many texts a `SET` changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_changed: Option<u64>,
}

/// What a step does with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepRole {
    /// Gives them.
    Source,
    /// Drops those that a condition does not hold for.
    Rule,
    /// Changes their text.
    Change,
    /// Compares them with others, or chooses among them.
    Verb,
    /// Makes other rows of them, or takes as many as were asked for: nothing is dropped for what it is.
    Reshape,
}

/// How far a run is, for a progress display.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Bytes of the input files read so far (compressed, as on disk).
    pub bytes_read: u64,
    /// Bytes of all input files, if known.
    pub bytes_total: Option<u64>,
    /// Rows the sources gave so far.
    pub rows_read: u64,
    /// Rows that came out so far.
    pub rows_kept: u64,
}
