//! `curator verify`: whether outputs are what their manifests say.

use super::funnel::plural;
use super::terminal;
use crate::Result;
use crate::config::format_bytes;
use crate::sinks::{self, OutputVerification};
use std::path::PathBuf;
use std::process::ExitCode;

/// Check outputs against their manifests; exit with 1 if a file is missing, changed or not listed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders or files that INTO wrote, or folders of rejects.
    #[arg(required = true)]
    outputs: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let mut is_sound = true;
    for output in &args.outputs {
        let found = sinks::verify(output)?;
        is_sound &= found.problems.is_empty();
        terminal::say(&verdict(&output.display().to_string(), &found));
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn verdict(output: &str, found: &OutputVerification) -> String {
    let mut lines: Vec<String> = found.problems.iter().map(|problem| format!("error: {output}: {problem}")).collect();
    let n_bytes = format_bytes(usize::try_from(found.n_bytes).unwrap_or(usize::MAX));
    let holds = format!("{} in {}, {n_bytes}", plural(found.n_rows, "row"), plural(found.n_files as u64, "file"));
    lines.push(match found.problems.len() {
        0 => format!("sound: {output}: {holds}"),
        n => format!("{}: {output}, of {holds}", plural(n as u64, "problem")),
    });
    lines.join("\n")
}
