//! The tree to DataFusion's logical plan (`bind`).
//!
//! Both languages meet here. A CQL verb becomes a small SQL query over "the pipeline so far" and is planned by
//! DataFusion's own SQL planner, so that CQL has every expression SQL has and there is no second binder:
//!
//! ```text
//! FROM docs |> WHERE words(text) > 9        Filter: words(docs.text) > 9
//!           |> EXTEND upper(id) AS i   ⇒      …
//!                                           Projection: docs.*, upper(docs.id) AS i      (SELECT *, upper(id) AS i FROM ⟨so far⟩)
//! ```
//!
//! Invariant: what leaves here has been type-checked; a mistake of the user's is a [`Diagnostic`] with a place.
//! Not here: optimizing (`optimizer/`), and running anything.

mod blame;
mod bounded_results;
mod catalog;
mod charset;
mod column_names;
mod comparisons;
mod constant;
mod depth;
mod dialect;
mod distinct_order;
mod functions;
mod hint;
mod joins;
mod macros;
mod model_functions;
mod opened;
mod output_names;
mod positions;
mod presets;
mod relation;
mod rewrite;
mod room;
mod row_sets;
mod slips;
mod sql;
mod sqltext;
mod subqueries;
mod summarize;
mod sweep;
mod tree;
mod under_nulls;
mod unions;
mod used_presets;
mod verbs;

pub use bounded_results::bounded;
pub use catalog::{Lets, Relations, number_of, option_error};
pub use charset::charset_udfs;
pub use constant::simplified;
pub use functions::{OperatorCall, is_operator, scalar_udf};
pub use hint::gpu_share;
pub use hint::{Hint, Resources, hint_udfs, is_hint, unhinted};
pub use macros::define;
pub use model_functions::{ModelCall, is_model, is_model_call, model_of};
pub use opened::OpenedFiles;
pub use positions::{Place, Positions};
pub use presets::{Preset, preset_files, presets};
pub use rewrite::{Parameter, Parameters, no_value_for};
pub use room::{CopyTo, Room};
pub use sqltext::SqlReader;
pub use sweep::sweep_udaf;
pub use tree::{named_table, object_name};
pub use under_nulls::{GetField, has_null_fields, minding_nulls, null_fields};
pub use used_presets::UsedPreset;
pub use verbs::{Bound as BoundVerb, type_name};

use crate::Config;
use crate::config::Attempt;
use crate::diag::{Code, Diagnostic, SourceText, Span};
use crate::ops::Registry;
use crate::sources::{ExtraColumns, FILE_COLUMN, ROW_COLUMN};
use crate::syntax::ast::Pipeline;
use crate::syntax::mentions;
use blame::Blame;
use catalog::Catalog;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::planner::{ParserOptions, SqlToRel};
use datafusion::sql::sqlparser::ast::VisitMut;
use macros::Macros;
use positions::OriginId;
use rewrite::{Names, rewrite};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a session's earlier statements defined.
#[derive(Debug, Default, Clone)]
pub struct Scope {
    /// `LET`s.
    pub lets: Lets,
    /// The presets that `LET`s use, by the name of the `LET`.
    pub presets: BTreeMap<String, Vec<UsedPreset>>,
    /// `DEFINE`s.
    pub macros: Macros,
    /// `-D` values.
    pub parameters: Parameters,
}

/// The verbs that have a folder of their own.
pub type Rooms = &'static [&'static dyn Room];

/// Everything binding looks at.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Limits and habits.
    pub config: &'a Config,
    /// The operators.
    pub operators: &'a Registry,
    /// What was defined before.
    pub scope: &'a Scope,
    /// DataFusion's functions, tables and options.
    pub state: &'a SessionState,
    /// Files looked into before.
    pub opened: &'a Arc<OpenedFiles>,
    /// The verbs beside those of SQL.
    pub rooms: Rooms,
}

/// Binds a pipeline.
pub fn bind_pipeline(context: Context<'_>, source: &SourceText, pipeline: &Pipeline) -> Result<Bound, Vec<Diagnostic>> {
    let binder = Binder::new(context, source, pipeline.span);
    let plan = binder.pipeline(pipeline, verbs::Nesting::Top)?;
    binder.check_plan(plan, pipeline.span)
}

/// A bound statement.
#[derive(Debug, Clone)]
pub struct Bound {
    /// As it was written.
    pub logical: LogicalPlan,
    /// What the analyzer made of it; `None` for statements that are no queries.
    pub analyzed: Option<LogicalPlan>,
    /// The presets that its conditions were written as.
    pub presets: Vec<UsedPreset>,
}

/// Binds the pipeline of a `LET`, which may not write.
pub fn bind_let(context: Context<'_>, source: &SourceText, pipeline: &Pipeline) -> Result<Bound, Vec<Diagnostic>> {
    let binder = Binder::new(context, source, pipeline.span);
    let plan = binder.pipeline(pipeline, verbs::Nesting::Nested)?;
    // Who uses it is analyzed as a whole.
    let Bound { logical, presets, .. } = binder.check_plan(plan, pipeline.span)?;
    Ok(Bound { logical, analyzed: None, presets })
}

/// Binds an SQL statement.
pub fn bind_sql(context: Context<'_>, source: &SourceText, statement: Span) -> Result<Bound, Vec<Diagnostic>> {
    let binder = Binder::new(context, source, statement);
    let plan = binder.sql_statement(statement)?;
    binder.check_plan(plan, statement)
}

/// A plan this large was not written by a person: `LET`s that use each other twice at each step get there.
const MOST_STEPS: usize = 5_000;

/// Binds one statement.
pub struct Binder<'a> {
    context: Context<'a>,
    source: &'a SourceText,
    positions: Arc<Positions>,
    origin: OriginId,
    relations: Arc<Relations>,
    used_presets: RefCell<Vec<UsedPreset>>,
}

impl<'a> Binder<'a> {
    /// Where something of the statement stands.
    pub(crate) fn place(&self, span: Span) -> Place {
        Place { source: self.source.clone(), span, call: None }
    }

    /// The text that is bound.
    pub(crate) fn source(&self) -> &SourceText {
        self.source
    }

    /// Files and other relations that the statement names.
    pub(crate) fn relations(&self) -> &Relations {
        &self.relations
    }

    fn new(context: Context<'a>, source: &'a SourceText, statement: Span) -> Self {
        let positions = Arc::new(Positions::default());
        let origin = positions.add_text(source);
        let extra = extra_columns(source.slice(statement));
        let relations = Relations::new(positions.clone(), (source, statement), context, extra);
        Self { context, source, positions, origin, relations: Arc::new(relations), used_presets: RefCell::default() }
    }

    /// Whether an output of an earlier run is expected: it is looked at when the run begins.
    pub(crate) fn may_find_its_output(&self) -> bool {
        self.context.config.attempt == Attempt::Resume || self.context.config.incremental
    }

    pub(crate) fn reader(&self) -> SqlReader<'_> {
        SqlReader::new(&self.positions, self.origin, self.source)
    }

    pub(crate) fn blame(&self) -> Blame<'_> {
        Blame {
            positions: &self.positions,
            source: self.source,
            macros: &self.context.scope.macros,
            operators: self.context.operators,
        }
    }

    pub(crate) fn catalog(&self) -> Catalog<'_> {
        Catalog::new(self.context.state, self.relations.clone())
    }

    pub(crate) fn rewrite<T: VisitMut>(&self, tree: &mut T) -> Result<(), Vec<Diagnostic>> {
        let names = Names {
            positions: &self.positions,
            macros: &self.context.scope.macros,
            operators: self.context.operators,
            parameters: &self.context.scope.parameters,
            state: self.context.state,
        };
        room::open_arguments(tree, self.context.rooms, &self.positions)?;
        let mut problems = rewrite(tree, &names);
        if problems.is_empty() {
            problems = self.check_limits(tree);
        }
        problems.extend(joins::name_own_keys(tree, &self.relations));
        distinct_order::number_distinct_keys(tree);
        row_sets::call_row_sets(tree);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// The analyzer as a last check: what it refuses, it refuses now and not when the query runs.
    fn check_plan(&self, plan: LogicalPlan, span: Span) -> Result<Bound, Vec<Diagnostic>> {
        if matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Statement(_) | LogicalPlan::DescribeTable(_)) {
            return Ok(Bound { logical: plan, analyzed: None, presets: vec![] });
        }
        let mut n_steps = 0;
        let counted = plan.apply_with_subqueries(|_| {
            n_steps += 1;
            Ok(if n_steps > MOST_STEPS { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        });
        if counted.is_err() || n_steps > MOST_STEPS {
            let message = format!("the query has more than {MOST_STEPS} steps");
            return Err(vec![
                Diagnostic::error(Code::TooDeep, message, self.source, span)
                    .help("a LET is put in at each of its uses; write it to a file with INTO and read that instead"),
            ]);
        }
        let state = self.context.state;
        match state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {}) {
            Ok(analyzed) => {
                self.refuse_misplaced_subqueries(&analyzed, span)?;
                Ok(Bound { logical: plan, analyzed: Some(analyzed), presets: self.used_presets.take() })
            }
            Err(error) => Err(self.blame().explain(error, span)),
        }
    }
}

fn planner<'a>(catalog: &'a Catalog<'a>) -> SqlToRel<'a, Catalog<'a>> {
    let options = ParserOptions::new()
        // JSON's field names are case-sensitive; so are ours.
        .with_enable_ident_normalization(false)
        .with_map_string_types_to_utf8view(false)
        .with_collect_spans(true);
    SqlToRel::new_with_options(catalog, options)
}

/// `_file` and `_row` exist in the statements that name them.
fn extra_columns(statement: &str) -> ExtraColumns {
    ExtraColumns {
        file: mentions(statement, FILE_COLUMN),
        row: mentions(statement, ROW_COLUMN),
        ..ExtraColumns::default()
    }
}
