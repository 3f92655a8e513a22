//! `curator models`: the models that a query needs, and whether they are there.

use super::args::{InputArgs, SessionArgs};
use super::funnel::plural;
use super::run::parse_all;
use super::{process, terminal};
use crate::config::format_bytes;
use crate::diag::Severity;
use crate::ops::{ModelFile, ModelUse};
use crate::session::Compiled;
use crate::{Error, Result};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Show the models that a query needs, with their files, and whether these are there and fit.
///
/// Reads the files of the models and the columns of the data, runs nothing and fetches nothing. Exit code 1 if one is missing or
/// wrong.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let texts = args.input.read()?;
    let (models, problems) = process::block_on(args.session.config().threads, async {
        let mut session = args.session.session()?;
        let scripts = match parse_all(&session, &texts) {
            Ok(scripts) => scripts,
            Err(Error::Query(problems)) => return Ok((vec![], problems)),
            Err(error) => return Err(error),
        };
        let problems = session.check_scripts(&scripts).await.problems;
        let mut models: Vec<ModelUse> = vec![];
        for script in &scripts {
            for index in 0..script.statements.len() {
                // What is wrong with it stands among the problems.
                if let Ok(Compiled::Query(plan) | Compiled::Explain { plan, .. }) = session.compile(script, index).await
                {
                    for model in session.models(&plan) {
                        if !models.contains(&model) {
                            models.push(model);
                        }
                    }
                }
            }
        }
        Ok((models, problems))
    })?;
    let shown = if args.json { format!("{:#}", as_json(&models)) } else { as_text(&models) };
    terminal::print(&shown)?;
    terminal::say_diagnostics(&problems);
    let n_errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    if n_errors == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::say(&plural(n_errors as u64, "error"));
    Ok(ExitCode::from(1))
}

fn as_text(models: &[ModelUse]) -> String {
    if models.is_empty() {
        return "no call of a model was found\n".to_string();
    }
    let mut text = String::new();
    for ModelUse { call, facts, files } in models {
        text.push_str(&format!("{call}\n  {}\n", facts.title));
        let runs = format!("{}: {}", facts.device.as_str(), facts.device_reason);
        text.push_str(&format!("  runs on the {runs}; holds {}\n", format_bytes(facts.held_bytes)));
        for file in files {
            let n_bytes = format_bytes(usize::try_from(file.n_bytes).unwrap_or(usize::MAX));
            text.push_str(&format!("  {} {}  {n_bytes}  xxh3 {}\n", file.role, file.path, file.hash));
        }
    }
    text
}

fn as_json(models: &[ModelUse]) -> Value {
    let model = |ModelUse { call, facts, files }: &ModelUse| {
        let file = |file: &ModelFile| json!({"role": file.role, "path": file.path, "n_bytes": file.n_bytes, "xxh3_128": file.hash});
        json!({
            "call": call,
            "model": facts.title,
            "device": facts.device.as_str(),
            "device_reason": facts.device_reason,
            "held_bytes": facts.held_bytes,
            "files": files.iter().map(file).collect::<Vec<_>>(),
        })
    };
    models.iter().map(model).collect()
}
