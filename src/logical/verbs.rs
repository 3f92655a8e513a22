//! Verbs to plans, each applied to the plan so far.
//!
//! Where a verb is a SELECT in other words, it is made into one and planned by the SQL planner; where a plan
//! node says it directly (`WHERE`, `LIMIT`, `UNION`), the node is built. A `WHERE` that is wrong is reported and
//! passed over, so that the verbs after it are checked too.

use super::blame::parts;
use super::catalog::number_of;
use super::column_names::output_name;
use super::constant::{NEGATIVE_ROWS, is_negative};
use super::hint::depth;
use super::output_names::named_as_written;
use super::room::Room;
use super::row_sets::order_by_all;
use super::tree::{all_columns, drop_repeated_provenance, ident, named_table, select_from};
use super::{Binder, planner};
use crate::diag::{Code, Diagnostic, Span};
use crate::syntax::ast::{Pipeline, Slice, Verb, VerbCall, VerbKind};
use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::utils::{find_aggregate_exprs, find_window_exprs};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection};
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::planner::PlannerContext;
use datafusion::sql::sqlparser::ast::{
    Distinct, ExceptSelectItem, Expr as SqlExpr, GroupByExpr, Ident, OrderBy, OrderByKind, OrderByOptions, Query,
    ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, SetExpr, Spanned, Statement,
    WildcardAdditionalOptions,
};

/// Where a pipeline stands: only a whole statement may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// A statement of its own.
    Top,
    /// In parentheses.
    Nested,
}

/// What a verb was bound to, or what is wrong with it.
pub type Bound<T> = Result<T, Vec<Diagnostic>>;

impl Binder<'_> {
    pub(super) fn pipeline(&self, pipeline: &Pipeline, nesting: Nesting) -> Bound<LogicalPlan> {
        let from = self.table_factor(&pipeline.from)?;
        let mut plan = self.plan_factor(from, pipeline.from.span)?;
        let mut problems = Vec::new();
        for (at, verb) in pipeline.verbs.iter().enumerate() {
            let is_last = at + 1 == pipeline.verbs.len();
            let room = self.room_of(verb);
            if let Some(room) = room.filter(|room| room.ends_pipeline() && (!is_last || nesting == Nesting::Nested)) {
                let keyword = room.keyword();
                let help = if is_last {
                    format!("{keyword} belongs to a statement, not inside parentheses or LET")
                } else {
                    format!("move {keyword} to the end")
                };
                let message = format!("{keyword} must be the last verb of a statement");
                problems.push(self.error(Code::Unsupported, message, verb.span).help(help));
                continue;
            }
            let n_below = depth(&plan);
            let made = self.verb(verb, plan.clone()).and_then(|made| match &verb.hint {
                Some(hint) => self.hinted(made, n_below, hint),
                None => Ok(made),
            });
            match made {
                Ok(next) => plan = next,
                Err(found) => {
                    problems.extend(found);
                    // The columns after a broken WHERE or ORDER BY are known; after other verbs they are not.
                    let keeps_columns = room.is_some_and(|room| room.keeps_columns())
                        || matches!(verb.kind, VerbKind::Where(_) | VerbKind::OrderBy(_) | VerbKind::Limit { .. });
                    if !keeps_columns {
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
                self.refuse_assignments(&plan, items)?;
                let added = self.select_items(&plan, items)?;
                self.refuse_existing_names(&plan, &added, items)?;
                let items = std::iter::once(all_columns()).chain(added).collect();
                self.select(plan, items, span, |_| {})
            }
            VerbKind::Set(assignments) => {
                self.refuse_repeated(assignments.iter().map(|assignment| &assignment.column), |_| false)?;
                let mut items = Vec::new();
                let mut problems = Vec::new();
                for assignment in assignments {
                    let value = self.expr(&plan, assignment.value);
                    match (self.set_column(&plan, assignment), value) {
                        (Ok(()), Ok(expr)) => items.push(Box::new(ReplaceSelectElement {
                            expr,
                            column_name: ident(&assignment.column),
                            as_keyword: true,
                        })),
                        (column, value) => {
                            problems.extend(column.err().into_iter().flatten().chain(value.err().into_iter().flatten()))
                        }
                    }
                }
                if !problems.is_empty() {
                    return Err(problems);
                }
                let options =
                    WildcardAdditionalOptions { opt_replace: Some(ReplaceSelectItem { items }), ..Default::default() };
                let before = plan.schema().clone();
                let set = self.select(plan, vec![SelectItem::Wildcard(options)], span, |_| {})?;
                self.build(span, || qualified_as_before(set, &before))
            }
            VerbKind::Drop(columns) => {
                self.existing_columns(&plan, columns.iter())?;
                let mut names = columns.iter().map(ident);
                let Some(first_element) = names.next() else { return Ok(plan) };
                let except = ExceptSelectItem { first_element, additional_elements: names.collect() };
                let options = WildcardAdditionalOptions { opt_except: Some(except), ..Default::default() };
                self.select(plan, vec![SelectItem::Wildcard(options)], span, |_| {})
            }
            VerbKind::Rename(renamings) => {
                for renaming in renamings {
                    self.one_column(&plan, &renaming.from)?;
                }
                let stays = |name: &str| !renamings.iter().any(|renaming| renaming.from.text == name);
                self.refuse_repeated(renamings.iter().map(|renaming| &renaming.to), |name| {
                    stays(name) && plan.schema().has_column_with_unqualified_name(name)
                })?;
                let columns = plan.schema().columns().into_iter().map(|column| {
                    match renamings.iter().find(|renaming| renaming.from.text == column.name) {
                        Some(renaming) => {
                            let table = column.relation.clone();
                            Expr::Column(column).alias_qualified(table, &renaming.to.text)
                        }
                        None => Expr::Column(column),
                    }
                });
                let columns: Vec<Expr> = columns.collect();
                self.build(span, || LogicalPlanBuilder::from(plan).project(columns)?.build())
            }
            VerbKind::Aggregate { items, group_by } => self.aggregate(plan, items, group_by, span),
            VerbKind::Join { kind, source, condition } => self.join(plan, *kind, source, condition, span),
            VerbKind::SetOperation { kind, all, by_name: false, sources } => {
                self.set_operation(plan, *kind, *all, sources)
            }
            VerbKind::SetOperation { kind, all, by_name: true, sources } => {
                self.union_by_name(plan, (*kind, *all), sources, span)
            }
            VerbKind::OrderBy(items) => {
                if let [item] = items.as_slice()
                    && let Ok(order) = self.reader().order_by(item.span)
                    && matches!(&order.expr, SqlExpr::Identifier(word) if is_all(word))
                {
                    let OrderByOptions { asc, nulls_first } = order.options;
                    return self.build(span, || order_by_all(plan, asc, nulls_first));
                }
                let mut exprs = Vec::new();
                for item in items {
                    let mut order = self.reader().order_by(item.span).map_err(|problem| vec![problem])?;
                    self.refuse_all(&plan, &order.expr, item.span)?;
                    self.rewrite(&mut order)?;
                    // `ORDER BY 1` is SQL's own; anything else is checked by itself.
                    if !matches!(order.expr, SqlExpr::Value(_)) {
                        self.check(&plan, &order.expr, item.span)?;
                    }
                    exprs.push(order);
                }
                let order_by = OrderBy { kind: OrderByKind::Expressions(exprs), interpolate: None };
                let items = vec![all_columns()];
                let mut query = self.query(plan, items);
                query.order_by = Some(order_by);
                self.plan_query(query, span)
            }
            VerbKind::Limit { count, offset } => {
                let number = |slice: &Option<Slice>| slice.map(|slice| self.whole_number(&plan, slice)).transpose();
                let (count, offset) = (number(count)?, number(offset)?);
                self.build(span, || LogicalPlanBuilder::from(plan).limit_by_expr(offset, count)?.build())
            }
            VerbKind::Distinct { on } if on.is_empty() => {
                self.build(span, || LogicalPlanBuilder::from(plan).distinct()?.build())
            }
            VerbKind::Distinct { on } => self.distinct_on(plan, on, span),
            VerbKind::Sweep { sweeps, bytes_of } => self.sweep(plan, sweeps, *bytes_of, span),
            VerbKind::Summarize => self.summarize(plan, span),
            VerbKind::As(name) => {
                self.build(span, || LogicalPlanBuilder::from(plan).alias(name.text.as_str())?.build())
            }
            VerbKind::Room(call) => {
                let missing = || vec![self.error(Code::Unsupported, format!("no room for `{}`", call.keyword), span)];
                self.room_of(verb).ok_or_else(missing)?.bind(self, plan, call)
            }
        }
    }

    fn filter(&self, plan: LogicalPlan, condition: Slice) -> Bound<LogicalPlan> {
        let expr = self.expr(&plan, condition)?;
        let planned = self.check(&plan, &expr, condition.span)?;
        self.refuse_other_rows(&plan, &expr, &planned, condition.span, "WHERE")?;
        match planned.get_type(plan.schema()) {
            Ok(DataType::Boolean | DataType::Null) => {}
            Ok(other) => {
                return Err(vec![
                    self.error(
                        Code::Type,
                        format!("WHERE needs a condition, this is {}", type_name(&other)),
                        condition.span,
                    )
                    .help("compare it with something: … > 0, … = 'en', … IS NOT NULL"),
                ]);
            }
            Err(error) => return Err(self.blame().explain(error, condition.span)),
        }
        self.note_presets(&plan, condition);
        self.build(condition.span, || LogicalPlanBuilder::from(plan).filter(planned)?.build())
    }

    /// Aggregates and window functions need more than the row that a verb looks at.
    pub(super) fn refuse_other_rows(
        &self,
        plan: &LogicalPlan,
        expr: &SqlExpr,
        planned: &Expr,
        span: Span,
        verb: &str,
    ) -> Bound<()> {
        let (what, place, help) = if !find_aggregate_exprs(std::iter::once(planned)).is_empty() {
            let place = self.part(plan, expr, span, |part| matches!(part, Expr::AggregateFunction(_)));
            ("an aggregate", place, format!("AGGREGATE first, then {verb} on its result"))
        } else if !find_window_exprs(std::iter::once(planned)).is_empty() {
            let place = self.part(plan, expr, span, |part| matches!(part, Expr::WindowFunction(_)));
            ("a window function", place, format!("EXTEND with it first, then {verb} on the new column"))
        } else {
            return Ok(());
        };
        let message = format!("{what} cannot stand in {verb}, which looks at one row at a time");
        Err(vec![self.error(Code::Unsupported, message, place).help(help)])
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

    /// `DISTINCT ON (keys)`: the first row of each, in the order of the rows (`KeepInputOrder`).
    fn distinct_on(&self, plan: LogicalPlan, on: &[Slice], span: Span) -> Bound<LogicalPlan> {
        let mut keys = Vec::new();
        for key in on {
            let expr = self.expr(&plan, *key)?;
            keys.push(self.check(&plan, &expr, key.span)?);
        }
        let columns = plan.schema().columns().into_iter().map(Expr::Column).collect();
        self.build(span, || LogicalPlanBuilder::from(plan).distinct_on(keys, columns, None)?.build())
    }

    /// The room of a verb, if it has one.
    fn room_of(&self, verb: &Verb) -> Option<&'static dyn Room> {
        let VerbKind::Room(call) = &verb.kind else { return None };
        self.context.rooms.iter().find(|room| room.keyword() == call.keyword).copied()
    }

    /// The number that a part of a verb stands for, as text.
    pub(crate) fn number(&self, plan: &LogicalPlan, slice: Slice, keyword: &str) -> Bound<String> {
        let expr = self.expr(plan, slice)?;
        number_of(&expr).ok_or_else(|| vec![self.error(Code::Type, format!("{keyword} takes a number"), slice.span)])
    }

    /// The seed of a verb that decides by chance, 0 unless it is given.
    pub(crate) fn seed(&self, plan: &LogicalPlan, call: &VerbCall) -> Bound<u64> {
        let Some(slice) = call.find("seed").and_then(|seed| seed.slice("seed_value")) else { return Ok(0) };
        let wrong = |_| vec![self.error(Code::OptionValue, "the seed is a whole number, 0 or more", slice.span)];
        self.number(plan, slice, &call.keyword)?.parse().map_err(wrong)
    }

    fn query(&self, plan: LogicalPlan, items: Vec<SelectItem>) -> Query {
        select_from(named_table(self.relations.pipe(plan), None), items)
    }

    pub(super) fn select(
        &self,
        plan: LogicalPlan,
        items: Vec<SelectItem>,
        span: Span,
        change: impl FnOnce(&mut Select),
    ) -> Bound<LogicalPlan> {
        let mut query = self.query(plan, items);
        if let SetExpr::Select(select) = query.body.as_mut() {
            change(select);
        }
        self.plan_query(query, span)
    }

    pub(super) fn plan_query(&self, query: Query, span: Span) -> Bound<LogicalPlan> {
        let catalog = self.catalog();
        let statement = DFStatement::Statement(Box::new(Statement::Query(Box::new(query))));
        planner(&catalog).statement_to_plan(statement).map_err(|error| self.blame().explain(error, span))
    }

    fn select_items(&self, plan: &LogicalPlan, slices: &[Slice]) -> Bound<Vec<SelectItem>> {
        let mut items = self.checked_items(plan, slices)?;
        drop_repeated_provenance(&mut items);
        Ok(items)
    }

    fn checked_items(&self, plan: &LogicalPlan, slices: &[Slice]) -> Bound<Vec<SelectItem>> {
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
        self.refuse_null_comparisons(&item)?;
        self.rewrite(&mut item)?;
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &item else { return Ok(item) };
        let is_column = matches!(self.check(plan, expr, slice.span)?, Expr::Column(_));
        Ok(if is_column { item } else { named_as_written(item, self.source.slice(slice.span)) })
    }

    /// An expression, rewritten; its types are checked against the plan's columns.
    pub(crate) fn expr(&self, plan: &LogicalPlan, slice: Slice) -> Bound<SqlExpr> {
        let mut expr = self.reader().expr(slice.span).map_err(|problem| vec![problem])?;
        self.refuse_null_comparisons(&expr)?;
        self.rewrite(&mut expr)?;
        self.check(plan, &expr, slice.span)?;
        Ok(expr)
    }

    pub(crate) fn check(&self, plan: &LogicalPlan, expr: &SqlExpr, span: Span) -> Bound<Expr> {
        self.refuse_comparisons(expr, plan.schema(), span).map_err(|problem| vec![problem])?;
        let catalog = self.catalog();
        self.blame().check(&planner(&catalog), self.context.state.config_options(), expr, plan.schema(), span)
    }

    /// The place of the first part of an expression that is of a kind.
    fn part(&self, plan: &LogicalPlan, expr: &SqlExpr, span: Span, is: impl Fn(&Expr) -> bool) -> Span {
        let catalog = self.catalog();
        let planner = planner(&catalog);
        let place = parts(expr).into_iter().find_map(|part| {
            let planned = planner.sql_to_expr(part.clone(), plan.schema(), &mut PlannerContext::new()).ok()?;
            is(&planned).then(|| self.positions.find(part.span()))?
        });
        // A part that came out of a macro is reported where the macro is used.
        place.filter(|place| place.call.is_none()).map_or(span, |place| place.span)
    }

    /// `ORDER BY ALL` is no list: with other keys, `ALL` could only be a column.
    fn refuse_all(&self, plan: &LogicalPlan, key: &SqlExpr, span: Span) -> Bound<()> {
        match key {
            SqlExpr::Identifier(word)
                if is_all(word) && !plan.schema().has_column_with_unqualified_name(&word.value) =>
            {
                Err(vec![
                    self.error(Code::Unsupported, "ALL stands alone: it sorts by every column in turn", span)
                        .help("write ORDER BY ALL, or name the columns to sort by"),
                ])
            }
            _ => Ok(()),
        }
    }

    fn whole_number(&self, plan: &LogicalPlan, slice: Slice) -> Bound<Expr> {
        let expr = self.expr(plan, slice)?;
        let planned = self.check(plan, &expr, slice.span)?;
        if !planned.column_refs().is_empty() {
            return Err(vec![
                self.error(
                    Code::Type,
                    "a number of rows is the same for all rows, so it can read no column",
                    slice.span,
                )
                .help("write a number, or a parameter: LIMIT $n"),
            ]);
        }
        match planned.get_type(plan.schema()) {
            Ok(kind) if kind.is_integer() && is_negative(self.context.state, plan.schema(), planned.clone()) => {
                Err(vec![self.error(Code::OptionValue, NEGATIVE_ROWS, slice.span)])
            }
            Ok(kind) if kind.is_integer() => Ok(planned),
            _ => Err(vec![self.error(Code::Type, "a whole number is expected here", slice.span)]),
        }
    }

    pub(super) fn build(
        &self,
        span: Span,
        build: impl FnOnce() -> datafusion::common::Result<LogicalPlan>,
    ) -> Bound<LogicalPlan> {
        build().map_err(|error| self.blame().explain(error, span))
    }

    pub(crate) fn error(&self, code: Code, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic::error(code, message, self.source, span)
    }
}

/// Columns that were replaced can still be named with their table.
fn qualified_as_before(plan: LogicalPlan, before: &DFSchema) -> datafusion::common::Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = plan else { return Ok(plan) };
    let qualified = projection.expr.into_iter().map(|expr| match expr {
        Expr::Alias(mut alias) if alias.relation.is_none() => {
            alias.relation = match before.columns_with_unqualified_name(&alias.name).as_slice() {
                [column] => column.relation.clone(),
                _ => None,
            };
            Expr::Alias(alias)
        }
        other => other,
    });
    Ok(LogicalPlan::Projection(Projection::try_new(qualified.collect(), projection.input)?))
}

/// `ALL` as a word of the language; `"ALL"` is a column.
fn is_all(word: &Ident) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("all")
}

/// An Arrow type in a user's words.
pub fn type_name(kind: &DataType) -> String {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_string(),
        kind if kind.is_integer() => "a whole number".to_string(),
        kind if kind.is_floating() => "a number".to_string(),
        DataType::Struct(_) => "a struct".to_string(),
        DataType::List(_) | DataType::LargeList(_) => "a list".to_string(),
        other => format!("of type {other}"),
    }
}
