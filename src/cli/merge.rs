//! `curator merge`: the output of a run whose shares are all done.

use super::args::{OutputArgs, SessionArgs};
use super::interrupt::Interrupt;
use super::query::tell;
use super::run::{Display, Outcome, run_statement};
use super::steps::FunnelDetail;
use super::{process, terminal};
use crate::config::{Attempt, Checkpoint};
use crate::diag::SourceText;
use crate::session::{ScriptOrigin, UnfinishedRun};
use crate::{Config, Error, Language, Result, Session};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the output of a run that was done in shares (`curator query --shard 1/7`).
///
/// Every unit of the input must have been finished once; what comes after reading and filtering (DEDUP, joins, the
/// output) is done here, and everything becomes visible at once.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the query writes: the folder or file of its INTO.
    output: PathBuf,
    #[command(flatten)]
    session: SessionArgs,
    /// Print no funnel and no progress.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let Some(unfinished) = UnfinishedRun::at(&args.output)? else {
        // A job that was put back into the queue may come twice.
        terminal::say(&format!("{} is complete", args.output.display()));
        return Ok(ExitCode::SUCCESS);
    };
    let ScriptOrigin { name, text, is_sql, parameters, folder } = unfinished.script()?.clone();
    let mut config = Config { attempt: Attempt::Resume, checkpoint: Checkpoint::On, ..args.session.config() };
    for (name, value) in unfinished.settings() {
        let refused = |error| Error::Data(format!("the run had the setting {name} = '{value}': {error:?}"));
        config.set(name, value).map_err(refused)?;
    }
    // The paths of the script are relative to it.
    std::env::set_current_dir(&folder).map_err(|error| Error::io(&folder, error))?;
    process::block_on(config.threads, async {
        let work = async {
            let mut session = Session::new(config)?;
            parameters.iter().for_each(|(name, value)| session.set_parameter(name, value));
            let language = if is_sql { Language::Sql } else { Language::Cql };
            let script = session.parse(&SourceText::new(name, text), language)?;
            let format = OutputArgs::default().output_format;
            let display = Display { format, max_rows: 0, progress: !args.quiet };
            for index in 0..script.statements.len() {
                if let Outcome::Ran(finished) = run_statement(&mut session, &script, index, display).await? {
                    tell(&finished, args.quiet, FunnelDetail::Full);
                }
            }
            Ok(())
        };
        Interrupt::of_command().or_stop(work).await
    })?;
    Ok(ExitCode::SUCCESS)
}
