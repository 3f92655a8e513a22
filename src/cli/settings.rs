//! `curator settings`: what `SET` takes.

use super::terminal;
use crate::config::SETTINGS;
use crate::{Config, Result};
use std::process::ExitCode;

/// List the settings that SET takes, with their defaults.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(_: Args) -> Result<ExitCode> {
    terminal::print(&list(&Config::default()))?;
    Ok(ExitCode::SUCCESS)
}

/// Each setting with its value in `config`.
pub fn list(config: &Config) -> String {
    let rows: Vec<(&str, String, &str)> =
        SETTINGS.iter().map(|setting| (setting.name, setting.value(config), setting.doc)).collect();
    let name_width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let value_width = rows.iter().map(|(_, value, _)| value.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value, doc)| format!("{name:name_width$}  {value:value_width$}  {doc}\n")).collect()
}
