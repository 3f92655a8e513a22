//! What a run is told by: the same name for the same query on the same inputs, whatever it writes to.
//!
//! The name is a hash of the bound plan below `INTO` (macros, `LET`s and parameters are put in), of the version, and of
//! every input file with its size and time. So a run that is tried again, with `overwrite` say, has the name of the first.
//! A query whose rows cannot be told beforehand (`random()`, `now()`, standard input, a pipe) is a run of its own each time.

use super::Plan;
use crate::Config;
use crate::sinks::{InputFile, RunFacts};
use crate::sources::FileTable;
use crate::verb::VerbNode;
use crate::verbs::write::Write;
use crate::{Result, dedup::AgainstMode};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::xxh3_128;

/// What a plan reads, and what its run is called.
pub(super) struct Identity {
    pub run: String,
    pub inputs: Vec<InputFile>,
    /// The indexes that it adds to.
    pub appends_to: Vec<PathBuf>,
    /// Another run of the same query may give other rows.
    pub is_unique: bool,
}

impl Identity {
    pub fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut text = format!("{}\n", env!("CARGO_PKG_VERSION"));
        let (mut inputs, mut appends_to) = (BTreeSet::new(), vec![]);
        let mut is_unique = false;
        describe(plan, &mut text, &mut inputs, &mut appends_to, &mut is_unique)?;
        if is_unique {
            let _ = writeln!(text, "{:?} {}", SystemTime::now(), std::process::id());
        }
        for input in &inputs {
            let _ = writeln!(text, "{input:?}");
        }
        let run = format!("{:032x}", xxh3_128(text.as_bytes()));
        Ok(Self { run, inputs: inputs.into_iter().collect(), appends_to, is_unique })
    }

    /// What the manifests of its outputs say of the run before it has begun.
    pub fn facts(&self, plan: &Plan, config: &Config) -> RunFacts {
        let query = plan.text.as_ref().map(|text| text.to_string());
        RunFacts {
            run: Some(self.run.clone()),
            version: Some(env!("CARGO_PKG_VERSION").to_string()),
            query_xxh3_128: query.as_ref().map(|text| format!("{:032x}", xxh3_128(text.as_bytes()))),
            query,
            settings: settings(config),
            inputs: self.inputs.clone(),
            ..RunFacts::default()
        }
    }
}

fn describe(
    plan: &LogicalPlan,
    text: &mut String,
    inputs: &mut BTreeSet<InputFile>,
    appends_to: &mut Vec<PathBuf>,
    is_unique: &mut bool,
) -> Result<()> {
    let mut views = vec![];
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
        {
            if let Some(table) = provider.downcast_ref::<FileTable>() {
                // Standard input, a pipe: what they give they give once.
                *is_unique |= table.files().any(|(path, n_bytes, _)| n_bytes == 0 && !Path::new(path).is_file());
                inputs.extend(files_of(table));
                let _ = writeln!(text, "{} {:?}", table.location(), table.format());
            } else if let Some(view) = provider.get_logical_plan() {
                views.push(view.into_owned());
            } else {
                let _ = writeln!(text, "{provider:?}");
            }
        }
        node.apply_expressions(|expr| {
            *is_unique |= expr.exists(|part| Ok(changes_between_runs(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        match VerbNode::of(node) {
            // Where rows go says nothing of what they are.
            Some(verb) if verb.verb.as_any().is::<Write>() => {}
            Some(verb) => {
                let _ = writeln!(text, "{:?}", verb.verb);
                let against = verb.verb.index().filter(|against| against.mode == AgainstMode::Append);
                appends_to.extend(against.map(|against| PathBuf::from(&against.path)));
            }
            None => {
                let _ = writeln!(text, "{} {}", node.display(), node.schema());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    views.iter().try_for_each(|view| describe(view, text, inputs, appends_to, is_unique))
}

/// Whether a call may give something else in another run: `random()`, `now()`.
fn changes_between_runs(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
        _ => false,
    }
}

fn files_of(table: &FileTable) -> impl Iterator<Item = InputFile> {
    table.files().map(|(path, n_bytes, modified)| {
        let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        let modified_ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
        InputFile { path: path.to_string(), n_bytes, modified_ns }
    })
}

/// Settings that can change what is written, where they are not what they are by default.
fn settings(config: &Config) -> BTreeMap<String, String> {
    let default = Config::default();
    let all = [
        ("sample_bytes", config.sample_bytes.to_string(), default.sample_bytes.to_string()),
        ("strict", config.strict.to_string(), default.strict.to_string()),
        ("optimize", config.optimize.to_string(), default.optimize.to_string()),
        ("disabled_rules", config.disabled_rules.join(","), default.disabled_rules.join(",")),
    ];
    let changed = all.into_iter().filter(|(_, value, default)| value != default);
    changed.map(|(name, value, _)| (name.to_string(), value)).collect()
}
