//! What a run is told by: the same name for the same query on the same inputs, whatever it writes to.
//!
//! The name is a hash of the bound plan below `INTO` (macros, `LET`s and parameters are put in), of the version, and of
//! every input file with its size and time, and of the files of models. So a run that is tried again, with `overwrite` say, has the name of the first.
//! A query whose rows cannot be told beforehand (`random()`, `now()`, standard input, a pipe) is a run of its own each time.

use super::Plan;
use crate::Config;
use crate::logical::model_of;
use crate::sinks::{ColumnType, InputFile, ModelOfRun, RunFacts};
use crate::sources::FileTable;
use crate::store::is_file;
use crate::verb::VerbNode;
use crate::verbs::write::Write;
use crate::{Result, dedup::AgainstMode};
use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::xxh3_128;

/// What a plan reads, and what its run is called.
#[derive(Default)]
pub(super) struct Identity {
    pub run: String,
    pub inputs: BTreeSet<InputFile>,
    /// The files of its models.
    pub models: BTreeSet<ModelOfRun>,
    /// The indexes that it adds to.
    pub appends_to: Vec<PathBuf>,
    /// Another run of the same query may give other rows.
    pub is_unique: bool,
    /// A verb goes by positions, and so by where sources are cut.
    depends_on_cuts: bool,
    cuts: Vec<String>,
    /// The plan with the columns that its files were found to have.
    text: String,
    /// What the plan does, whatever files and columns there are.
    meaning: String,
}

impl Identity {
    pub fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut identity = Self { text: format!("{}\n", env!("CARGO_PKG_VERSION")), ..Self::default() };
        identity.describe(plan)?;
        let mut text = std::mem::take(&mut identity.text);
        if identity.is_unique {
            let _ = writeln!(text, "{:?} {}", SystemTime::now(), std::process::id());
        }
        for input in &identity.inputs {
            let _ = writeln!(text, "{input:?}");
        }
        for model in &identity.models {
            let _ = writeln!(text, "{} {} {}", model.role, model.n_bytes, model.xxh3_128);
        }
        if identity.depends_on_cuts {
            identity.cuts.iter().for_each(|cuts| text.push_str(cuts));
        }
        identity.run = format!("{:032x}", xxh3_128(text.as_bytes()));
        Ok(identity)
    }

    /// What the manifests of its outputs say of the run before it has begun.
    pub fn facts(&self, plan: &Plan, config: &Config) -> RunFacts {
        let query = plan.text.as_ref().map(|text| text.to_string());
        RunFacts {
            run: Some(self.run.clone()),
            version: Some(env!("CARGO_PKG_VERSION").to_string()),
            query_xxh3_128: query.as_ref().map(|text| format!("{:032x}", xxh3_128(text.as_bytes()))),
            query,
            plan_xxh3_128: Some(format!("{:032x}", xxh3_128(self.meaning.as_bytes()))),
            columns: columns_written(&plan.logical),
            settings: settings(config, self.depends_on_cuts),
            inputs: self.inputs.iter().cloned().collect(),
            models: self.models.iter().cloned().collect(),
            ..RunFacts::default()
        }
    }

    fn describe(&mut self, plan: &LogicalPlan) -> Result<()> {
        let mut views = vec![];
        plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expr| {
                self.is_unique |= expr.exists(|part| Ok(changes_between_runs(part)))?;
                expr.apply(|part| {
                    self.models.extend(model_of(part).iter().flat_map(|(_, model)| model.files()).map(|file| {
                        ModelOfRun { role: file.role, path: file.path, n_bytes: file.n_bytes, xxh3_128: file.hash }
                    }));
                    Ok(TreeNodeRecursion::Continue)
                })?;
                Ok(TreeNodeRecursion::Continue)
            })?;
            match (node, VerbNode::of(node)) {
                (LogicalPlan::TableScan(scan), _) => {
                    let provider = source_as_provider(&scan.source)?;
                    if let Some(table) = provider.downcast_ref::<FileTable>() {
                        self.read(table)?;
                    } else if let Some(view) = provider.get_logical_plan() {
                        views.push(view.into_owned());
                    } else {
                        self.note(&format!("{provider:?}"));
                    }
                    let _ = writeln!(self.text, "{} {}", node.display(), node.schema());
                }
                // Where rows go says nothing of what they are.
                (_, Some(verb)) if verb.verb.as_any().is::<Write>() => {}
                (_, Some(verb)) => {
                    self.depends_on_cuts |= verb.verb.depends_on_cuts();
                    self.note(&format!("{:?}", verb.verb));
                    let against = verb.verb.index().filter(|against| against.mode == AgainstMode::Append);
                    self.appends_to.extend(against.map(|against| PathBuf::from(&against.path)));
                }
                (LogicalPlan::Projection(projection), None) => {
                    let _ = writeln!(self.text, "{} {}", node.display(), node.schema());
                    // Columns that only pass are as many as the files have.
                    let made = projection.expr.iter().filter(|expr| !matches!(expr, Expr::Column(_)));
                    made.for_each(|expr| self.meaning.push_str(&format!("{expr}\n")));
                }
                (_, None) => {
                    let _ = writeln!(self.text, "{} {}", node.display(), node.schema());
                    let _ = writeln!(self.meaning, "{}", node.display());
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        views.iter().try_for_each(|view| self.describe(view))
    }

    fn read(&mut self, table: &FileTable) -> Result<()> {
        // Standard input, a pipe: what they give they give once.
        self.is_unique |= table.files().any(|(path, n_bytes, _)| n_bytes == 0 && !is_file(Path::new(path)));
        self.inputs.extend(files_of(table));
        self.note(&format!("{} {:?}", table.location(), table.format()));
        self.cuts.push(table.cuts()?);
        Ok(())
    }

    fn note(&mut self, what: &str) {
        for text in [&mut self.text, &mut self.meaning] {
            text.push_str(what);
            text.push('\n');
        }
    }
}

/// The columns that a plan's `INTO` writes.
fn columns_written(plan: &LogicalPlan) -> Vec<ColumnType> {
    let column = |field: &FieldRef| ColumnType { name: field.name().clone(), data_type: field.data_type().to_string() };
    VerbNode::of(plan).map_or_else(Vec::new, |write| write.rows().schema().fields().iter().map(column).collect())
}

/// Whether a call may give something else in another run: `random()`, `now()`.
fn changes_between_runs(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
        _ => false,
    }
}

/// The files of a source, as they are now.
pub(super) fn files_of(table: &FileTable) -> impl Iterator<Item = InputFile> {
    table.files().zip(table.versions()).map(|((path, n_bytes, modified), version)| {
        let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        let modified_ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
        InputFile { path: path.to_string(), n_bytes, modified_ns, version: version.map(str::to_string) }
    })
}

/// Settings that can change what is written, where they are not what they are by default.
fn settings(config: &Config, depends_on_cuts: bool) -> BTreeMap<String, String> {
    let default = Config::default();
    let all = [
        ("sample_bytes", config.sample_bytes.to_string(), default.sample_bytes.to_string()),
        ("strict", config.strict.to_string(), default.strict.to_string()),
        ("optimize", config.optimize.to_string(), default.optimize.to_string()),
        ("disabled_rules", config.disabled_rules.join(","), default.disabled_rules.join(",")),
    ];
    let cuts = ("blocksize", config.block_bytes.to_string(), default.block_bytes.to_string());
    let all = all.into_iter().chain(depends_on_cuts.then_some(cuts));
    let changed = all.filter(|(_, value, default)| value != default);
    changed.map(|(name, value, _)| (name.to_string(), value)).collect()
}
