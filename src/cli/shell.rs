//! `curator completions` and `curator man`: from the same definitions as `--help`.

use super::args::Cli;
use super::terminal::print;
use crate::{Error, Result, bug};
use clap::CommandFactory;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print a completion script for a shell.
///
/// For example: `curator completions bash > ~/.local/share/bash-completion/completions/curator`
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Print the manual page.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Write one page a subcommand into this folder instead.
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

/// Runs `curator completions`.
pub fn completions(args: CompletionsArgs) -> Result<ExitCode> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "curator", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `curator man`.
pub fn man(args: ManArgs) -> Result<ExitCode> {
    if let Some(dir) = &args.dir {
        let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
        written.map_err(|error| Error::io(dir, error))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&manual()?)?;
    Ok(ExitCode::SUCCESS)
}

/// The page of the command, followed by those of its subcommands and theirs.
fn manual() -> Result<String> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut page = vec![];
    let mut waiting = vec![&command];
    while let Some(command) = waiting.pop() {
        clap_mangen::Man::new(command.clone()).render(&mut page).map_err(|error| bug!("manual page: {error}"))?;
        let subcommands: Vec<_> = command.get_subcommands().filter(|command| command.get_name() != "help").collect();
        waiting.extend(subcommands.into_iter().rev());
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_describes_every_subcommand_and_its_options() {
        let manual = manual().unwrap();
        for command in Cli::command().get_subcommands() {
            assert!(manual.contains(&format!("curator\\-{}", command.get_name())), "{}", command.get_name());
        }
        assert!(manual.contains("output\\-format"));
    }
}
