//! Pieces of SQL's syntax tree that verbs are made of.

use crate::sources::{FILE_COLUMN, ROW_COLUMN};
use crate::syntax::ast::Name;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, GroupByExpr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectFlavor, SelectItem, SetExpr,
    TableAlias, TableFactor, TableWithJoins, WildcardAdditionalOptions,
};

/// A name, with its case kept.
pub fn ident(name: &Name) -> Ident {
    Ident::with_quote('"', &name.text)
}

/// A name of one part.
pub fn object_name(ident: Ident) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(ident)])
}

/// `*`
pub fn all_columns() -> SelectItem {
    SelectItem::Wildcard(WildcardAdditionalOptions::default())
}

/// A table by name.
pub fn named_table(name: ObjectName, alias: Option<TableAlias>) -> TableFactor {
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

/// `SELECT projection FROM relation`
pub fn select_from(relation: TableFactor, projection: Vec<SelectItem>) -> Query {
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
    plain_query(Box::new(SetExpr::Select(Box::new(select))))
}

/// A query that is its body and nothing else.
pub fn plain_query(body: Box<SetExpr>) -> Query {
    Query {
        with: None,
        body,
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

/// `SELECT *, _file`: naming `_file` has made it a column of the source, so `*` has it already.
pub fn drop_repeated_provenance(items: &mut Vec<SelectItem>) {
    if !items.iter().any(|item| matches!(item, SelectItem::Wildcard(_))) {
        return;
    }
    items.retain(|item| match item {
        SelectItem::UnnamedExpr(SqlExpr::Identifier(name)) => ![FILE_COLUMN, ROW_COLUMN].contains(&name.value.as_str()),
        _ => true,
    });
}
