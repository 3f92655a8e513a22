//! What names after FROM mean: files, `LET`s, tables, samples, and the pipeline so far.
//!
//! Two hooks of DataFusion's SQL planner, shared by both languages. [`Catalog`] answers for functions and
//! tables. [`Relations`] is asked first about everything that stands after FROM, and plans what SQL alone
//! does not know.

use super::constant::simplified;
use super::joins::last_merging;
use super::opened::OpenedFiles;
use super::positions::{Place, Positions};
use super::room::table_function;
use super::row_sets::RowSet;
use super::{Context, Rooms};
use crate::Error;
use crate::config::SettingError;
use crate::diag::{Code, Diagnostic, Severity, SourceText, Span, did_you_mean};
use crate::sources::{EXTRA_COLUMN, ExtraColumns, SourceSpec};
use crate::syntax::mentions;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, Result as DFResult, ScalarValue, TableReference, plan_datafusion_err};
use datafusion::datasource::provider_as_source;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::planner::{
    ContextProvider, ExprPlanner, PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
    TypePlanner,
};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, LogicalPlanBuilder, ScalarUDF, TableSource, WindowUDF, lit,
};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr as SqlExpr, Ident, ObjectName, ObjectNamePart, TableFactor, TableSample, TableSampleKind,
    Value,
};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use futures::FutureExt;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// `LET name = …`, by name.
pub type Lets = BTreeMap<String, LogicalPlan>;

/// Plans what may stand after FROM beyond SQL's own tables.
#[derive(Debug)]
pub struct Relations {
    positions: Arc<Positions>,
    source: SourceText,
    statement: Span,
    lets: Lets,
    /// Names that a `WITH` of this statement gives; they come before `LET`s.
    shadowed: Mutex<HashSet<String>>,
    /// Which of `_file` and `_row` this statement names.
    extra: ExtraColumns,
    /// Files already opened: naming one twice opens it once.
    opened: Arc<OpenedFiles>,
    /// Plans that stand in for a name: the pipeline so far, nested pipelines.
    pipes: Mutex<Vec<LogicalPlan>>,
    rooms: Rooms,
}

impl Relations {
    /// The relations of one statement.
    pub fn new(
        positions: Arc<Positions>,
        (source, statement): (&SourceText, Span),
        context: Context<'_>,
        extra: ExtraColumns,
    ) -> Self {
        Self {
            positions,
            source: source.clone(),
            statement,
            lets: context.scope.lets.clone(),
            shadowed: Mutex::default(),
            extra,
            opened: context.opened.clone(),
            pipes: Mutex::default(),
            rooms: context.rooms,
        }
    }

    /// These names mean a `WITH` query of the statement, not a `LET`.
    pub fn shadow(&self, names: HashSet<String>) {
        *self.shadowed.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    fn find_let(&self, name: &str) -> Option<&LogicalPlan> {
        let shadowed = self.shadowed.lock().unwrap_or_else(PoisonError::into_inner);
        if shadowed.contains(name) { None } else { self.lets.get(name) }
    }

    /// A name that stands for `plan` in an SQL tree. No user can write it: names have no `|>`.
    pub fn pipe(&self, plan: LogicalPlan) -> ObjectName {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.push(plan);
        ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', format!("|> {}", pipes.len() - 1)))])
    }

    /// The plan that such a name stands for.
    pub fn piped_name(&self, name: &ObjectName) -> Option<LogicalPlan> {
        match name.0.as_slice() {
            [ObjectNamePart::Identifier(ident)] => self.piped(&ident.value),
            _ => None,
        }
    }

    fn piped(&self, name: &str) -> Option<LogicalPlan> {
        let number: usize = name.strip_prefix("|> ")?.parse().ok()?;
        self.pipes.lock().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }

    /// The rows of a file, glob, folder or `-`.
    pub fn scan(&self, spec: &SourceSpec, place: SqlSpan) -> DFResult<LogicalPlan> {
        self.scan_with(spec, self.extra, place)
    }

    /// The same, with the column `_file` even if the statement does not name it.
    pub fn scan_with_file(&self, spec: &SourceSpec, place: SqlSpan) -> DFResult<LogicalPlan> {
        self.scan_with(spec, ExtraColumns { file: true, ..self.extra }, place)
    }

    fn scan_with(&self, spec: &SourceSpec, extra: ExtraColumns, place: SqlSpan) -> DFResult<LogicalPlan> {
        let table = self.opened.table(spec).map_err(|error| self.cannot_open(&error, &spec.location, place))?;
        let table = provider_as_source(Arc::new(table.with_extra(extra)));
        let has_extra = table.schema().field_with_name(EXTRA_COLUMN).is_ok();
        let scan = LogicalPlanBuilder::scan(TableReference::bare(spec.location.as_str()), table, None)?;
        if has_extra || !mentions(self.source.slice(self.statement), EXTRA_COLUMN) {
            return scan.build();
        }
        // A source that was read as a whole to learn its columns has nothing that does not fit them; a query that
        // asks for what does not fit works all the same.
        let nothing = Expr::Literal(ScalarValue::Utf8(None), None).alias(EXTRA_COLUMN);
        let columns: Vec<Expr> = scan.schema().columns().into_iter().map(Expr::Column).chain([nothing]).collect();
        scan.project(columns)?.build()
    }

    fn cannot_open(&self, error: &Error, location: &str, place: SqlSpan) -> Error {
        let message = error.to_string();
        let mut lines = message.splitn(2, '\n');
        let first = lines.next().unwrap_or_default().to_string();
        let code = if matches!(error, Error::Bug(_)) { Code::Plan } else { Code::UnknownFile };
        let problem = match self.quoted(location) {
            // SQL's parser keeps no place for a quoted table name.
            Some(span) if place == SqlSpan::empty() => Diagnostic::error(code, first, &self.source, span),
            _ => self.error(code, first, place),
        };
        problem.maybe_help(lines.next().map(str::to_string)).into()
    }

    /// Where a path stands in the statement, with its quotes.
    pub fn quoted(&self, location: &str) -> Option<Span> {
        let quoted = format!("'{}'", location.replace('\'', "''"));
        let start = self.statement.start + self.source.slice(self.statement).find(&quoted)?;
        Some(Span::new(start, start + quoted.len()))
    }

    /// The place of a location; the statement, if it has none.
    pub fn place(&self, span: SqlSpan) -> Place {
        let whole = || Place { source: self.source.clone(), span: self.statement, call: None };
        self.positions.find(span).unwrap_or_else(whole)
    }

    pub(crate) fn error(&self, code: Code, message: impl Into<String>, place: SqlSpan) -> Diagnostic {
        match self.positions.find(place) {
            Some(place) => place.error(code, message),
            None => Diagnostic { severity: Severity::Error, code, message: message.into(), labels: vec![], help: None },
        }
    }

    /// `'path' WITH (format = 'csv', …)`: SQL reads the options as comparisons.
    fn file(&self, path: &Ident, hints: &[SqlExpr]) -> DFResult<LogicalPlan> {
        let mut spec = SourceSpec { location: path.value.clone(), ..SourceSpec::default() };
        for hint in hints {
            let (name, value) = option_of(hint).ok_or_else(|| {
                Error::from(self.error(
                    Code::OptionValue,
                    format!("`{hint}` is not an option; write name = value"),
                    path.span,
                ))
            })?;
            spec.options.set(&name.value, &value).map_err(|refused| {
                Error::from(option_error(self.error(Code::UnknownOption, "", name.span), &name.value, refused))
            })?;
        }
        self.scan(&spec, path.span)
    }

    /// SQL's `TABLESAMPLE`, by the verb that it means.
    fn sample(&self, input: LogicalPlan, sample: &TableSample) -> DFResult<LogicalPlan> {
        let bound = self.rooms.iter().find_map(|room| room.bind_table_sample(self, &input, sample));
        bound.unwrap_or_else(|| Err(crate::bug!("no verb takes a TABLESAMPLE").into()))
    }
}

impl RelationPlanner for Relations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> DFResult<RelationPlanning> {
        let planned = |plan, alias| Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))));
        match relation {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample: Some(sample),
                index_hints,
            } => {
                let plain = TableFactor::Table {
                    name,
                    alias: None,
                    args,
                    with_hints,
                    version,
                    with_ordinality,
                    partitions,
                    json_path,
                    sample: None,
                    index_hints,
                };
                let input = context.plan(plain)?;
                planned(self.sample(input, sample_of(&sample))?, alias)
            }
            TableFactor::Derived { lateral: false, subquery, alias, sample: Some(sample) } => {
                let input =
                    context.plan(TableFactor::Derived { lateral: false, subquery, alias: None, sample: None })?;
                planned(self.sample(input, sample_of(&sample))?, alias)
            }
            TableFactor::Table { name, alias, args: Some(arguments), .. } if let Some(call) = RowSet::named(&name) => {
                planned(self.row_set(call, arguments, context)?, alias)
            }
            TableFactor::NestedJoin { table_with_joins, alias } if let Some(last) = last_merging(&table_with_joins) => {
                planned(self.merging_joins(*table_with_joins, last, context)?, alias)
            }
            TableFactor::Table { name, alias, args: Some(arguments), .. }
                if let Some((room, function)) = table_function(self.rooms, &name) =>
            {
                planned(room.bind_table_function(self, &function, arguments, context)?, alias)
            }
            TableFactor::Table { ref name, ref alias, args: None, ref with_hints, .. } => {
                let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
                    return Ok(RelationPlanning::Original(Box::new(relation)));
                };
                if ident.quote_style == Some('\'') {
                    return planned(self.file(ident, with_hints)?, alias.clone());
                }
                if let Some(plan) = self.piped(&ident.value) {
                    return planned(plan, alias.clone());
                }
                match self.find_let(&ident.value) {
                    Some(plan) => {
                        let named = LogicalPlanBuilder::from(plan.clone()).alias(ident.value.as_str())?.build()?;
                        planned(named, alias.clone())
                    }
                    None => Ok(RelationPlanning::Original(Box::new(relation))),
                }
            }
            other => Ok(RelationPlanning::Original(Box::new(other))),
        }
    }
}

fn sample_of(kind: &TableSampleKind) -> &TableSample {
    match kind {
        TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample) => sample,
    }
}

/// Whether a name that is no table's was meant as a file's.
fn looks_like_file(name: &str) -> bool {
    const ENDINGS: [&str; 12] =
        ["jsonl", "json", "ndjson", "csv", "tsv", "txt", "parquet", "arrow", "gz", "zst", "md", "feather"];
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// The number an expression simply is.
pub fn number_of(expr: &SqlExpr) -> Option<String> {
    match expr {
        SqlExpr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number.clone()),
            _ => None,
        },
        SqlExpr::Nested(inner) => number_of(inner),
        SqlExpr::UnaryOp { expr, .. } => number_of(expr).map(|number| format!("-{number}")),
        _ => None,
    }
}

fn option_of(hint: &SqlExpr) -> Option<(&Ident, String)> {
    let SqlExpr::BinaryOp { left, op: BinaryOperator::Eq, right } = hint else { return None };
    let SqlExpr::Identifier(name) = left.as_ref() else { return None };
    let value = match right.as_ref() {
        SqlExpr::Identifier(word) => word.value.clone(),
        SqlExpr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        _ => return None,
    };
    Some((name, value))
}

/// Turns an option's refusal into words at the place already chosen.
pub fn option_error(mut at: Diagnostic, name: &str, refused: SettingError) -> Diagnostic {
    match refused {
        SettingError::Unknown { help } => {
            at.code = Code::UnknownOption;
            at.message = format!("no option `{name}`");
            at.at("not found").maybe_help(help)
        }
        SettingError::Value(message) => {
            at.code = Code::OptionValue;
            at.message = format!("option `{name}`: {message}");
            at
        }
    }
}

/// Answers the SQL planner's questions from a session's state.
pub struct Catalog<'a> {
    state: &'a SessionState,
    relations: Vec<Arc<dyn RelationPlanner>>,
    let_names: Vec<String>,
}

impl<'a> Catalog<'a> {
    /// The catalog of one statement.
    pub fn new(state: &'a SessionState, relations: Arc<Relations>) -> Self {
        let let_names = relations.lets.keys().cloned().collect();
        Self { state, relations: vec![relations], let_names }
    }
}

impl ContextProvider for Catalog<'_> {
    fn get_table_source(&self, name: TableReference) -> DFResult<Arc<dyn TableSource>> {
        let table = name.table().to_string();
        let written = name.to_string();
        let not_found = |near: Option<String>| {
            let near = near.or_else(|| {
                looks_like_file(&written).then(|| format!("a file is named in single quotes: FROM '{written}'"))
            });
            plan_datafusion_err!(
                "no table or LET `{written}`{}",
                near.map_or(String::new(), |help| format!("; {help}"))
            )
        };
        let Ok(schema) = self.state.schema_for_ref(name) else { return Err(not_found(None)) };
        // The catalogs in use are in memory: their futures are ready at once.
        let provider = schema.table(&table).now_or_never().transpose()?.flatten();
        provider.map(provider_as_source).ok_or_else(|| {
            let names = schema.table_names().into_iter().chain(self.let_names.iter().cloned());
            not_found(did_you_mean(&table, names))
        })
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> DFResult<Arc<dyn TableSource>> {
        let functions = self.state.table_functions();
        let function = functions.get(name).ok_or_else(|| plan_datafusion_err!("table function '{name}' not found"))?;
        // Functions take constants; `1 + 2` and `now()` are some.
        let no_columns = Arc::new(DFSchema::empty());
        let constant = |arg| match simplified(self.state, &no_columns, arg)? {
            // They look for whole numbers of 64 bits.
            Expr::Literal(value, _) if value.data_type().is_integer() => Ok(lit(value.cast_to(&DataType::Int64)?)),
            other => Ok(other),
        };
        let args = args.into_iter().map(constant).collect::<DFResult<Vec<_>>>()?;
        let args = datafusion::catalog::TableFunctionArgs::new(&args, self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(args)?))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> DFResult<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relations
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        None
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.state.scalar_functions().get(name).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
