//! Runs the statements of a text and prints what they give: shared by `query` and the prompt.

use super::output::{Format, Printed, Printer};
use super::progress::ProgressLine;
use super::terminal::{self, is_closed_pipe, show};
use crate::diag::SourceText;
use crate::exec::Report;
use crate::session::{Compiled, ExplainFormat, Plan, Run, Session, Stage};
use crate::store::Stdout;
use crate::syntax::ast::Script;
use crate::{Error, Language, Result};

/// How results are shown.
#[derive(Debug, Clone, Copy)]
pub struct Display {
    /// The form of rows.
    pub format: Format,
    /// The most rows of a table.
    pub max_rows: usize,
    /// Whether a moving line may show how far it is.
    pub progress: bool,
}

/// What one statement did.
pub enum Outcome {
    /// A `SET`, `LET`, `DEFINE` or `CREATE` took effect.
    Done,
    /// A text was printed.
    Text,
    /// The reader of stdout went away while rows were printed.
    Closed,
    /// A query ran to its end.
    Ran(Box<Finished>),
}

/// A query that ran to its end.
pub struct Finished {
    /// What happened.
    pub report: Report,
    /// Bytes that the sources read from disk.
    pub bytes_read: u64,
    /// What was printed; nothing if the rows went to files.
    pub printed: Option<Printed>,
}

/// Every text to statements; the errors of all of them at once. Their names and types are not looked at.
pub fn parse_all(session: &Session, texts: &[(SourceText, Language)]) -> Result<Vec<Script>> {
    let mut scripts = vec![];
    let mut problems = vec![];
    for (source, language) in texts {
        match session.parse(source, *language) {
            Ok(script) => scripts.push(script),
            Err(Error::Query(found)) => problems.extend(found),
            Err(error) => return Err(error),
        }
    }
    if problems.is_empty() { Ok(scripts) } else { Err(Error::Query(problems)) }
}

/// Compiles and runs the statement at `index`; prints its result on stdout.
pub async fn run_statement(session: &mut Session, script: &Script, index: usize, display: Display) -> Result<Outcome> {
    let compiled = session.compile(script, index).await?;
    run_compiled(session, compiled, display).await
}

/// Runs a statement; prints its result on stdout.
pub async fn run_compiled(session: &Session, compiled: Compiled, display: Display) -> Result<Outcome> {
    match compiled {
        Compiled::Done => Ok(Outcome::Done),
        Compiled::Query(plan) => run_plan(session, &plan, display).await,
        Compiled::Explain { plan, analyze, verbose } => {
            let text = explain_text(session, &plan, analyze, verbose).await?;
            closed_or(show(&text), Outcome::Text)
        }
    }
}

/// What `EXPLAIN` shows: the optimized and the physical plan and what it holds in memory, and with VERBOSE the plan after each rule.
pub async fn explain_text(session: &Session, plan: &Plan, analyze: bool, verbose: bool) -> Result<String> {
    if analyze {
        return Ok(session.explain_analyze(plan).await?.0);
    }
    let mut text = String::new();
    if verbose {
        let written = session.explain(plan, Stage::Logical, ExplainFormat::Tree).await?;
        text = format!("as written:\n{}\n\n{}", written.trim_end(), session.explain_rules(plan).await?);
    }
    for (name, stage) in [("optimized", Stage::Optimized), ("physical", Stage::Placed), ("memory", Stage::Memory)] {
        let tree = session.explain(plan, stage, ExplainFormat::Tree).await?;
        text.push_str(&format!("{name}\n"));
        for line in tree.lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    Ok(text)
}

async fn run_plan(session: &Session, plan: &Plan, display: Display) -> Result<Outcome> {
    let outcome = drain(session.execute(plan).await?, display).await?;
    // A table that was made has no documents to tell of.
    Ok(if plan.is_definition() { Outcome::Done } else { outcome })
}

/// Takes everything that a run gives.
pub async fn drain(mut run: Run, display: Display) -> Result<Outcome> {
    let progress = ProgressLine::start(display.progress, run.progress());
    let window = terminal::stdout_columns();
    let mut printer = Printer::new(display.format, run.schema(), Stdout, display.max_rows, window);
    let prints = !run.writes();
    while let Some(batch) = run.next().await {
        let batch = batch?;
        if prints && let Some(outcome) = closed(progress.aside(|| printer.write(&batch)))? {
            return Ok(outcome);
        }
        // A stream that always has rows ready would keep Ctrl-C from being heard.
        tokio::task::yield_now().await;
    }
    let bytes_read = run.progress()().bytes_read;
    drop(progress);
    let mut printed = None;
    if prints {
        match printer.finish() {
            Err(error) if is_closed_pipe(&error) => return Ok(Outcome::Closed),
            result => printed = Some(result?),
        }
    }
    Ok(Outcome::Ran(Box::new(Finished { report: run.report(), bytes_read, printed })))
}

fn closed(result: Result<()>) -> Result<Option<Outcome>> {
    match result {
        Ok(()) => Ok(None),
        Err(error) if is_closed_pipe(&error) => Ok(Some(Outcome::Closed)),
        Err(error) => Err(error),
    }
}

fn closed_or(result: Result<(), Error>, outcome: Outcome) -> Result<Outcome> {
    Ok(closed(result)?.unwrap_or(outcome))
}
