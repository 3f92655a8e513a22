//! `curator repl`: SQL and CQL at one prompt.

use crate::Result;
use std::process::ExitCode;

/// Ask questions at a prompt.
#[derive(Debug, Default, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(_: Args) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
