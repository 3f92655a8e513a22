//! `curator ops`: the operators and the presets, all or one.

mod presets;

use super::terminal;
use crate::diag::did_you_mean;
use crate::ops::{Registry, reference};
use crate::{Error, Result, models};
use std::process::ExitCode;

/// List the operators and presets, or describe one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The operator or preset to describe.
    name: Option<String>,
    /// Print the reference page.
    #[arg(long, conflicts_with = "name")]
    markdown: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let registry = models::builtin()?;
    let text = match &args.name {
        Some(name) => describe(&registry, name)?,
        None if args.markdown => reference::markdown(&registry) + &presets::markdown(),
        None => list(&registry),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Every operator and every preset, a line each.
pub fn list(registry: &Registry) -> String {
    reference::list(registry) + &presets::list()
}

/// One operator or preset in full, or the name it may have meant.
pub fn describe(registry: &Registry, name: &str) -> Result<String> {
    if let Some(spec) = registry.find(name) {
        return Ok(reference::describe(spec));
    }
    if let Some(text) = presets::describe(name) {
        return Ok(text);
    }
    let names = registry.iter().map(|spec| spec.name).chain(presets::names());
    let help = did_you_mean(name, names).unwrap_or("`curator ops` lists all".into());
    Err(Error::Data(format!("no operator or preset `{name}`; {help}")))
}
