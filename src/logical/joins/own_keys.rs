//! Keys that are named with their table, in a tree of SQL.

use super::{HIDDEN, OwnKey, last_merging, merging};
use crate::diag::{Code, Diagnostic};
use crate::logical::catalog::Relations;
use crate::logical::tree::object_name;
use datafusion::common::JoinType;
use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, Expr as SqlExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectNamePart, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Spanned, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use std::ops::ControlFlow;

/// Gives every key that is named with its table a column of its own, where the join would not leave one.
pub fn name_own_keys<T: VisitMut>(tree: &mut T, relations: &Relations) -> Vec<Diagnostic> {
    let mut joins = UsingJoins { relations, problems: vec![] };
    let _ = tree.visit(&mut joins);
    joins.problems
}

struct UsingJoins<'a> {
    relations: &'a Relations,
    problems: Vec<Diagnostic>,
}

impl VisitorMut for UsingJoins<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        // ORDER BY belongs to the query, what it names to the SELECT.
        if let (SetExpr::Select(select), Some(order_by)) = (query.body.as_mut(), &mut query.order_by) {
            let mut wanted = vec![];
            let lost = lost_keys(&mut select.from, &mut wanted);
            let _ = order_by.visit(&mut References::new(&lost, &mut wanted));
            ask_for(&mut select.from, &wanted);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter().for_each(|tables| self.refuse_natural(tables));
        // A condition of a join may name only what the joins before it have: those are looked at one by one.
        let mut from = std::mem::take(&mut select.from);
        let mut wanted = vec![];
        let lost = lost_keys(&mut from, &mut wanted);
        if !lost.is_empty() {
            let names = OutputNames::of(&select.projection);
            names.keep_through(&mut select.projection, &lost, &mut wanted);
            let _ = select.visit(&mut References::new(&lost, &mut wanted));
            open_wildcards(&mut select.projection, &names, &lost, &mut wanted);
            let hidden = ask_for(&mut from, &wanted);
            leave_out(&mut select.projection, hidden);
        }
        from.iter_mut().for_each(bracket);
        select.from = from;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            self.refuse_natural(table_with_joins);
        }
        ControlFlow::Continue(())
    }
}

impl UsingJoins<'_> {
    fn refuse_natural(&mut self, tables: &TableWithJoins) {
        for join in &tables.joins {
            let (JoinOperator::Left(JoinConstraint::Natural)
            | JoinOperator::LeftOuter(JoinConstraint::Natural)
            | JoinOperator::Right(JoinConstraint::Natural)
            | JoinOperator::RightOuter(JoinConstraint::Natural)
            | JoinOperator::FullOuter(JoinConstraint::Natural)) = &join.join_operator
            else {
                continue;
            };
            let message = "NATURAL can stand before an inner JOIN only";
            let help = "name the keys with USING (…)";
            let problem = self.relations.place(join.relation.span()).error(Code::Unsupported, message);
            self.problems.push(problem.help(help));
        }
    }
}

/// The keys that a SELECT's joins do not leave; those that conditions of joins name are replaced already.
fn lost_keys(from: &mut [TableWithJoins], wanted: &mut Vec<(OwnKey, SqlSpan)>) -> Vec<OwnKey> {
    let mut lost = vec![];
    for tables in from {
        each_join(tables, &mut lost, &mut |join, lost, _| {
            if let Some(JoinConstraint::On(condition)) = constraint_of(join) {
                let _ = condition.visit(&mut References::new(lost, wanted));
            }
        });
    }
    lost
}

/// Asks the joins that lose keys for columns that hold them. Gives all such columns of the joins.
fn ask_for(from: &mut [TableWithJoins], wanted: &[(OwnKey, SqlSpan)]) -> Vec<Ident> {
    let mut asked = vec![];
    for tables in from {
        each_join(tables, &mut vec![], &mut |join, _, newly_lost| {
            let Some(JoinConstraint::Using(keys)) = constraint_of(join) else { return };
            for (key, span) in wanted.iter().filter(|(key, _)| newly_lost.contains(key)) {
                let hidden = object_name(hidden_ident(key, *span));
                if !keys.contains(&hidden) {
                    keys.push(hidden);
                }
            }
            let idents = keys.iter().filter_map(|key| key.0.last()?.as_ident());
            asked.extend(idents.filter(|key| key.value.starts_with(HIDDEN)).cloned());
        });
    }
    asked
}

/// What is found in expressions: keys that joins do not leave, each replaced by the column that holds it.
struct References<'a> {
    lost: &'a [OwnKey],
    wanted: &'a mut Vec<(OwnKey, SqlSpan)>,
    /// Tables of the queries inside the expression, which hide those outside.
    inner: Vec<Vec<String>>,
    n_found: usize,
}

impl<'a> References<'a> {
    fn new(lost: &'a [OwnKey], wanted: &'a mut Vec<(OwnKey, SqlSpan)>) -> Self {
        Self { lost, wanted, inner: vec![], n_found: 0 }
    }

    fn is_hidden(&self, table: &str) -> bool {
        self.inner.iter().flatten().any(|inner| inner == table)
    }
}

impl VisitorMut for References<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let tables = match query.body.as_ref() {
            SetExpr::Select(select) => select.from.iter().flat_map(tables_of).collect(),
            _ => vec![],
        };
        self.inner.push(tables);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.inner.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.inner.push(select.from.iter().flat_map(tables_of).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.inner.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<()> {
        let SqlExpr::CompoundIdentifier(parts) = expr else { return ControlFlow::Continue(()) };
        let [table, column] = parts.as_slice() else { return ControlFlow::Continue(()) };
        let key = OwnKey { table: table.value.clone(), column: column.value.clone() };
        if self.lost.contains(&key) && !self.is_hidden(&key.table) {
            let span = expr.span();
            *expr = SqlExpr::Identifier(hidden_ident(&key, span));
            want(self.wanted, key, span);
            self.n_found += 1;
        }
        ControlFlow::Continue(())
    }
}

fn want(wanted: &mut Vec<(OwnKey, SqlSpan)>, key: OwnKey, span: SqlSpan) {
    if !wanted.iter().any(|(known, _)| *known == key) {
        wanted.push((key, span));
    }
}

fn hidden_ident(key: &OwnKey, span: SqlSpan) -> Ident {
    Ident::with_quote_and_span('"', span, key.hidden_name())
}

/// The names of a SELECT's columns, as far as they can be read off.
struct OutputNames {
    names: Vec<String>,
    n_wildcards: usize,
}

impl OutputNames {
    fn of(items: &[SelectItem]) -> Self {
        let name = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(SqlExpr::Identifier(name)) => Some(name.value.clone()),
            SelectItem::UnnamedExpr(SqlExpr::CompoundIdentifier(parts)) => Some(parts.last()?.value.clone()),
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        };
        let is_wildcard =
            |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        let n_wildcards = items.iter().filter(|item| is_wildcard(item)).count();
        Self { names: items.iter().filter_map(name).collect(), n_wildcards }
    }

    /// Replaces keys in columns without a name, and gives these the name that they have anyway.
    fn keep_through(&self, items: &mut [SelectItem], lost: &[OwnKey], wanted: &mut Vec<(OwnKey, SqlSpan)>) {
        for item in items {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let name = self.keep(expr);
            let mut references = References::new(lost, wanted);
            let _ = expr.visit(&mut references);
            if references.n_found > 0 {
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', name) };
            }
        }
    }

    /// The name that an expression's column has anyway: `k` for `b.k`, unless another column could be called so.
    fn keep(&self, expr: &SqlExpr) -> String {
        match expr {
            SqlExpr::CompoundIdentifier(parts) if let Some(column) = parts.last() => {
                let n_named = self.names.iter().filter(|name| **name == column.value).count();
                if self.n_wildcards > 0 || n_named > 1 { plain(parts) } else { column.value.clone() }
            }
            other => other.to_string(),
        }
    }

    /// The name of a key that `b.*` has.
    fn keep_of_wildcard(&self, key: &OwnKey) -> String {
        if self.n_wildcards > 1 || self.names.contains(&key.column) {
            format!("{}.{}", key.table, key.column)
        } else {
            key.column.clone()
        }
    }
}

fn plain(parts: &[Ident]) -> String {
    parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
}

/// `b.*` has the key of `b`.
fn open_wildcards(
    items: &mut Vec<SelectItem>,
    names: &OutputNames,
    lost: &[OwnKey],
    wanted: &mut Vec<(OwnKey, SqlSpan)>,
) {
    let mut opened = vec![];
    for item in items.drain(..) {
        if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = &item
            && let [ObjectNamePart::Identifier(table)] = name.0.as_slice()
        {
            for key in lost.iter().filter(|key| key.table == table.value) {
                want(wanted, key.clone(), table.span);
                opened.push(SelectItem::ExprWithAlias {
                    expr: SqlExpr::Identifier(hidden_ident(key, table.span)),
                    alias: Ident::with_quote('"', names.keep_of_wildcard(key)),
                });
            }
        }
        opened.push(item);
    }
    *items = opened;
}

/// `*` has none of the columns that hold keys.
fn leave_out(items: &mut [SelectItem], mut hidden: Vec<Ident>) {
    let Some(first_element) = hidden.pop() else { return };
    for item in items {
        let SelectItem::Wildcard(options) = item else { continue };
        match &mut options.opt_except {
            Some(except) => {
                except.additional_elements.push(first_element.clone());
                except.additional_elements.extend(hidden.clone());
            }
            none => {
                let additional_elements = hidden.clone();
                *none = Some(ExceptSelectItem { first_element: first_element.clone(), additional_elements });
            }
        }
    }
}

/// Is given a join, the keys that those before it lost, and those that it loses.
type JoinVisitor<'v> = dyn FnMut(&mut Join, &[OwnKey], &[OwnKey]) + 'v;

/// Calls `visit` with each join, from the left.
fn each_join(tables: &mut TableWithJoins, lost: &mut Vec<OwnKey>, visit: &mut JoinVisitor<'_>) {
    let mut left = factor_tables(&tables.relation);
    if let TableFactor::NestedJoin { table_with_joins, .. } = &mut tables.relation {
        each_join(table_with_joins, lost, visit);
    }
    for join in &mut tables.joins {
        if let TableFactor::NestedJoin { table_with_joins, .. } = &mut join.relation {
            each_join(table_with_joins, lost, visit);
        }
        let right = factor_tables(&join.relation);
        let mut newly_lost = vec![];
        if let Some((join_type, keys)) = merging(join) {
            // The join leaves the key of the side whose rows it has all of; after FULL, a column of neither.
            let losers = match join_type {
                JoinType::Right => left.clone(),
                JoinType::Full => left.iter().chain(&right).cloned().collect(),
                _ => right.clone(),
            };
            for table in losers {
                let own = |column: &Ident| OwnKey { table: table.clone(), column: column.value.clone() };
                let keys = keys.iter().filter(|key| !key.value.starts_with(HIDDEN)).map(|key| own(key));
                newly_lost.extend(keys.filter(|key| !lost.contains(key)));
            }
        }
        visit(join, lost, &newly_lost);
        lost.extend(newly_lost);
        left.extend(right);
    }
}

/// Puts the joins up to the last with `USING` into brackets, so that `Relations` is asked for them.
fn bracket(tables: &mut TableWithJoins) {
    let Some(last) = last_merging(tables) else { return };
    let after = tables.joins.split_off(last + 1);
    let inner = TableWithJoins { relation: tables.relation.clone(), joins: std::mem::take(&mut tables.joins) };
    tables.relation = TableFactor::NestedJoin { table_with_joins: Box::new(inner), alias: None };
    tables.joins = after;
}

/// The names that columns of a FROM can be qualified by.
fn tables_of(tables: &TableWithJoins) -> Vec<String> {
    let joined = tables.joins.iter().map(|join| &join.relation);
    std::iter::once(&tables.relation).chain(joined).flat_map(factor_tables).collect()
}

fn factor_tables(factor: &TableFactor) -> Vec<String> {
    let name = match factor {
        TableFactor::NestedJoin { table_with_joins, alias: None } => return tables_of(table_with_joins),
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(alias.name.value.clone()),
        TableFactor::Table { name, alias: None, .. } => match name.0.last() {
            Some(ObjectNamePart::Identifier(ident)) => Some(ident.value.clone()),
            _ => None,
        },
        _ => None,
    };
    name.into_iter().collect()
}

fn constraint_of(join: &mut Join) -> Option<&mut JoinConstraint> {
    match &mut join.join_operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::LeftAnti(constraint) => Some(constraint),
        _ => None,
    }
}
