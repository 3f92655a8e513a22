//! `curator ops`: the operators, all or one.

use super::{seams, terminal};
use crate::Result;
use std::process::ExitCode;

/// List the operators, or describe one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The operator to describe.
    name: Option<String>,
    /// Print the reference page.
    #[arg(long, conflicts_with = "name")]
    markdown: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let text = match &args.name {
        Some(name) => seams::describe_op(name)?,
        None if args.markdown => seams::ops_markdown(),
        None => seams::list_ops(),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
