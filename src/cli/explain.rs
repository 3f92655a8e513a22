//! `curator explain`: the plan of each query of a text, at one of its stages.

use super::args::{InputArgs, SessionArgs};
use super::{process, seams, terminal};
use crate::session::{Compiled, ExplainFormat, Stage};
use crate::{Error, Result};
use std::process::ExitCode;

/// Show the plan of a query file.
///
/// SET, LET and DEFINE take effect; queries are planned, not run.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    session: SessionArgs,
    /// Which plan.
    #[arg(long, value_enum, default_value_t = StageArg::Optimized)]
    stage: StageArg,
    /// In which form.
    #[arg(long, value_enum, default_value_t = FormatArg::Tree)]
    format: FormatArg,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum StageArg {
    /// The syntax tree.
    Ast,
    /// The plan as written.
    Logical,
    /// The plan after the optimizer.
    Optimized,
    /// The plan as executed.
    Physical,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FormatArg {
    /// An indented tree.
    Tree,
    /// JSON.
    Json,
    /// Graphviz.
    Dot,
}

impl From<StageArg> for Stage {
    fn from(stage: StageArg) -> Self {
        match stage {
            StageArg::Ast => Stage::Ast,
            StageArg::Logical => Stage::Logical,
            StageArg::Optimized => Stage::Optimized,
            StageArg::Physical => Stage::Physical,
        }
    }
}

impl From<FormatArg> for ExplainFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Tree => ExplainFormat::Tree,
            FormatArg::Json => ExplainFormat::Json,
            FormatArg::Dot => ExplainFormat::Dot,
        }
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let texts = args.input.read()?;
    let plans = process::block_on(args.session.config().threads, async {
        let mut session = args.session.session()?;
        let scripts = texts.iter().map(|(source, language)| session.parse(source, *language));
        let scripts = scripts.collect::<Result<Vec<_>>>()?;
        let mut plans = vec![];
        for script in scripts {
            if args.stage == StageArg::Ast {
                plans.push(seams::explain_ast(&script, args.format.into()));
                continue;
            }
            for index in 0..script.statements.len() {
                if let Compiled::Query(plan) | Compiled::Explain { plan, .. } = session.compile(&script, index).await? {
                    plans.push(session.explain(&plan, args.stage.into(), args.format.into()).await?);
                }
            }
        }
        Ok(plans)
    })?;
    if plans.is_empty() {
        return Err(Error::Data("nothing to explain: the text has no query".into()));
    }
    let separator = if matches!(args.format, FormatArg::Tree) { "\n\n" } else { "\n" };
    let plans: Vec<&str> = plans.iter().map(|plan| plan.trim_end()).collect();
    terminal::print(&plans.join(separator))?;
    Ok(ExitCode::SUCCESS)
}
