//! DataFusion, set up: our functions, rules, limits.
//!
//! One place says which of DataFusion's habits we change, and why.

use super::hardware::Hardware;
use super::lower::Lowering;
use super::spill_files::SpillFiles;
use super::{
    BatchModels, CheckpointSplits, FenceSorts, GatherInOrder, JoinBeyondMemory, OnePass, PlaceOperators, ReplayRows,
    SeparateProjections, SortBeyondMemory, SplitGuards, YieldInJoins,
};
use crate::config::Checkpoint;
use crate::cost::{FunctionPrice, FunctionPrices};
use crate::exec::DocumentTimeout;
use crate::logical::{bounded, charset_udfs, hint_udfs, scalar_udf, sweep_udaf};
use crate::ops::{ModelSetting, Registry};
use crate::optimizer::{
    ComputeInTurn, FilterBeforeDedup, FlattenAliases, GuardFailingConditions, JoinColumnSubqueries, KeepAboveTotals,
    KeepDropped, KeepInputOrder, KeepSortKeys, KeepSourceLines, NameOuterColumns, NothingUnderNulls, ProjectModelCalls,
    RetypeOuterColumns,
};
use crate::sources::{ExtraColumns, FileTable, LineFields};
use crate::store::{TempSpace, limit_read_ahead, most_of_free_memory};
use crate::verbs::dedup::first_rows;
use crate::{Config, Result};
use arrow::datatypes::SchemaRef;
use datafusion::catalog::{
    CatalogProvider, MemoryCatalogProvider, MemoryCatalogProviderList, MemorySchemaProvider, SchemaProvider,
};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::config::SessionConfig;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::TableSource;
use datafusion::optimizer::analyzer::Analyzer;
use datafusion::optimizer::optimizer::Optimizer;
use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use futures::FutureExt;
use std::num::NonZeroUsize;
use std::sync::Arc;

const CATALOG: &str = "datafusion";
const SCHEMA: &str = "public";

/// The state of a new session.
pub fn session_state(config: &Config, operators: &Registry) -> Result<SessionState> {
    build(SessionStateBuilder::new().with_default_features(), SessionConfig::new(), config, operators)
}

/// The same state under changed settings: tables, views and `datafusion.*` settings stay.
pub fn session_state_from(state: &SessionState, config: &Config, operators: &Registry) -> Result<SessionState> {
    // There is a catalog already; a new default one would take its place, and its tables with it.
    let base = state.config().clone().with_create_default_catalog_and_schema(false);
    let mut builder = SessionStateBuilder::new_with_default_features().with_session_id(state.session_id().to_string());
    builder = builder.with_catalog_list(state.catalog_list().clone());
    let mut changed = build(builder, base, config, operators)?;
    // The statement under way began when it began.
    changed.execution_props_mut().query_execution_start_time = state.execution_props().query_execution_start_time;
    Ok(changed)
}

/// A copy whose tables and views can change without changing the original's.
pub async fn separate(state: &SessionState) -> Result<SessionState> {
    let schema = MemorySchemaProvider::new();
    if let Some(original) = state.catalog_list().catalog(CATALOG).and_then(|catalog| catalog.schema(SCHEMA)) {
        for name in original.table_names() {
            if let Some(table) = original.table(&name).await? {
                schema.register_table(name, table)?;
            }
        }
    }
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema(SCHEMA, Arc::new(schema))?;
    let catalogs = MemoryCatalogProviderList::new();
    datafusion::catalog::CatalogProviderList::register_catalog(&catalogs, CATALOG.to_string(), Arc::new(catalog));
    Ok(SessionStateBuilder::new_from_existing(state.clone()).with_catalog_list(Arc::new(catalogs)).build())
}

/// The SQL tables and views of a session.
pub fn catalog_tables(state: &SessionState) -> Vec<(String, SchemaRef)> {
    let Some(schema) = state.catalog_list().catalog(CATALOG).and_then(|catalog| catalog.schema(SCHEMA)) else {
        return vec![];
    };
    let mut names = schema.table_names();
    names.sort();
    names
        .into_iter()
        .filter_map(|name| {
            // In-memory catalogs answer at once.
            let table = schema.table(&name).now_or_never()?.ok()??;
            Some((name, table.schema()))
        })
        .collect()
}

fn build(
    builder: SessionStateBuilder,
    base: SessionConfig,
    config: &Config,
    operators: &Registry,
) -> Result<SessionState> {
    // What is kept by one thread must be of use to many: a plan for one has no positions where one for several has them.
    let least = if config.checkpoint == Checkpoint::On { 2 } else { 1 };
    let n_partitions = config.threads.get().max(least);
    let mut session = base.with_target_partitions(n_partitions).with_batch_size(config.batch_rows.get());
    let options = session.options_mut();
    // JSON's field names are case-sensitive; so are ours.
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.map_string_types_to_utf8view = false;
    options.sql_parser.collect_spans = true;
    // `ORDER BY` before another verb means what it says.
    options.sql_parser.enable_subquery_sort_elimination = false;
    // Otherwise `stats(text)['words']` and `stats(text)['lines']` compute `stats` twice.
    options.optimizer.enable_leaf_expression_pushdown = false;
    // The logical plan takes `x IS TRUE` for never null and the physical one does not; the check would refuse to group by it.
    options.execution.skip_physical_aggregate_schema_check = true;
    // Merging sorted partitions keeps the input's order; repartitioning a scan in turn would lose it.
    options.optimizer.prefer_existing_sort = true;
    options.optimizer.enable_round_robin_repartition = false;
    // Each sort sets memory aside for merging what it spilled; under a small limit, no more than a part of its share.
    if let Some(limit_bytes) = config.memory_limit_bytes {
        let share_bytes = limit_bytes / config.threads.get() / 8;
        let reservation = &mut options.execution.sort_spill_reservation_bytes;
        *reservation = share_bytes.min(*reservation);
    }

    // Settings that have nothing to do with devices must not open them again.
    let hardware = session.get_extension::<Hardware>().filter(|hardware| hardware.fits(config));
    let hardware = hardware.unwrap_or_else(|| Arc::new(Hardware::new(config)));
    let space = Arc::new(TempSpace::new(config.temp_folder.clone(), config.temp_limit_bytes)?);
    let timeout = Arc::new(DocumentTimeout(config.document_timeout));
    session = session.with_extension(Arc::clone(&hardware)).with_extension(Arc::clone(&space)).with_extension(timeout);
    let mut builder = builder
        .with_config(session)
        .with_runtime_env(runtime(config, space)?)
        .with_query_planner(Arc::new(Lowering))
        .with_optimizer_rules(logical_rules())
        .with_analyzer_rules(first_analyzer_rules())
        .with_analyzer_rule(Arc::new(RetypeOuterColumns))
        .with_analyzer_rule(Arc::new(NothingUnderNulls))
        .with_analyzer_rule(Arc::new(JoinColumnSubqueries))
        .with_analyzer_rule(Arc::new(NameOuterColumns))
        .with_analyzer_rule(Arc::new(ProjectModelCalls))
        .with_analyzer_rule(Arc::new(ComputeInTurn))
        .with_analyzer_rule(Arc::new(GuardFailingConditions))
        .with_analyzer_rule(Arc::new(KeepInputOrder::new(Arc::new(with_position), Arc::new(first_rows))))
        .with_analyzer_rule(Arc::new(KeepDropped));
    for rule in optional_logical_rules().into_iter().filter(|rule| config.uses_rule(rule.name())) {
        builder = builder.with_optimizer_rule(rule);
    }
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.iter_mut().for_each(|function| *function = bounded(Arc::clone(function)));
    functions.extend(operators.iter().map(|operator| Arc::new(scalar_udf(operator.clone()))));
    functions.extend(hint_udfs());
    functions.extend(charset_udfs());
    builder.aggregate_functions().get_or_insert_default().push(Arc::new(sweep_udaf()));
    Ok(builder.with_physical_optimizer_rules(physical_rules(config, operators, hardware)).build())
}

/// DataFusion's analyzer, after the rule that must see the query before it: to bring the branches of a `UNION` to one type
/// is not a change that the query asks for, and afterwards it looks like a `CAST` that is.
fn first_analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(KeepSourceLines::new(Arc::new(with_line))));
    rules
}

/// DataFusion's rules with ours among them: after all that look for its own executors, before the last checks.
/// Those that are switched off are left out, with what takes their place in right answers.
fn physical_rules(
    config: &Config,
    operators: &Registry,
    hardware: Arc<Hardware>,
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;
    let memory_limit_bytes = memory_limit(config);
    let is_used = |rule: &Rule| config.uses_rule(rule.name());
    let one_pass: Rule = Arc::new(OnePass::new(prices(operators), config.batch_bytes.get(), config.fusion));
    let models: Rule = Arc::new(BatchModels::new(
        prices(operators),
        config.batch_bytes.get(),
        model_setting(config),
        config.require_gpu,
    ));
    let gather: Rule = Arc::new(GatherInOrder { memory_limit_bytes: config.memory_limit_bytes });
    let sort: Rule = Arc::new(SortBeyondMemory { batch_bytes: config.batch_bytes.get() });
    let place: Rule = Arc::new(PlaceOperators::new(hardware, prices(operators)));
    let mut rules = rules_for_right_answers();
    let join: Rule = Arc::new(JoinBeyondMemory { memory_limit_bytes });
    let sorting = rules.iter().position(|rule| rule.name() == "FenceSorts").unwrap_or(0);
    // What does not fit any other way is not left out.
    rules.insert(sorting, join);
    let before = if is_used(&one_pass) {
        one_pass
    } else {
        // It moves a cast below the filter that guards it; `OnePass` would still compute it after the filter.
        rules.retain(|rule| rule.name() != "ProjectionPushdown");
        Arc::new(SplitGuards)
    };
    let at = rules.iter().position(|rule| rule.name() == "EnsureCooperative").unwrap_or(rules.len());
    let after = (at + 1).min(rules.len());
    let yielding: Rule = Arc::new(YieldInJoins);
    let checkpoint: Rule = Arc::new(CheckpointSplits { when: config.checkpoint });
    let replay: Rule = Arc::new(ReplayRows { choice: config.replay, memory_limit_bytes });
    let last = [checkpoint].into_iter().chain(Some(replay).filter(is_used));
    rules.splice(after..after, [yielding, place].into_iter().filter(is_used).chain(last));
    rules.splice(at..at, [before, models].into_iter().chain([gather, sort].into_iter().filter(is_used)));
    rules
}

/// Ours over the logical plan that only make it faster.
fn optional_logical_rules() -> [Arc<dyn OptimizerRule + Send + Sync>; 2] {
    [Arc::new(FlattenAliases), Arc::new(FilterBeforeDedup)]
}

/// DataFusion's rules over the logical plan, with ours in place of two that give wrong rows.
fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let rules = Optimizer::new().rules.into_iter();
    rules.map(KeepSortKeys::in_place_of).map(KeepAboveTotals::in_place_of).collect()
}

/// DataFusion's rules, less one that gives wrong rows, with what keeps the others from it.
pub(super) fn rules_for_right_answers() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    // It finds columns by their names: after an outer join, a condition on `a.id` may end up on `b.id`. And it moves
    // filters past marks. What it is for, filters inside DataFusion's own file sources, we have none of, and the logical
    // plan has its filters pushed down.
    rules.retain(|rule| !rule.name().starts_with("FilterPushdown"));
    let sorting = rules.iter().position(|rule| rule.name() == "EnsureRequirements").unwrap_or(0);
    rules.insert(sorting, Arc::new(FenceSorts));
    let separate: Arc<dyn PhysicalOptimizerRule + Send + Sync> = Arc::new(SeparateProjections);
    let with_separate = rules.into_iter().flat_map(|rule| {
        let before = (rule.name() == "ProjectionPushdown").then(|| Arc::clone(&separate));
        before.into_iter().chain([rule])
    });
    with_separate.collect()
}

fn prices(operators: &Registry) -> FunctionPrices {
    let operators = operators.clone();
    Arc::new(move |name| {
        let cost = operators.find(name)?.cost;
        Some(FunctionPrice { ns_per_row: cost.ns_per_row, ns_per_byte: cost.ns_per_byte })
    })
}

/// The same table with the position of each row, if it is one of our files.
fn with_position(source: &Arc<dyn TableSource>) -> Option<Arc<dyn TableSource>> {
    let provider = source_as_provider(source).ok()?;
    let files = provider.downcast_ref::<FileTable>()?;
    // `CREATE TABLE … AS` analyzes its query twice; it is in order since the first time.
    if files.extra().position {
        return None;
    }
    let extra = ExtraColumns { position: true, ..files.extra() };
    Some(provider_as_source(Arc::new(files.with_extra(extra))))
}

/// The same table with the line of each row, if its files are JSON Lines.
fn with_line(source: &Arc<dyn TableSource>) -> Option<(Arc<dyn TableSource>, LineFields)> {
    let provider = source_as_provider(source).ok()?;
    let files = provider.downcast_ref::<FileTable>()?;
    let fields = files.line_fields()?;
    let extra = ExtraColumns { line: true, ..files.extra() };
    Some((provider_as_source(Arc::new(files.with_extra(extra))), fields))
}

/// What a session's queries let models use.
pub fn model_setting(config: &Config) -> ModelSetting {
    ModelSetting {
        threads: config.threads.get(),
        memory_limit_bytes: memory_limit(config),
        device: config.device,
        batch_rows: None,
    }
}

/// What the operators of a query may hold together.
fn memory_limit(config: &Config) -> Option<usize> {
    config.memory_limit_bytes.or_else(most_of_free_memory)
}

/// What is fetched of objects before it is asked for.
const MAX_READ_AHEAD_BYTES: u64 = 256 << 20;

fn runtime(config: &Config, space: Arc<TempSpace>) -> Result<Arc<RuntimeEnv>> {
    const NAMED_IN_ERRORS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);
    let spilling = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(SpillFiles(space)));
    // Its own limit is 100 GB, whatever the disk has; ours is the space's.
    let spilling = spilling.with_max_temp_directory_size(u64::MAX);
    let mut builder = RuntimeEnvBuilder::new().with_disk_manager_builder(spilling);
    if let Some(limit_bytes) = memory_limit(config) {
        limit_read_ahead((limit_bytes as u64 / 8).min(MAX_READ_AHEAD_BYTES));
        // Fair: an operator that can spill gets its share, and cannot starve the others.
        let pool = TrackConsumersPool::new(FairSpillPool::new(limit_bytes), NAMED_IN_ERRORS);
        builder = builder.with_memory_pool(Arc::new(pool));
    }
    Ok(builder.build_arc()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::OPTIONAL_RULES;
    use std::collections::BTreeSet;

    /// The rules of a session over the logical and the physical plan.
    fn rules(config: &Config) -> BTreeSet<String> {
        let state = session_state(config, &Registry::builtin()).unwrap();
        let analyzer = state.analyzer().rules.iter().map(|rule| rule.name().to_string());
        let logical = state.optimizer().rules.iter().map(|rule| rule.name().to_string());
        let physical = state.physical_optimizers().iter().map(|rule| rule.name().to_string());
        analyzer.chain(logical).chain(physical).collect()
    }

    #[test]
    fn a_rule_is_left_out_by_its_name_and_no_other_of_ours_with_it() {
        let all = rules(&Config::default());
        for rule in OPTIONAL_RULES {
            let left = rules(&Config { disabled_rules: vec![rule.to_string()], ..Config::default() });
            let gone: Vec<&String> = all.difference(&left).collect();
            // `SplitGuards` takes its place, and what it makes harmless goes.
            let expected: &[&str] = if rule == "OnePass" { &["OnePass", "ProjectionPushdown"] } else { &[rule] };
            assert_eq!(gone, expected);
        }
    }

    #[test]
    fn without_optimize_only_what_right_answers_need_is_left_of_ours() {
        let off = rules(&Config { optimize: false, ..Config::default() });
        assert!(OPTIONAL_RULES.iter().all(|rule| !off.contains(*rule)), "{off:?}");
        for rule in [
            "RetypeOuterColumns",
            "NothingUnderNulls",
            "JoinColumnSubqueries",
            "NameOuterColumns",
            "ProjectModelCalls",
            "ComputeInTurn",
            "GuardFailingConditions",
            "KeepInputOrder",
            "KeepDropped",
            "KeepSortKeys",
            "FenceSorts",
            "SeparateProjections",
            "SplitGuards",
            "BatchModels",
        ] {
            assert!(off.contains(rule), "{rule}");
        }
        let disabled = Config { disabled_rules: OPTIONAL_RULES.map(String::from).to_vec(), ..Config::default() };
        assert_eq!(rules(&disabled), off);
    }
}
