//! Verbs to plans, each applied to the plan so far.
//!
//! Where a verb is a SELECT in other words, it is made into one and planned by the SQL planner; where a plan
//! node says it directly (`WHERE`, `LIMIT`, `UNION`), the node is built. A `WHERE` that is wrong is reported and
//! passed over, so that the verbs after it are checked too.

use super::catalog::{number_of, option_error, sample_percent, sample_rows};
use super::nodes::{Sample, Write};
use super::{Binder, planner};
use crate::diag::{Code, Diagnostic, Span, did_you_mean};
use crate::sinks::{SinkOptions, SinkSpec};
use crate::sources::SourceSpec;
use crate::syntax::ast::{
    JoinCondition, JoinKind, Name, OptionItem, OptionValue, Pipeline, SampleAmount, SetOperationKind, Slice, Source,
    SourceKind, Verb, VerbKind,
};
use arrow::datatypes::DataType;
use datafusion::common::{Column, DataFusionError};
use datafusion::logical_expr::utils::{find_aggregate_exprs, find_window_exprs};
use datafusion::logical_expr::{Expr, ExprSchemable, Extension, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{
    Distinct, ExceptSelectItem, Expr as SqlExpr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, OrderBy, OrderByKind, Query, ReplaceSelectElement, ReplaceSelectItem, Select,
    SelectFlavor, SelectItem, SetExpr, Statement, TableAlias, TableFactor, TableWithJoins, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use std::sync::Arc;

/// Where a pipeline stands: only a whole statement may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A statement of its own.
    Top,
    /// In parentheses.
    Nested,
}

type Bound<T> = Result<T, Vec<Diagnostic>>;

impl Binder<'_> {
    pub(super) fn pipeline(&self, pipeline: &Pipeline, place: Place) -> Bound<LogicalPlan> {
        let from = self.table_factor(&pipeline.from)?;
        let mut plan = self.plan_factor(from, pipeline.from.span)?;
        let mut problems = Vec::new();
        for (at, verb) in pipeline.verbs.iter().enumerate() {
            let is_last = at + 1 == pipeline.verbs.len();
            if let VerbKind::Into { path, .. } = &verb.kind
                && (!is_last || place == Place::Nested)
            {
                let help = if is_last { "INTO belongs to a statement, not inside parentheses or LET" } else { "move INTO to the end" };
                problems.push(self.error(Code::Unsupported, "INTO must be the last verb of a statement", verb.span).help(help));
                let _ = path;
                continue;
            }
            match self.verb(verb, plan.clone()) {
                Ok(next) => plan = next,
                Err(found) => {
                    problems.extend(found);
                    // The columns after a broken WHERE or ORDER BY are known; after other verbs they are not.
                    if !matches!(verb.kind, VerbKind::Where(_) | VerbKind::OrderBy(_) | VerbKind::Limit { .. } | VerbKind::Sample { .. }) {
                        break;
                    }
                }
            }
        }
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    fn verb(&self, verb: &Verb, plan: LogicalPlan) -> Bound<LogicalPlan> {
        let span = verb.span;
        match &verb.kind {
            VerbKind::Where(condition) => self.filter(plan, *condition),
            VerbKind::Select { distinct, items } => {
                let items = self.select_items(&plan, items)?;
                let distinct = distinct.then_some(Distinct::Distinct);
                self.select(plan, items, span, |select| select.distinct = distinct)
            }
            VerbKind::Extend(items) => {
                let added = self.select_items(&plan, items)?;
                self.refuse_existing_names(&plan, &added, items)?;
                let items = std::iter::once(wildcard(WildcardAdditionalOptions::default())).chain(added).collect();
                self.select(plan, items, span, |_| {})
            }
            VerbKind::Set(assignments) => {
                let mut items = Vec::new();
                let mut problems = Vec::new();
                for assignment in assignments {
                    let value = self.expr(&plan, assignment.value);
                    match (self.existing_column(&plan, &assignment.column), value) {
                        (Ok(()), Ok(expr)) => items.push(Box::new(ReplaceSelectElement {
                            expr,
                            column_name: ident(&assignment.column),
                            as_keyword: true,
                        })),
                        (column, value) => problems.extend(column.err().into_iter().flatten().chain(value.err().into_iter().flatten())),
                    }
                }
                if !problems.is_empty() {
                    return Err(problems);
                }
                let options = WildcardAdditionalOptions { opt_replace: Some(ReplaceSelectItem { items }), ..Default::default() };
                self.select(plan, vec![wildcard(options)], span, |_| {})
            }
            VerbKind::Drop(columns) => {
                self.existing_columns(&plan, columns.iter())?;
                let mut names = columns.iter().map(ident);
                let Some(first_element) = names.next() else { return Ok(plan) };
                let except = ExceptSelectItem { first_element, additional_elements: names.collect() };
                let options = WildcardAdditionalOptions { opt_except: Some(except), ..Default::default() };
                self.select(plan, vec![wildcard(options)], span, |_| {})
            }
            VerbKind::Rename(renamings) => {
                self.existing_columns(&plan, renamings.iter().map(|renaming| &renaming.from))?;
                let columns = plan.schema().columns().into_iter().map(|column| {
                    match renamings.iter().find(|renaming| renaming.from.text == column.name) {
                        Some(renaming) => Expr::Column(column).alias(&renaming.to.text),
                        None => Expr::Column(column),
                    }
                });
                let columns: Vec<Expr> = columns.collect();
                self.build(span, || LogicalPlanBuilder::from(plan).project(columns)?.build())
            }
            VerbKind::Aggregate { items, group_by } => self.aggregate(plan, items, group_by, span),
            VerbKind::Join { kind, source, condition } => self.join(plan, *kind, source, condition, span),
            VerbKind::SetOperation { kind, all, sources } => self.set_operation(plan, *kind, *all, sources),
            VerbKind::OrderBy(items) => {
                let mut exprs = Vec::new();
                for item in items {
                    let mut order = self.reader().order_by(item.span).map_err(|problem| vec![problem])?;
                    self.rewrite(&mut order)?;
                    // `ORDER BY ALL` and `ORDER BY 1` are SQL's own; anything else is checked by itself.
                    if !matches!(order.expr, SqlExpr::Value(_)) {
                        self.check(&plan, &order.expr, item.span)?;
                    }
                    exprs.push(order);
                }
                let order_by = OrderBy { kind: OrderByKind::Expressions(exprs), interpolate: None };
                let items = vec![wildcard(WildcardAdditionalOptions::default())];
                let mut query = self.query(plan, items);
                query.order_by = Some(order_by);
                self.plan_query(query, span)
            }
            VerbKind::Limit { count, offset } => {
                let number = |slice: &Option<Slice>| slice.map(|slice| self.whole_number(&plan, slice)).transpose();
                let (count, offset) = (number(count)?, number(offset)?);
                self.build(span, || LogicalPlanBuilder::from(plan).limit_by_expr(offset, count)?.build())
            }
            VerbKind::Distinct { on } if on.is_empty() => self.build(span, || LogicalPlanBuilder::from(plan).distinct()?.build()),
            VerbKind::Distinct { on } => self.distinct_on(plan, on, span),
            VerbKind::Sample { amount, seed } => self.sample(plan, *amount, *seed),
            VerbKind::As(name) => {
                self.build(span, || LogicalPlanBuilder::from(plan).alias(name.text.as_str())?.build())
            }
            VerbKind::Into { path, options } => self.into(plan, path, options),
        }
    }

    fn filter(&self, plan: LogicalPlan, condition: Slice) -> Bound<LogicalPlan> {
        let expr = self.expr(&plan, condition)?;
        let planned = self.check(&plan, &expr, condition.span)?;
        if let Some(aggregate) = find_aggregate_exprs(std::iter::once(&planned)).first() {
            return Err(vec![
                self.error(Code::Unsupported, format!("`{aggregate}` is an aggregate; WHERE looks at one row at a time"), condition.span)
                    .help("AGGREGATE first, then WHERE on its result"),
            ]);
        }
        if let Some(window) = find_window_exprs(std::iter::once(&planned)).first() {
            return Err(vec![
                self.error(Code::Unsupported, format!("`{window}` is a window function; WHERE looks at one row at a time"), condition.span)
                    .help("EXTEND with it first, then WHERE on the new column"),
            ]);
        }
        match planned.get_type(plan.schema()) {
            Ok(DataType::Boolean | DataType::Null) => {}
            Ok(other) => {
                return Err(vec![
                    self.error(Code::Type, format!("WHERE needs a condition, this is {}", type_name(&other)), condition.span)
                        .help("compare it with something: … > 0, … = 'en', … IS NOT NULL"),
                ]);
            }
            Err(error) => return Err(self.blame().explain(error, condition.span)),
        }
        self.build(condition.span, || LogicalPlanBuilder::from(plan).filter(planned)?.build())
    }

    fn aggregate(&self, plan: LogicalPlan, items: &[Slice], group_by: &[Slice], span: Span) -> Bound<LogicalPlan> {
        let groups = self.select_items(&plan, group_by)?;
        let aggregates = self.select_items(&plan, items)?;
        let keys = groups
            .iter()
            .filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.clone()),
                _ => None,
            })
            .collect();
        let items = groups.into_iter().chain(aggregates).collect();
        self.select(plan, items, span, |select| select.group_by = GroupByExpr::Expressions(keys, vec![]))
    }

    fn join(&self, plan: LogicalPlan, kind: JoinKind, source: &Source, condition: &JoinCondition, span: Span) -> Bound<LogicalPlan> {
        let relation = self.table_factor(source)?;
        let constraint = match condition {
            JoinCondition::None => JoinConstraint::None,
            JoinCondition::Using(columns) => {
                self.existing_columns(&plan, columns.iter())?;
                let right = self.plan_factor(relation.clone(), source.span)?;
                self.existing_columns(&right, columns.iter())?;
                JoinConstraint::Using(columns.iter().map(|name| object_name(ident(name))).collect())
            }
            JoinCondition::On(condition) => {
                let right = self.plan_factor(relation.clone(), source.span)?;
                let both = self.build(span, || LogicalPlanBuilder::from(plan.clone()).cross_join(right)?.build())?;
                JoinConstraint::On(self.expr(&both, *condition)?)
            }
        };
        let join_operator = match kind {
            JoinKind::Inner => JoinOperator::Inner(constraint),
            JoinKind::Left => JoinOperator::Left(constraint),
            JoinKind::Right => JoinOperator::Right(constraint),
            JoinKind::Full => JoinOperator::FullOuter(constraint),
            JoinKind::Cross => JoinOperator::CrossJoin(constraint),
            JoinKind::LeftSemi => JoinOperator::LeftSemi(constraint),
            JoinKind::LeftAnti => JoinOperator::LeftAnti(constraint),
        };
        let join = Join { relation, global: false, join_operator };
        let items = vec![wildcard(WildcardAdditionalOptions::default())];
        let mut query = self.query(plan, items);
        if let SetExpr::Select(select) = query.body.as_mut()
            && let Some(from) = select.from.first_mut()
        {
            from.joins.push(join);
        }
        self.plan_query(query, span)
    }

    fn set_operation(&self, plan: LogicalPlan, kind: SetOperationKind, all: bool, sources: &[Source]) -> Bound<LogicalPlan> {
        let mut plan = plan;
        for source in sources {
            let other = self.plan_factor(self.table_factor(source)?, source.span)?;
            let (left, right) = (plan.schema().fields().len(), other.schema().fields().len());
            if left != right {
                let columns = |plan: &LogicalPlan| plan.schema().field_names().join(", ");
                return Err(vec![
                    self.error(Code::Type, format!("the two sides have {left} and {right} columns"), source.span)
                        .at(format!("columns: {}", columns(&other)))
                        .help(format!("SELECT the same columns on both sides; the left side has: {}", columns(&plan))),
                ]);
            }
            plan = self.build(source.span, || {
                let left = LogicalPlanBuilder::from(plan);
                match (kind, all) {
                    (SetOperationKind::Union, true) => left.union(other)?.build(),
                    (SetOperationKind::Union, false) => left.union_distinct(other)?.build(),
                    (SetOperationKind::Intersect, all) => LogicalPlanBuilder::intersect(left.build()?, other, all),
                    (SetOperationKind::Except, all) => LogicalPlanBuilder::except(left.build()?, other, all),
                }
            })?;
        }
        Ok(plan)
    }

    /// `DISTINCT ON (keys)`: the first row of each, by the `ORDER BY` just before it if there is one.
    fn distinct_on(&self, plan: LogicalPlan, on: &[Slice], span: Span) -> Bound<LogicalPlan> {
        let mut keys = Vec::new();
        for key in on {
            let expr = self.expr(&plan, *key)?;
            keys.push(self.check(&plan, &expr, key.span)?);
        }
        let (input, sort) = match plan {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (Arc::unwrap_or_clone(sort.input), Some(sort.expr)),
            other => (other, None),
        };
        // The planner wants the keys to lead the order; leading with them changes nothing within a key.
        let sort = sort.map(|sort| keys.iter().map(|key| key.clone().sort(true, false)).chain(sort).collect());
        let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
        self.build(span, || LogicalPlanBuilder::from(input).distinct_on(keys, columns, sort)?.build())
    }

    fn sample(&self, plan: LogicalPlan, amount: SampleAmount, seed: Option<Slice>) -> Bound<LogicalPlan> {
        let number = |slice: Slice| -> Bound<String> {
            let expr = self.expr(&plan, slice)?;
            number_of(&expr).ok_or_else(|| vec![self.error(Code::Type, "SAMPLE takes a number", slice.span)])
        };
        let (slice, amount) = match amount {
            SampleAmount::Rows(slice) => (slice, sample_rows(&number(slice)?)),
            SampleAmount::Percent(slice) => (slice, sample_percent(&number(slice)?)),
        };
        let amount = amount.map_err(|message| vec![self.error(Code::OptionValue, message, slice.span)])?;
        let seed = match seed {
            Some(slice) => number(slice)?
                .parse()
                .map_err(|_| vec![self.error(Code::OptionValue, "the seed is a whole number, 0 or more", slice.span)])?,
            None => 0,
        };
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(Sample { input: plan, amount, seed }) }))
    }

    fn into(&self, plan: LogicalPlan, path: &Name, options: &[OptionItem]) -> Bound<LogicalPlan> {
        let mut given = Vec::new();
        for option in options {
            given.push((option.name.text.clone(), self.option_text(option)?));
        }
        let place_of = |name: &str| {
            let option = options.iter().find(|option| option.name.text == name);
            option.map_or(path.span, |option| option.name.span)
        };
        let target = self.parameter_path(path)?;
        let at = |code: Code, message: String| self.error(code, message, path.span);
        self.write(plan, target, given, place_of, at)
    }

    /// A [`Write`] node, its options and target checked.
    pub(super) fn write(
        &self,
        input: LogicalPlan,
        location: String,
        options: Vec<(String, String)>,
        place_of: impl Fn(&str) -> Span,
        at: impl Fn(Code, String) -> Diagnostic,
    ) -> Bound<LogicalPlan> {
        let mut spec = SinkSpec { location, options: SinkOptions::default() };
        let mut problems = Vec::new();
        for (name, value) in &options {
            if let Err(refused) = spec.options.set(name, value) {
                problems.push(option_error(self.error(Code::UnknownOption, "", place_of(name)), name, refused));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Err(problem) = spec.validate(input.schema().as_arrow()) {
            let code = if problem.exists { Code::OutputExists } else { Code::OptionValue };
            let mut lines = problem.message.splitn(2, '\n');
            let message = lines.next().unwrap_or_default().to_string();
            let diagnostic = match problem.option {
                Some(option) => self.error(code, message, place_of(option)),
                None => at(code, message),
            };
            return Err(vec![diagnostic.maybe_help(lines.next().map(str::to_string))]);
        }
        let SinkSpec { location, .. } = spec;
        let node = Write::new(input, location, options).map_err(|error| vec![at(Code::Plan, error.to_string())])?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    /// What stands after FROM, as SQL's tree.
    fn table_factor(&self, source: &Source) -> Bound<TableFactor> {
        let alias = source.alias.as_ref().map(|name| TableAlias { explicit: true, name: ident(name), columns: vec![], at: None });
        match &source.kind {
            SourceKind::Relation(slice) => {
                let mut factor = self.reader().relation(slice.span).map_err(|problem| vec![problem])?;
                self.rewrite(&mut factor)?;
                Ok(factor)
            }
            SourceKind::Pipeline(pipeline) => {
                let plan = self.pipeline(pipeline, Place::Nested)?;
                Ok(named_table(self.relations.pipe(plan), alias))
            }
            SourceKind::File { path, options } => {
                let mut spec = SourceSpec { location: self.parameter_path(path)?, ..SourceSpec::default() };
                let mut problems = Vec::new();
                for option in options {
                    if let Err(refused) = spec.options.set(&option.name.text, &self.option_text(option)?) {
                        let at = match refused {
                            crate::config::SettingError::Unknown { .. } => option.name.span,
                            crate::config::SettingError::Value(_) => option.value_span,
                        };
                        problems.push(option_error(self.error(Code::UnknownOption, "", at), &option.name.text, refused));
                    }
                }
                if !problems.is_empty() {
                    return Err(problems);
                }
                let scan = self.relations.scan(&spec, SqlSpan::empty()).map_err(|error| self.blame().explain(error, path.span))?;
                Ok(named_table(self.relations.pipe(scan), alias))
            }
        }
    }

    fn plan_factor(&self, factor: TableFactor, span: Span) -> Bound<LogicalPlan> {
        // A plain name needs no SELECT around it: the pipeline so far, a file, a nested pipeline.
        if let TableFactor::Table { name, alias: None, .. } = &factor
            && let Some(plan) = self.relations.piped_name(name)
        {
            return Ok(plan);
        }
        let items = vec![wildcard(WildcardAdditionalOptions::default())];
        let plan = self.plan_query(select_from(factor, items), span)?;
        // The SELECT * around it says nothing; without it the plan reads as the query does.
        match plan {
            LogicalPlan::Projection(projection) if projection.schema == *projection.input.schema() => {
                Ok(Arc::unwrap_or_clone(projection.input))
            }
            other => Ok(other),
        }
    }

    /// `SELECT * FROM name`.
    pub(super) fn select_all(&self, name: ObjectName) -> Query {
        select_from(named_table(name, None), vec![wildcard(WildcardAdditionalOptions::default())])
    }

    fn query(&self, plan: LogicalPlan, items: Vec<SelectItem>) -> Query {
        select_from(named_table(self.relations.pipe(plan), None), items)
    }

    fn select(&self, plan: LogicalPlan, items: Vec<SelectItem>, span: Span, change: impl FnOnce(&mut Select)) -> Bound<LogicalPlan> {
        let mut query = self.query(plan, items);
        if let SetExpr::Select(select) = query.body.as_mut() {
            change(select);
        }
        self.plan_query(query, span)
    }

    fn plan_query(&self, query: Query, span: Span) -> Bound<LogicalPlan> {
        let catalog = self.catalog();
        let statement = DFStatement::Statement(Box::new(Statement::Query(Box::new(query))));
        planner(&catalog).statement_to_plan(statement).map_err(|error| self.blame().explain(error, span))
    }

    fn select_items(&self, plan: &LogicalPlan, slices: &[Slice]) -> Bound<Vec<SelectItem>> {
        let mut items = Vec::new();
        let mut problems = Vec::new();
        for slice in slices {
            match self.select_item(plan, *slice) {
                Ok(item) => items.push(item),
                Err(found) => problems.extend(found),
            }
        }
        let names: Vec<Option<String>> = items.iter().map(output_name).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        for (at, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            if let Some(first) = names[..at].iter().position(|other| other.as_ref() == Some(name)) {
                problems.push(
                    self.error(Code::Duplicate, format!("two columns named `{name}`"), slices[at].span)
                        .and_at(self.source, slices[first].span, "the first is here")
                        .help("give one of them another name with AS"),
                );
            }
        }
        if problems.is_empty() { Ok(items) } else { Err(problems) }
    }

    fn select_item(&self, plan: &LogicalPlan, slice: Slice) -> Bound<SelectItem> {
        let mut item = self.reader().select_item(slice.span).map_err(|problem| vec![problem])?;
        self.rewrite(&mut item)?;
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = &item {
            self.check(plan, expr, slice.span)?;
        }
        Ok(item)
    }

    /// An expression, rewritten; its types are checked against the plan's columns.
    fn expr(&self, plan: &LogicalPlan, slice: Slice) -> Bound<SqlExpr> {
        let mut expr = self.reader().expr(slice.span).map_err(|problem| vec![problem])?;
        self.rewrite(&mut expr)?;
        self.check(plan, &expr, slice.span)?;
        Ok(expr)
    }

    fn check(&self, plan: &LogicalPlan, expr: &SqlExpr, span: Span) -> Bound<Expr> {
        let catalog = self.catalog();
        self.blame().check(&planner(&catalog), self.context.state.config_options(), expr, plan.schema(), span)
    }

    fn whole_number(&self, plan: &LogicalPlan, slice: Slice) -> Bound<Expr> {
        let expr = self.expr(plan, slice)?;
        let planned = self.check(plan, &expr, slice.span)?;
        match planned.get_type(plan.schema()) {
            Ok(kind) if kind.is_integer() => Ok(planned),
            _ => Err(vec![self.error(Code::Type, "a whole number is expected here", slice.span)]),
        }
    }

    fn existing_columns<'n>(&self, plan: &LogicalPlan, names: impl Iterator<Item = &'n Name>) -> Bound<()> {
        let problems: Vec<Diagnostic> = names.filter_map(|name| self.existing_column(plan, name).err()).flatten().collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn existing_column(&self, plan: &LogicalPlan, name: &Name) -> Bound<()> {
        let schema = plan.schema();
        if schema.has_column_with_unqualified_name(&name.text) {
            return Ok(());
        }
        let field = Box::new(Column::new_unqualified(&name.text));
        let error = datafusion::common::SchemaError::FieldNotFound { field, valid_fields: schema.columns() };
        Err(self.blame().explain(DataFusionError::SchemaError(Box::new(error), Box::new(None)), name.span))
    }

    fn refuse_existing_names(&self, plan: &LogicalPlan, added: &[SelectItem], slices: &[Slice]) -> Bound<()> {
        let clash = added.iter().zip(slices).find_map(|(item, slice)| {
            let name = output_name(item)?;
            plan.schema().has_column_with_unqualified_name(&name).then_some((name, slice.span))
        });
        match clash {
            None => Ok(()),
            Some((name, span)) => Err(vec![
                self.error(Code::Duplicate, format!("there is a column `{name}` already"), span)
                    .help(format!("SET {name} = … replaces it; or give the new column another name with AS")),
            ]),
        }
    }

    fn option_text(&self, option: &OptionItem) -> Bound<String> {
        match &option.value {
            OptionValue::Parameter(name) => self.parameter(name, option.value_span),
            other => Ok(other.as_text()),
        }
    }

    /// A path may be a parameter: `FROM $input`.
    fn parameter_path(&self, path: &Name) -> Bound<String> {
        match (self.source.slice(path.span).strip_prefix('$'), path.text.strip_prefix('$')) {
            (Some(_), Some(name)) => self.parameter(name, path.span),
            _ => Ok(path.text.clone()),
        }
    }

    fn parameter(&self, name: &str, span: Span) -> Bound<String> {
        let parameters = &self.context.scope.parameters;
        match parameters.get(name) {
            Some(value) => Ok(value.as_text()),
            None => Err(vec![
                self.error(Code::UnknownParameter, format!("no value for parameter `${name}`"), span)
                    .maybe_help(did_you_mean(name, parameters.keys()))
                    .maybe_help(Some(format!("give it with -D {name}=value"))),
            ]),
        }
    }

    fn build(&self, span: Span, build: impl FnOnce() -> datafusion::common::Result<LogicalPlan>) -> Bound<LogicalPlan> {
        build().map_err(|error| self.blame().explain(error, span))
    }

    fn error(&self, code: Code, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic::error(code, message, self.source, span)
    }
}

fn ident(name: &Name) -> Ident {
    Ident::with_quote('"', &name.text)
}

fn object_name(ident: Ident) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(ident)])
}

fn wildcard(options: WildcardAdditionalOptions) -> SelectItem {
    SelectItem::Wildcard(options)
}

fn named_table(name: ObjectName, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

fn select_from(relation: TableFactor, projection: Vec<SelectItem>) -> Query {
    let select = Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: vec![],
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from: vec![TableWithJoins { relation, joins: vec![] }],
        lateral_views: vec![],
        prewhere: None,
        selection: None,
        connect_by: vec![],
        group_by: GroupByExpr::Expressions(vec![], vec![]),
        cluster_by: vec![],
        distribute_by: vec![],
        sort_by: vec![],
        having: None,
        named_window: vec![],
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    };
    Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::new(select))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: vec![],
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: vec![],
    }
}

/// The name a select item gives its column, where it is plain to see.
fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(SqlExpr::Identifier(name)) => Some(name.value.clone()),
        _ => None,
    }
}

/// An Arrow type in a user's words.
fn type_name(kind: &DataType) -> String {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_string(),
        kind if kind.is_integer() => "a whole number".to_string(),
        kind if kind.is_floating() => "a number".to_string(),
        DataType::Struct(_) => "a struct".to_string(),
        DataType::List(_) | DataType::LargeList(_) => "a list".to_string(),
        other => format!("of type {other}"),
    }
}
