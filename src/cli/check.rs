//! `curator check`: every error of a text, without running anything.

use super::args::{InputArgs, SessionArgs};
use super::funnel::plural;
use super::{process, terminal};
use crate::Result;
use crate::diag::Severity;
use std::process::ExitCode;

/// Find the errors of a query file without running it.
///
/// Reads the columns of the files that the query names, nothing else.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let texts = args.input.read()?;
    let diagnostics = process::block_on(args.session.config().threads, async {
        let session = args.session.session()?;
        Ok(session.check_texts(&texts).await.1.problems)
    })?;
    if diagnostics.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::say_diagnostics(&diagnostics);
    let n_errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    if n_errors == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::say(&plural(n_errors as u64, "error"));
    Ok(ExitCode::from(1))
}
