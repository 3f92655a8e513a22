//! `curator repl`: SQL and CQL at one prompt.
//!
//! The loop runs outside the runtime and enters it for each statement, so that completion may ask the session
//! for columns while a line is edited. Invariant: nothing a query does, a panic included, ends the prompt.
//! Not here: running a statement (`cli/run.rs`).

mod commands;
mod complete;
mod highlight;
mod input;
mod meta;
mod names;
mod validate;
mod words;

use super::args::{OutputArgs, SessionArgs, language_of, read_source};
use super::funnel::{duration, plural, rejected, render};
use super::interrupt::Interrupt;
use super::query::{folded, page};
use super::run::{Display, Finished, Outcome, run_statement};
use super::steps::FunnelDetail;
use super::{process, terminal};
use crate::diag::SourceText;
use crate::{Language, Result, Session};
use input::{Entry, Input};
use names::SharedNames;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Rows of a table at the prompt, where all of them would scroll away.
const TABLE_ROWS: usize = 100;

/// Ask questions at a prompt, in SQL and CQL.
///
/// A statement ends with `;` or an empty line. `\help` lists the commands. If standard input is not a terminal,
/// it is run like a file, and the first error ends it. The history is kept in $CURATOR_HISTORY, by default
/// ~/.local/share/curator/history.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let runtime = process::runtime(args.session.config().threads)?;
    let interrupt = Interrupt::of_prompt();
    let display = Display {
        format: args.output.output_format,
        max_rows: args.output.max_rows.unwrap_or(TABLE_ROWS),
        progress: true,
    };
    let mut prompt = Prompt {
        session: Arc::new(Mutex::new(args.session.session()?)),
        names: SharedNames::default(),
        runtime: runtime.handle().clone(),
        interrupt,
        display,
        timing: false,
        is_interactive: terminal::is_interactive(),
    };
    let result = prompt.talk();
    drop(prompt);
    // A query that was cancelled may still be removing its files.
    runtime.shutdown_timeout(std::time::Duration::from_secs(10));
    result.map(|()| ExitCode::SUCCESS)
}

/// The state of a conversation.
struct Prompt {
    session: Arc<Mutex<Session>>,
    names: SharedNames,
    runtime: tokio::runtime::Handle,
    interrupt: Interrupt,
    display: Display,
    timing: bool,
    is_interactive: bool,
}

/// Whether the conversation goes on.
#[derive(PartialEq)]
enum Next {
    Read,
    Quit,
}

impl Prompt {
    fn talk(&mut self) -> Result<()> {
        self.refresh_names();
        let mut input = if self.is_interactive {
            let version = env!("CARGO_PKG_VERSION");
            terminal::say(&format!("curator {version}: SQL and CQL, end with `;`. \\help for help, \\q to quit."));
            Input::terminal(self)
        } else {
            Input::script()
        };
        loop {
            let entry = input.read()?;
            if self.is_interactive {
                // Pressed while a plain line was typed: that line is gone, the next one is meant.
                self.interrupt.answered();
            }
            let answer = match entry {
                Entry::End => return Ok(()),
                Entry::Cancelled => Ok(Next::Read),
                Entry::Text(source) => self.answer(&source),
            };
            self.interrupt.answered();
            match answer {
                Ok(Next::Read) => {}
                Ok(Next::Quit) => return Ok(()),
                Err(error) if !self.is_interactive || terminal::is_closed_pipe(&error) => return Err(error),
                Err(error) => terminal::say_error(&error),
            }
        }
    }

    fn answer(&mut self, source: &SourceText) -> Result<Next> {
        let text = source.text().trim();
        if text.starts_with('\\') {
            return self.command(text);
        }
        if matches!(text.trim_end_matches(';').trim_end(), "exit" | "quit") {
            return Ok(Next::Quit);
        }
        self.execute(source, Language::Cql)?;
        Ok(Next::Read)
    }

    /// Runs every statement of a text.
    fn execute(&mut self, source: &SourceText, language: Language) -> Result<()> {
        let result = {
            let mut session = self.session();
            let session = &mut *session;
            self.enter(async {
                let script = session.parse(source, language)?;
                for index in 0..script.statements.len() {
                    let started = Instant::now();
                    let outcome = run_statement(session, &script, index, self.display).await?;
                    self.tell(&outcome);
                    if self.timing {
                        terminal::say(&format!("time: {}", duration(started.elapsed())));
                    }
                }
                Ok(())
            })
        };
        self.refresh_names();
        result
    }

    /// Runs a query file.
    fn include(&mut self, file: &Path) -> Result<()> {
        let source = read_source(file)?;
        self.execute(&source, language_of(file))
    }

    /// Awaits `work` on the workers; Ctrl-C and panics end it, not the prompt.
    fn enter<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(self.interrupt.or_stop(process::catch(work)))
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        // A panic while the session was held was reported then; its tables and settings are still the user's.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refresh_names(&self) {
        self.names.refresh(&self.session());
    }

    fn tell(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Done if self.is_interactive => terminal::say("ok"),
            Outcome::Ran(finished) => self.tell_finished(finished),
            Outcome::Done | Outcome::Text | Outcome::Closed => {}
        }
    }

    fn tell_finished(&self, finished: &Finished) {
        let Some(printed) = &finished.printed else {
            let page = page(FunnelDetail::Full);
            return terminal::say(&render(&finished.report, finished.bytes_read, page));
        };
        let rows = plural(printed.n_rows as u64, "row");
        match printed.n_hidden {
            0 => terminal::say(&format!("({rows})")),
            hidden => terminal::say(&format!("({rows}, {} shown)", printed.n_rows - hidden)),
        }
        if !printed.folded.is_empty() {
            terminal::say(&format!("{}; \\x shows them", folded(&printed.folded)));
        }
        let rejected = rejected(&finished.report);
        if !rejected.is_empty() {
            terminal::say(&rejected);
        }
    }
}
