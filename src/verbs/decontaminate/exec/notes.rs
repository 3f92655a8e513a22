//! What EXPLAIN says of a decontamination: what is looked for, in how many passes; what was found.

use super::Decontamination;
use super::work::{DROPPED, HIT, PIECES};
use crate::config::format_bytes;
use crate::dedup::{DecontaminateMode, TaskNgrams, TaskReport};
use crate::exec::by_hits;
use crate::verb::counter;
use datafusion::physical_plan::metrics::MetricsSet;

/// N-grams that memory is stated for.
const NGRAMS: usize = 1_000_000;
/// Tasks that are shown.
const SHOWN: usize = 20;

impl Decontamination {
    /// The lines below the node.
    pub(super) fn planned_notes(&self) -> Vec<String> {
        let options = &self.request.options;
        let n = options.ngram;
        let mut notes = vec![match options.mode {
            DecontaminateMode::Drop => {
                format!("a document with {n} words in a row of an evaluation goes; normalize {}", options.normalize)
            }
            DecontaminateMode::Cut => format!(
                "{n} words in a row of an evaluation, or one of {} to {n} words whole, found at most {} times, are cut out \
                 with {} characters on each side",
                options.min_ngram, options.max_matches, options.remove_chars
            ),
        }];
        let memory = format_bytes(TaskNgrams::memory_bytes(NGRAMS));
        notes.push(format!("memory: {memory} for a million n-grams of evaluations"));
        if options.mode == DecontaminateMode::Drop {
            notes.push("documents: gone through once, none is kept".to_string());
        }
        notes
    }

    /// The lines below the node once it ran.
    pub(super) fn notes_of_run(&self, metrics: &MetricsSet) -> Vec<String> {
        let count = |name: &str| counter(metrics, name);
        let mut line = format!("with a match {}  dropped {}", count(HIT), count(DROPPED));
        if self.request.options.mode == DecontaminateMode::Cut {
            line.push_str(&format!("  pieces {}", count(PIECES)));
        }
        let mut notes = vec![line];
        let tasks = self.tasks.get().map(Vec::as_slice).unwrap_or_default();
        let found = by_hits(tasks);
        notes.extend(found.iter().take(SHOWN).map(|task| shown(task)));
        if found.len() > SHOWN {
            notes.push(format!("… and {} more tasks", found.len() - SHOWN));
        }
        let n_clean = tasks.len() - found.len();
        if n_clean > 0 {
            notes.push(format!("tasks without a match: {n_clean}"));
        }
        notes
    }
}

fn shown(task: &TaskReport) -> String {
    format!(
        "task {}: documents {}  n-grams {} of {}  texts {}",
        task.task, task.n_documents, task.n_ngrams_found, task.n_ngrams, task.n_texts
    )
}
