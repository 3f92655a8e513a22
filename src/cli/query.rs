//! `curator query`: runs a text; rows to stdout or to files, the funnel to stderr.

use super::args::{InputArgs, OutputArgs, SessionArgs};
use super::funnel::{plural, render};
use super::interrupt::Interrupt;
use super::run::{Display, Finished, Outcome, drain, run_compiled};
use super::steps::{FunnelDetail, Page};
use super::{process, terminal};
use crate::config::{Attempt, Checkpoint};
use crate::diag::{Severity, SourceText};
use crate::exec::Shard;
use crate::session::ScriptOrigin;
use crate::syntax::ast::{Script, StatementKind};
use crate::{Compiled, Config, Error, Language, Result, Session, bug};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tables of more rows than this are for another format.
const TABLE_ROWS: usize = 10_000;

/// Run a query file.
///
/// Statements run in order. Rows of queries without INTO are printed on stdout; the funnel (documents, bytes,
/// what each rule dropped) is printed on stderr at the end of each query.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    attempt: AttemptArgs,
    /// Print no funnel and no progress.
    #[arg(short, long)]
    quiet: bool,
    /// What the funnel shows of presets: their rules too, or one line each.
    #[arg(long, value_name = "DETAIL", value_enum, default_value_t)]
    funnel: FunnelDetail,
    /// Write what happened, as JSON, to this file.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

/// What to do with what an earlier attempt at the same run has finished.
#[derive(Debug, Default, clap::Args)]
struct AttemptArgs {
    /// Go on where an attempt at this run was interrupted; and keep what is finished, so that this one can be gone on with.
    /// Outputs that are complete are left alone.
    #[arg(long)]
    resume: bool,
    /// Throw away what an interrupted attempt has finished, and begin again.
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
    /// Do only a share of the work, such as 2/7, and keep it; `curator merge` writes the output when all shares are done.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse, conflicts_with = "restart")]
    shard: Option<Shard>,
    /// Read only the files that are new since the query last wrote its output, and add to it.
    #[arg(long, conflicts_with = "shard")]
    incremental: bool,
}

impl AttemptArgs {
    fn apply(&self, config: Config) -> Config {
        let config = Config { incremental: self.incremental, ..config };
        let attempt = match (self.resume || self.shard.is_some(), self.restart) {
            (true, _) => Attempt::Resume,
            (false, true) => Attempt::Restart,
            (false, false) => return config,
        };
        Config { attempt, checkpoint: Checkpoint::On, ..config }
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let texts = args.input.read()?;
    // Where it cannot be written, it is better to know now.
    let report = args.report.as_ref().map(ReportFile::open).transpose()?;
    let mut reports = vec![];
    let result = process::block_on(args.session.config().threads, async {
        let interrupt = Interrupt::of_command();
        let work = async {
            let mut session = args.session.session_with(args.attempt.apply(args.session.config()))?;
            // Everything must be right before anything runs: the end of an hour's work is a bad place for a typo.
            let (scripts, checked) = session.check_texts(&texts).await;
            if checked.problems.iter().any(|problem| problem.severity == Severity::Error) {
                return Err(Error::Query(checked.problems));
            }
            let share = args.attempt.shard.map(|shard| share_of(shard, &args, &texts, &scripts)).transpose()?;
            for (place, script) in scripts.iter().enumerate() {
                for (index, statement) in script.statements.iter().enumerate() {
                    let compiled = session.compile_checked(&checked, (script, place), index).await?;
                    let text = script.source.slice(statement.span);
                    run_one(&session, compiled, (text, share.as_ref()), &args, &mut reports).await?;
                }
            }
            Ok(())
        };
        interrupt.or_stop(work).await
    });
    if let Some(report) = report
        && let Err(error) = report.write(&reports, result.as_ref().err())
    {
        // The outputs do not depend on it: they are committed, or the run's own error says why not.
        terminal::say(&format!("error: the report could not be written: {error}"));
        return result.map(|()| {
            terminal::say("the outputs of the query are complete");
            ExitCode::from(1)
        });
    }
    result.map(|()| ExitCode::SUCCESS)
}

async fn run_one(
    session: &Session,
    compiled: Compiled,
    (text, share): (&str, Option<&(Shard, ScriptOrigin)>),
    args: &Args,
    reports: &mut Vec<Value>,
) -> Result<()> {
    let display = Display {
        format: args.output.output_format,
        max_rows: args.output.max_rows.unwrap_or(TABLE_ROWS),
        progress: !args.quiet,
    };
    let outcome = match (compiled, share) {
        (Compiled::Query(plan), Some((shard, script))) => {
            drain(session.execute_share(&plan, *shard, script.clone()).await?, display).await?
        }
        (compiled, _) => run_compiled(session, compiled, display).await?,
    };
    if let Outcome::Ran(finished) = outcome {
        reports.push(report_json(text, &finished)?);
        tell(&finished, args.quiet, args.funnel);
    }
    Ok(())
}

/// What to run when all shares are done. A share is of one output: others would be written before it is.
fn share_of(
    shard: Shard,
    args: &Args,
    texts: &[(SourceText, Language)],
    scripts: &[Script],
) -> Result<(Shard, ScriptOrigin)> {
    let is_definition = |kind: &StatementKind| {
        matches!(kind, StatementKind::Set { .. } | StatementKind::Let { .. } | StatementKind::Define { .. })
    };
    let n_queries =
        scripts.iter().flat_map(|script| &script.statements).filter(|one| !is_definition(&one.kind)).count();
    let (1, [(source, language)]) = (n_queries, texts) else {
        return Err(Error::Data(
            "--shard takes one text in which one statement is run; give each query a file of its own".to_string(),
        ));
    };
    let folder = std::env::current_dir().map_err(|error| Error::io(".", error))?;
    let script = ScriptOrigin {
        name: source.name().to_string(),
        text: source.text().to_string(),
        is_sql: *language == Language::Sql,
        parameters: args.session.define.clone(),
        folder,
    };
    Ok((shard, script))
}

/// Says how a query ended.
pub(super) fn tell(finished: &Finished, quiet: bool, detail: FunnelDetail) {
    let n_hidden = finished.printed.as_ref().map_or(0, |printed| printed.n_hidden);
    if n_hidden > 0 {
        let rows = plural(n_hidden as u64, "more row");
        terminal::say(&format!("… {rows} not shown; use --max-rows, another --output-format, or INTO"));
    }
    if let Some(printed) = finished.printed.as_ref().filter(|printed| !printed.folded.is_empty()) {
        terminal::say(&format!("{}; see them with --output-format vertical", folded(&printed.folded)));
    }
    if !quiet {
        terminal::say(&render(&finished.report, finished.bytes_read, page(detail)));
    }
}

/// The columns that a table had no room for, in words.
pub(super) fn folded(names: &[String]) -> String {
    format!("{} not shown: {}", plural(names.len() as u64, "column"), names.join(", "))
}

/// The paper that a funnel on stderr is drawn on.
pub(super) fn page(detail: FunnelDetail) -> Page {
    // Longer lines are hard to follow across.
    let width = terminal::stderr_columns().map_or(80, |columns| columns.clamp(60, 120));
    Page { width, has_bars: terminal::stderr_can_animate(), detail }
}

/// One query of the report: its text and its story, times in seconds.
fn report_json(text: &str, Finished { report, bytes_read, .. }: &Finished) -> Result<Value> {
    let mut value = serde_json::to_value(report).map_err(|error| bug!("the report as JSON: {error}"))?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("elapsed");
        fields.insert("elapsed_seconds".into(), json!(report.elapsed.as_secs_f64()));
        fields.insert("bytes_read".into(), json!(bytes_read));
        fields.insert("query".into(), json!(text));
    }
    Ok(value)
}

/// The file of `--report`.
struct ReportFile {
    path: PathBuf,
    file: File,
}

impl ReportFile {
    /// An earlier report stays until there is a new one.
    fn open(path: &PathBuf) -> Result<Self> {
        let opened = File::options().create(true).truncate(false).write(true).open(path);
        Ok(Self { path: path.clone(), file: opened.map_err(|error| Error::io(path, error))? })
    }

    fn write(mut self, reports: &[Value], error: Option<&Error>) -> Result<()> {
        let report = json!({
            "curator": env!("CARGO_PKG_VERSION"),
            "queries": reports,
            "error": error.map(ToString::to_string),
        });
        // A device has no length.
        let is_file = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let cut = if is_file { self.file.set_len(0) } else { Ok(()) };
        let written = cut.and_then(|()| self.file.write_all(format!("{report:#}\n").as_bytes()));
        written.map_err(|error| Error::io(&self.path, error))
    }
}
