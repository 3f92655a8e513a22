//! `curator query`: runs a text; rows to stdout or to files, the funnel to stderr.

use super::args::{InputArgs, OutputArgs, SessionArgs};
use super::funnel::{plural, render};
use super::interrupt::Interrupt;
use super::run::{Display, Finished, Outcome, parse_all, run_compiled};
use super::{process, terminal};
use crate::diag::Severity;
use crate::exec::Report;
use crate::{Compiled, Error, Result, Session, bug};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Tables of more rows than this are for another format.
const TABLE_ROWS: usize = 10_000;

/// Run a query file.
///
/// Statements run in order. Rows of queries without INTO are printed on stdout; the funnel (documents, bytes,
/// what each rule dropped) is printed on stderr at the end of each query.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Print no funnel and no progress.
    #[arg(short, long)]
    quiet: bool,
    /// Write what happened, as JSON, to this file.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let texts = args.input.read()?;
    let mut reports = vec![];
    let result = process::block_on(args.session.config().threads, async {
        let interrupt = Interrupt::of_command();
        let work = async {
            let mut session = args.session.session()?;
            // Everything must be right before anything runs: the end of an hour's work is a bad place for a typo.
            let scripts = parse_all(&session, &texts)?;
            let checked = session.check_scripts(&scripts).await;
            if checked.problems.iter().any(|problem| problem.severity == Severity::Error) {
                return Err(Error::Query(checked.problems));
            }
            for (place, script) in scripts.iter().enumerate() {
                for (index, statement) in script.statements.iter().enumerate() {
                    let compiled = session.compile_checked(&checked, (script, place), index).await?;
                    run_one(&session, compiled, script.source.slice(statement.span), &args, &mut reports).await?;
                }
            }
            Ok(())
        };
        interrupt.or_stop(work).await
    });
    if let Some(path) = &args.report {
        write_report(path, &reports, result.as_ref().err())?;
    }
    result.map(|()| ExitCode::SUCCESS)
}

async fn run_one(
    session: &Session,
    compiled: Compiled,
    text: &str,
    args: &Args,
    reports: &mut Vec<Value>,
) -> Result<()> {
    let display = Display {
        format: args.output.output_format,
        max_rows: args.output.max_rows.unwrap_or(TABLE_ROWS),
        progress: !args.quiet,
    };
    if let Outcome::Ran(finished) = run_compiled(session, compiled, display).await? {
        reports.push(report_json(text, &finished.report)?);
        tell(&finished, args.quiet);
    }
    Ok(())
}

fn tell(finished: &Finished, quiet: bool) {
    let n_hidden = finished.printed.as_ref().map_or(0, |printed| printed.n_hidden);
    if n_hidden > 0 {
        let rows = plural(n_hidden as u64, "more row");
        terminal::say(&format!("… {rows} not shown; use --max-rows, another --output-format, or INTO"));
    }
    if !quiet {
        terminal::say(&render(&finished.report, finished.bytes_read));
    }
}

/// One query of the report: its text and its story, times in seconds.
fn report_json(text: &str, report: &Report) -> Result<Value> {
    let mut value = serde_json::to_value(report).map_err(|error| bug!("the report as JSON: {error}"))?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("elapsed");
        fields.insert("elapsed_seconds".into(), json!(report.elapsed.as_secs_f64()));
        fields.insert("query".into(), json!(text));
    }
    Ok(value)
}

fn write_report(path: &Path, reports: &[Value], error: Option<&Error>) -> Result<()> {
    let report = json!({
        "curator": env!("CARGO_PKG_VERSION"),
        "queries": reports,
        "error": error.map(ToString::to_string),
    });
    std::fs::write(path, format!("{report:#}\n")).map_err(|error| Error::io(path, error))
}
