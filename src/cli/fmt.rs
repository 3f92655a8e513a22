//! `curator fmt`: the canonical form of a text.

use super::args::read_source;
use super::terminal;
use crate::{Error, Result, syntax};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print query files in canonical form; comments stay.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The query files, or `-` for standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Change nothing; name the files that are not in canonical form, and exit with 1 if there are any.
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Change the files instead of printing.
    #[arg(short, long)]
    write: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let mut exit_code = 0;
    for file in &args.files {
        match format_one(file, &args) {
            Ok(true) => {}
            Ok(false) => exit_code = exit_code.max(1),
            Err(error) if terminal::is_closed_pipe(&error) => return Err(error),
            // The other files may well be fine.
            Err(error) => {
                terminal::say_error(&error);
                exit_code = exit_code.max(error.exit_code());
            }
        }
    }
    Ok(ExitCode::from(exit_code))
}

/// Whether the file is as asked: false only for `--check`.
fn format_one(file: &Path, args: &Args) -> Result<bool> {
    let source = read_source(file)?;
    let formatted = syntax::format(&source).map_err(Error::Query)?;
    let is_canonical = formatted == source.text();
    if args.check {
        if !is_canonical {
            terminal::say(&format!("{}: not in canonical form; run `curator fmt --write`", source.name()));
        }
        return Ok(is_canonical);
    }
    if !args.write || file == Path::new("-") {
        terminal::print(&formatted)?;
    } else if !is_canonical {
        replace(file, &formatted).map_err(|error| Error::io(file, error))?;
    }
    Ok(true)
}

/// Writes the file again or leaves it as it was; a link keeps pointing, permissions stay.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let file = file.canonicalize()?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().set_permissions(std::fs::metadata(&file)?.permissions())?;
    temporary.persist(&file)?;
    Ok(())
}
