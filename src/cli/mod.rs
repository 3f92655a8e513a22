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
mod models;
mod ops;
mod output;
mod process;
mod progress;
mod query;
mod repl;
mod run;
mod settings;
mod shell;
mod steps;
mod table;
mod terminal;
mod verify;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command line `args` (the program's name first) and gives the process's exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(with_command(args.into_iter().collect())) {
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
        Command::Models(args) => models::run(args),
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

/// `curator recipe.cql` and `curator -e 'FROM …'` mean `curator query …`.
fn with_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let is_verbose = |arg: &OsString| arg.to_str().is_some_and(|arg| arg == "--verbose" || arg.starts_with("-v"));
    let at = args.iter().skip(1).position(|arg| !is_verbose(arg)).map_or(args.len(), |at| at + 1);
    let Some(first) = args.get(at).map(|arg| arg.to_string_lossy().into_owned()) else { return args };
    let is_query = if first.starts_with('-') {
        !matches!(first.as_str(), "-h" | "--help" | "-V" | "--version")
    } else {
        let is_command = |command: &clap::Command| command.get_name() == first;
        let is_text = first.contains(char::is_whitespace);
        let is_file = [".cql", ".sql"].iter().any(|ending| first.ends_with(ending)) || Path::new(&first).is_file();
        first != "help" && (is_text || is_file) && !Cli::command().get_subcommands().any(is_command)
    };
    if is_query {
        args.insert(at, "query".into());
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_or_a_text_alone_is_a_query() {
        let told = |args: &str| {
            let args = std::iter::once("curator").chain(args.split(' ')).map(OsString::from).collect();
            let told = with_command(args).into_iter().skip(1).map(|arg| arg.to_string_lossy().into_owned());
            told.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told("a.cql --quiet"), "query a.cql --quiet");
        assert_eq!(told("-vv -e FROM"), "-vv query -e FROM");
        assert_eq!(told("--threads 2 a.sql"), "query --threads 2 a.sql");
        assert_eq!(told("Cargo.toml"), "query Cargo.toml");
        for unchanged in ["query a.cql", "explain a.cql", "--help", "-V", "-v", "help query", "qurey a.cql"] {
            assert_eq!(told(unchanged), unchanged);
        }
    }
}
