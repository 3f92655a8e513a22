//! `--incremental`: a query runs on the files that are new since the last committed run of the same query, and what comes of
//! them is added to its output.
//!
//! ```text
//! manifest of 'out/' ─── lists a, b ───┐
//! FROM 'in/*.jsonl'  ─── finds a, b, c ┴─► the same plan over c ──► part-00002 … beside the parts that are there
//! ```
//! Columns are those of all files, so a new file is read as it would be in a run of all.
//!
//! Invariant: what is added is what a run of all files would have given for the new ones, had they come last. So whatever
//! stands between a new file and the output must look at each row alone, or remember earlier rows itself (`DEDUP` with an
//! index); anything else is refused, before the first run too.

use super::Plan;
use super::identity::{Identity, files_of};
use super::journal::{query_differences, shorten};
use crate::Config;
use crate::physical::WriteTarget;
use crate::sinks::{ColumnType, Format as SinkFormat, InputFile, RunFacts};
use crate::sources::{FileTable, Format};
use crate::store::is_file;
use crate::verb::VerbNode;
use crate::verbs::write::Write;
use crate::{Error, Result};
use datafusion::common::JoinType;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Join, LogicalPlan, TableScan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What there is to do for a query with `INTO`.
pub(super) enum Increment {
    /// It has no output yet.
    Everything,
    /// There is no new file.
    Nothing,
    /// The query over the new files, to be added to what is there; and what the run should say of it.
    New(Box<Plan>, String),
}

impl Increment {
    /// What an incremental run of the query has to do.
    pub fn of(plan: &Plan, write: &WriteTarget, config: &Config) -> Result<Self> {
        let place = &write.spec.location;
        let refused = |why: String| Error::Data(format!("{place}: {why}"));
        if !write.spec.is_folder() {
            return Err(refused(
                "--incremental adds files to a folder, and this is none: end the location in /".into(),
            ));
        }
        let sources = Sources::of(&plan.logical).map_err(|error| refused(error.to_string()))?;
        let Some(then) = write.spec.committed()? else { return Ok(Self::Everything) };
        let differences = differences(&then, &Identity::of(&plan.logical)?.facts(plan, config), &sources, write);
        if !differences.is_empty() {
            return Err(refused(format!(
                "--incremental cannot add to what is there:\n  {}\n\
                 to write all of it anew, run the query without --incremental, WITH (overwrite = true)",
                differences.join("\n  ")
            )));
        }
        let known: BTreeSet<&str> = then.inputs.iter().map(|file| file.path.as_str()).collect();
        let n_new = sources.growing.iter().filter(|file| !known.contains(file.path.as_str())).count();
        if n_new == 0 {
            return Ok(Self::Nothing);
        }
        let logical = over_files(&plan.logical, &|path| !known.contains(path))?;
        let note =
            format!("{n_new} of {} input files are new; the others were read by earlier runs", sources.growing.len());
        Ok(Self::New(Box::new(Plan { logical, analyzed: None, ..plan.clone() }), note))
    }
}

/// The files of a query.
#[derive(Default)]
struct Sources {
    /// Of those whose rows become the output: new ones may come.
    growing: BTreeSet<InputFile>,
    /// Of those that rows are compared with.
    fixed: BTreeSet<InputFile>,
    /// Whether some of the growing ones are no JSON Lines.
    has_columns: bool,
}

impl Sources {
    /// An error where the query needs all rows together.
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut sources = Self::default();
        sources.visit(plan)?;
        if sources.growing.is_empty() {
            return Err(Error::Data("--incremental reads files that are new, and the query reads none".into()));
        }
        Ok(sources)
    }

    fn visit(&mut self, plan: &LogicalPlan) -> Result<()> {
        let (growing, fixed) = inputs_of(plan)?;
        if let Some(table) = file_table(plan) {
            if let Some((name, ..)) = table.files().find(|(name, ..)| !is_file(Path::new(name))) {
                let told =
                    format!("--incremental goes by names of files, and '{name}' is standard input, a pipe or a device");
                return Err(Error::Data(told));
            }
            self.growing.extend(files_of(&table));
            self.has_columns |= table.format() != Format::JsonLines;
        }
        for input in fixed {
            self.fixed.extend(Identity::of(input)?.inputs);
        }
        plan.apply_subqueries(|subquery| {
            self.fixed.extend(Identity::of(subquery)?.inputs);
            Ok(TreeNodeRecursion::Jump)
        })?;
        growing.into_iter().try_for_each(|input| self.visit(input))
    }
}

/// The inputs of a node whose rows become its rows, each on its own; and the others. An error if it looks at all rows together.
fn inputs_of(plan: &LogicalPlan) -> Result<(Vec<&LogicalPlan>, Vec<&LogicalPlan>)> {
    let what = match plan {
        LogicalPlan::TableScan(_) if file_table(plan).is_some() => return Ok((vec![], vec![])),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::Union(_) => return Ok((plan.inputs(), vec![])),
        LogicalPlan::Join(Join { join_type, left, right, .. }) => match join_type {
            JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
                return Ok((vec![left], vec![right]));
            }
            _ => "this kind of join",
        },
        LogicalPlan::Sort(_) => "ORDER BY",
        LogicalPlan::Limit(_) => "LIMIT",
        LogicalPlan::Aggregate(_) => "AGGREGATE",
        LogicalPlan::Distinct(_) => "DISTINCT",
        LogicalPlan::Window(_) => "a window function",
        LogicalPlan::TableScan(_) | LogicalPlan::Values(_) | LogicalPlan::EmptyRelation(_) => {
            return Err(Error::Data("--incremental reads files that are new; the query also reads a table".into()));
        }
        _ => match VerbNode::of(plan) {
            Some(VerbNode { verb, inputs, .. }) if verb.takes_later_rows_alone() || verb.as_any().is::<Write>() => {
                return Ok((inputs.iter().take(1).collect(), inputs.iter().skip(1).collect()));
            }
            Some(node) if node.verb.name() == "Dedup" => "DEDUP (without AGAINST INDEX … APPEND, which remembers them)",
            Some(node) => return Err(together(&node.verb.name().to_uppercase())),
            None => return Err(together(&plan.display().to_string())),
        },
    };
    Err(together(what))
}

fn together(what: &str) -> Error {
    Error::Data(format!(
        "--incremental runs the query on new files alone, and {what} looks at the rows of all files together"
    ))
}

fn file_table(plan: &LogicalPlan) -> Option<FileTable> {
    let LogicalPlan::TableScan(scan) = plan else { return None };
    source_as_provider(&scan.source).ok()?.downcast_ref::<FileTable>().cloned()
}

/// The plan whose rows come from some of the files alone, and are added to its output.
fn over_files(plan: &LogicalPlan, is_wanted: &dyn Fn(&str) -> bool) -> Result<LogicalPlan> {
    if let (LogicalPlan::TableScan(scan), Some(table)) = (plan, file_table(plan)) {
        let source = provider_as_source(Arc::new(table.only(is_wanted)));
        return Ok(LogicalPlan::TableScan(TableScan { source, ..scan.clone() }));
    }
    let (growing, fixed) = inputs_of(plan)?;
    let narrowed = growing.into_iter().map(|input| over_files(input, is_wanted)).collect::<Result<Vec<_>>>()?;
    let inputs = narrowed.into_iter().chain(fixed.into_iter().cloned()).collect::<Vec<_>>();
    if let Some(node) = VerbNode::of(plan)
        && let Some(write) = node.verb.as_any().downcast_ref::<Write>()
    {
        let node = VerbNode::new(Arc::new(Write { appends: true, ..write.clone() }), inputs)?;
        return Ok(node.into_plan());
    }
    Ok(plan.with_new_exprs(plan.expressions(), inputs)?)
}

/// What makes it impossible to go on from the last run.
fn differences(then: &RunFacts, now: &RunFacts, sources: &Sources, write: &WriteTarget) -> Vec<String> {
    let mut found = query_differences(then, now);
    let may_widen = write.spec.format() == Some(SinkFormat::Jsonl) && !sources.has_columns;
    found.extend(column_differences(&then.columns, &now.columns, may_widen));
    let before: BTreeMap<&str, &InputFile> = then.inputs.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut of_files = vec![];
    for file in &sources.growing {
        if before.get(file.path.as_str()).is_some_and(|known| *known != file) {
            of_files.push(format!("'{}' was read, and has changed since", file.path));
        }
    }
    for file in &sources.fixed {
        match before.get(file.path.as_str()) {
            Some(known) if *known == file => {}
            Some(_) => of_files.push(format!("'{}' has changed, and earlier rows were compared with it", file.path)),
            None => of_files.push(format!("'{}' is new, and earlier rows were not compared with it", file.path)),
        }
    }
    found.extend(shorten(of_files));
    found
}

/// New columns are welcome where a row without a value has no trace of the column.
fn column_differences(then: &[ColumnType], now: &[ColumnType], may_widen: bool) -> Vec<String> {
    let of = |columns: &[ColumnType], name: &str| columns.iter().find(|other| other.name == name).cloned();
    let mut found = vec![];
    for before in then {
        match of(now, &before.name) {
            None => found.push(format!("the column {} is gone", before.name)),
            Some(after) if after != *before => {
                let ColumnType { name, data_type } = after;
                found.push(format!("the column {name} is {data_type}, and was {}", before.data_type));
            }
            Some(_) => {}
        }
    }
    if !may_widen {
        let is_new = |column: &&ColumnType| of(then, &column.name).is_none();
        found.extend(now.iter().filter(is_new).map(|column| format!("the column {} is new", column.name)));
    }
    found
}
