//! The command line: arguments in, exit code out.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 the query or the data is wrong, 2 we
//! failed, 130 interrupted. Each subcommand is a file; help, man page and completions come from [`Cli`].
//! Not here: anything a library user would want too. This only calls [`Session`](crate::Session).

mod args;
mod calibrate;
mod check;
mod explain;
mod fmt;
mod funnel;
mod gpu;
mod index;
mod interrupt;
mod merge;
mod ops;
mod output;
mod process;
mod progress;
mod query;
mod repl;
mod run;
mod settings;
mod shell;
mod terminal;
mod verify;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command line `args` (the program's name first) and gives the process's exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe under `--help` is nobody's mistake.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS };
        }
    };
    let command = match cli.command {
        Some(command) => command,
        None if terminal::is_interactive() => Command::Repl(repl::Args::default()),
        None => {
            terminal::say(&Cli::command().render_help().to_string());
            return ExitCode::from(1);
        }
    };
    process::start_tracing(cli.verbose);
    process::contain(move || match command {
        Command::Query(args) => query::run(args),
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Fmt(args) => fmt::run(args),
        Command::Ops(args) => ops::run(args),
        Command::Settings(args) => settings::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Index(args) => index::run(args),
        Command::Gpu(args) => gpu::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Repl(args) => repl::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    })
}
