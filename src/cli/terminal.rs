//! What the terminal can do, and the two ways to write to it.
//!
//! Invariant: nothing in the command line prints but through here and `output.rs`, so that a closed pipe is an
//! error value and never a panic.

use crate::diag::{Diagnostic, is_obeyed, render_all, visible};
use crate::store::Stdout;
use crate::{Error, Result};
use rustix::process::getpgrp;
use rustix::termios::{Action, tcflow, tcgetpgrp, tcgetwinsize};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;

/// Both ends are a person's: questions can be asked.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Whether stderr can show a display that moves: a terminal that is not `dumb`.
pub fn stderr_can_animate() -> bool {
    std::io::stderr().is_terminal() && !is_dumb()
}

/// A terminal without cursor movement.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// How many columns the window of stdout has; `None` if it is none.
pub fn stdout_columns() -> Option<usize> {
    columns_of(&std::io::stdout())
}

/// The same of stderr.
pub fn stderr_columns() -> Option<usize> {
    columns_of(&std::io::stderr())
}

fn columns_of(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let columns = tcgetwinsize(stream).map(|size| usize::from(size.ws_col)).unwrap_or_default();
    // A terminal that does not know its size has the usual one.
    Some(if columns == 0 { 80 } else { columns })
}

/// Whether messages on stderr may be coloured.
pub fn stderr_has_colour() -> bool {
    stderr_can_animate() && colour_is_welcome()
}

/// Whether the user did not refuse colour (<https://no-color.org>).
pub fn colour_is_welcome() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Wakes threads that wait to write to the terminal.
///
/// On Ctrl-C, Linux throws away what was written to a terminal and not read yet, and does not wake a thread that waits
/// for room: it would wait for ever, and keep everyone else from writing. Resuming output wakes it.
pub fn wake_blocked_writers() {
    let stdout = std::io::stdout();
    // Only the process in the foreground may change its terminal; others would be stopped for it.
    if tcgetpgrp(&stdout).is_ok_and(|foreground| foreground == getpgrp()) {
        // A terminal that cannot be stopped has nothing to resume.
        let _ = tcflow(&stdout, Action::OOff).and_then(|()| tcflow(&stdout, Action::OOn));
    }
}

/// A message to the person, on stderr. If even that cannot be written there is nobody to tell.
pub fn say(text: &str) {
    say_as_it_is(&visible(text));
}

fn say_as_it_is(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(stderr, "{text}{end}");
}

/// An error, with carets and colour where possible.
pub fn say_error(error: &Error) {
    match error {
        Error::Query(diagnostics) => say_diagnostics(diagnostics),
        Error::Interrupted => say("interrupted"),
        Error::Bug(_) => say(&error.to_string()),
        Error::Data(_) | Error::Device(_) | Error::Io { .. } => say(&format!("error: {error}")),
    }
}

/// Diagnostics, with carets and colour where possible.
pub fn say_diagnostics(diagnostics: &[Diagnostic]) {
    say_as_it_is(&render_all(diagnostics, stderr_has_colour()));
}

/// Text about data, on stdout: plans, tables, columns. What stands in it is shown, not obeyed.
pub fn show(text: &str) -> Result<()> {
    let is_hidden = |character: char| is_obeyed(character) && !matches!(character, '\n' | '\t');
    print(&text.replace(is_hidden, "\u{fffd}"))
}

/// Data, on stdout. A newline is added if the text has none at its end.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = Stdout;
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    write!(stdout, "{text}{end}").and_then(|()| stdout.flush()).map_err(stdout_error)
}

/// An error of writing to stdout.
pub fn stdout_error(error: std::io::Error) -> Error {
    Error::io("<stdout>", error)
}

/// Whether the reader of our output went away (`| head`), which is not an error.
pub fn is_closed_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
}
