//! The evaluations: rows of texts, answers and tasks to a matcher.
//!
//! Every text column of a row is a text of its own. With answers, the texts of a row are one question.

use super::work::DecontaminateWork;
use crate::dedup::{Budget, CutMatcher, CutMatcherBuilder, DropMatcher, DropMatcherBuilder};
use crate::ops::dedup::{Shingle, ShingleUnit, Shingler};
use crate::sources::{Compression, is_position};
use crate::verbs::documents::texts;
use crate::verbs::working::Input;
use crate::{Result, bug};
use arrow::array::{Array, RecordBatch, StringArray};
use std::sync::Arc;

/// What names a task that has no name.
const NO_TASK: &str = "(no task)";

/// What cuts texts into n-grams for a [`DropMatcher`].
pub(super) fn shingler(work: &DecontaminateWork) -> Shingler {
    let options = &work.request.options;
    Shingler::new(Shingle { unit: ShingleUnit::Words, n: options.ngram }, options.normalize)
}

/// Reads the evaluations to their end.
pub(super) fn drop_matcher(
    work: &DecontaminateWork,
    input: &mut Input,
    budget: &Arc<dyn Budget>,
) -> Result<DropMatcher> {
    let mut shingler = shingler(work);
    let options = &work.request.options;
    let mut builder = DropMatcherBuilder::new(options, |text, hashes| shingler.hashes(text, hashes));
    while let Some(batch) = input.next()? {
        let _timer = work.elapsed.timer();
        let rows = EvalRows::of(&batch, work)?;
        for row in 0..batch.num_rows() {
            let task = rows.task(row);
            match &rows.labels {
                None => rows.texts(row).for_each(|text| builder.add_text(&task, text)),
                Some(answers) => {
                    let question = rows.texts(row).collect::<Vec<_>>().join("\n");
                    match at(answers, row) {
                        Some(answer) => builder.add_question(&task, &question, answer),
                        None if options.queries => builder.add_text(&task, &question),
                        None => {}
                    }
                }
            }
        }
    }
    builder.finish(budget)
}

/// Reads the evaluations to their end.
pub(super) fn cut_matcher(work: &DecontaminateWork, input: &mut Input, budget: &Arc<dyn Budget>) -> Result<CutMatcher> {
    let mut builder = CutMatcherBuilder::new(&work.request.options);
    while let Some(batch) = input.next()? {
        let _timer = work.elapsed.timer();
        let rows = EvalRows::of(&batch, work)?;
        for row in 0..batch.num_rows() {
            let task = rows.task(row);
            rows.texts(row).for_each(|text| builder.add_text(&task, text));
        }
    }
    builder.finish(budget)
}

/// A batch of the evaluations, as the binder lays it out: texts, the answer if it is asked for, the task or its file.
struct EvalRows {
    texts: Vec<StringArray>,
    labels: Option<StringArray>,
    tasks: StringArray,
    tasks_are_files: bool,
}

impl EvalRows {
    fn of(batch: &RecordBatch, work: &DecontaminateWork) -> Result<Self> {
        let options = &work.request.options;
        let schema = batch.schema_ref();
        let shown = (0..batch.num_columns()).filter(|column| !is_position(schema.field(*column).name()));
        let mut columns = shown.map(|column| texts(batch, column)).collect::<Result<Vec<_>>>()?;
        let Some(tasks) = columns.pop() else { return Err(bug!("evaluations without columns")) };
        let labels = if options.label.is_some() { columns.pop() } else { None };
        Ok(Self { texts: columns, labels, tasks, tasks_are_files: options.task.is_none() })
    }

    fn texts(&self, row: usize) -> impl Iterator<Item = &str> {
        self.texts.iter().filter_map(move |texts| at(texts, row))
    }

    fn task(&self, row: usize) -> String {
        match at(&self.tasks, row) {
            Some(file) if self.tasks_are_files => stem(file).to_string(),
            Some(task) => task.to_string(),
            None => NO_TASK.to_string(),
        }
    }
}

fn at(texts: &StringArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}

/// The name of a file without its folder and endings.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (name, _) = Compression::of_file_name(name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_gives_its_task_the_name_without_endings() {
        for (path, task) in [
            ("evals/mmlu.jsonl", "mmlu"),
            ("gsm8k.v2.jsonl.gz", "gsm8k.v2"),
            ("/a/b/plain", "plain"),
            ("a/.hidden", ".hidden"),
            ("-", "-"),
        ] {
            assert_eq!(super::stem(path), task);
        }
    }
}
