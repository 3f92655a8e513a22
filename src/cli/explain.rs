//! `curator explain`: the plan of each query of a text, at one of its stages.

use super::args::{InputArgs, SessionArgs};
use super::run::parse_all;
use super::{process, terminal};
use crate::session::{Compiled, ExplainFormat, Stage};
use crate::{Error, Result, syntax};
use serde_json::{Value, json};
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
    /// Which plan [default: optimized; placed with --profile or --kernels].
    #[arg(long, value_enum)]
    stage: Option<StageArg>,
    /// In which form.
    #[arg(long, value_enum, default_value_t = FormatArg::Tree)]
    format: FormatArg,
    /// Plan for this hardware instead of this machine's: a shipped name (t4, l4, a100, h100, rtx-4090) or a file.
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// Show the generated kernel of each fused group, too.
    #[arg(long)]
    kernels: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum StageArg {
    /// The syntax tree.
    Ast,
    /// The plan as written.
    Logical,
    /// The plan after the optimizer.
    Optimized,
    /// The plan of executors, everything on the CPU.
    Physical,
    /// The plan as executed: where each operator runs, and why.
    Placed,
    /// What that plan holds in memory, node by node, and whether it fits.
    Memory,
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
            StageArg::Placed => Stage::Placed,
            StageArg::Memory => Stage::Memory,
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
    let is_of_devices = args.profile.is_some() || args.kernels;
    let stage = args.stage.unwrap_or(if is_of_devices { StageArg::Placed } else { StageArg::Optimized });
    let plans = process::block_on(args.session.config().threads, async {
        let mut session = args.session.session_for(args.profile.clone())?;
        let mut plans = vec![];
        for script in parse_all(&session, &texts)? {
            if stage == StageArg::Ast {
                plans.push(tree_as(&syntax::tree(&script), args.format));
                continue;
            }
            for index in 0..script.statements.len() {
                if let Compiled::Query(plan) | Compiled::Explain { plan, .. } = session.compile(&script, index).await? {
                    session.define(&plan).await;
                    plans.push(session.explain(&plan, stage.into(), args.format.into()).await?);
                    if args.kernels {
                        plans.extend(session.kernels(&plan).await?);
                    }
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
    terminal::show(&plans.join(separator))?;
    Ok(ExitCode::SUCCESS)
}

/// An indented tree in another form.
fn tree_as(tree: &str, format: FormatArg) -> String {
    let nodes: Vec<(usize, &str)> =
        tree.lines().map(|line| (line.len() - line.trim_start().len(), line.trim())).collect();
    match format {
        FormatArg::Tree => tree.to_string(),
        FormatArg::Json => format!("{:#}", tree_as_json(&nodes)),
        FormatArg::Dot => tree_as_dot(&nodes),
    }
}

fn tree_as_json(nodes: &[(usize, &str)]) -> Value {
    let Some((indent, _)) = nodes.first() else { return json!([]) };
    let siblings = nodes.chunk_by(|_, (next, _)| next > indent);
    siblings.map(|node| json!({"label": node[0].1, "children": tree_as_json(&node[1..])})).collect()
}

fn tree_as_dot(nodes: &[(usize, &str)]) -> String {
    let mut text = "digraph ast {\n  node [shape=box];\n".to_string();
    let mut parents: Vec<(usize, usize)> = vec![];
    for (id, (indent, label)) in nodes.iter().enumerate() {
        parents.retain(|(parent_indent, _)| parent_indent < indent);
        text.push_str(&format!("  n{id} [label=\"{}\"];\n", label.replace('\\', "\\\\").replace('"', "\\\"")));
        if let Some((_, parent)) = parents.last() {
            text.push_str(&format!("  n{parent} -> n{id};\n"));
        }
        parents.push((*indent, id));
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_keep_their_shape_in_every_form() {
        let tree = "a\n  b \"x\"\n    c\n  d\ne\n";
        let json = tree_as(tree, FormatArg::Json);
        let c = json!([{"label": "c", "children": []}]);
        let below = json!([{"label": "b \"x\"", "children": c}, {"label": "d", "children": []}]);
        let expected = json!([{"label": "a", "children": below}, {"label": "e", "children": []}]);
        assert_eq!(json, format!("{expected:#}"));
        let dot = tree_as(tree, FormatArg::Dot);
        for line in ["n0 -> n1;", "n1 -> n2;", "n0 -> n3;", "n1 [label=\"b \\\"x\\\"\"];"] {
            assert!(dot.contains(line), "{line} in {dot}");
        }
        assert!(!dot.contains("-> n4"));
    }
}
