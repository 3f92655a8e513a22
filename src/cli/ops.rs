//! `curator ops`: the operators, all or one.

use super::terminal;
use crate::ops::{Registry, reference};
use crate::{Error, Result};
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
    let registry = Registry::builtin();
    let text = match &args.name {
        Some(name) => describe(&registry, name)?,
        None if args.markdown => reference::markdown(&registry),
        None => reference::list(&registry),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// One operator in full, or the name it may have meant.
pub fn describe(registry: &Registry, name: &str) -> Result<String> {
    let Some(spec) = registry.find(name) else {
        let help = registry.suggest(name).unwrap_or("`curator ops` lists all".into());
        return Err(Error::Data(format!("no operator `{name}`; {help}")));
    };
    Ok(reference::describe(spec))
}
