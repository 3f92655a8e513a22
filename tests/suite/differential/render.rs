//! A pipeline as CQL text. Everything is in parentheses, so that no precedence has to be known.

use super::query::*;

/// What stands in the text for each table: a file in quotes or a name that a `LET` gave.
pub struct Places<'a>(pub &'a [String]);

impl Places<'_> {
    pub fn pipeline(&self, pipeline: &Pipeline) -> String {
        let verbs = pipeline.verbs.iter().map(|verb| format!(" |> {}", self.verb(verb)));
        format!("FROM {}{}", self.source(&pipeline.from), verbs.collect::<String>())
    }

    fn source(&self, source: &Source) -> String {
        let alias = source.alias.as_ref().map(|alias| format!(" AS {alias}")).unwrap_or_default();
        match &source.kind {
            SourceKind::Table(table) => format!("{}{alias}", self.0[*table]),
            SourceKind::Pipeline(pipeline) => format!("({}){alias}", self.pipeline(pipeline)),
        }
    }

    fn verb(&self, verb: &Verb) -> String {
        match verb {
            Verb::Where(condition) => format!("WHERE {}", self.expr(condition)),
            Verb::Select { distinct, items } => {
                format!("SELECT {}{}", if *distinct { "DISTINCT " } else { "" }, self.items(items))
            }
            Verb::Extend(items) => format!("EXTEND {}", self.items(items)),
            Verb::Windows(items) => {
                format!("EXTEND {}", list(items, |(window, name)| format!("{} AS {name}", self.window(window))))
            }
            Verb::Set(items) => format!("SET {}", list(items, |(name, expr)| format!("{name} = {}", self.expr(expr)))),
            Verb::Drop(names) => format!("DROP {}", names.join(", ")),
            Verb::Rename(names) => format!("RENAME {}", list(names, |(from, to)| format!("{from} AS {to}"))),
            Verb::Aggregate { items, groups } => {
                let items = list(items, |(aggregate, name)| format!("{} AS {name}", self.aggregate(aggregate)));
                let by = if groups.is_empty() { String::new() } else { format!("GROUP BY {}", self.items(groups)) };
                format!("AGGREGATE {items} {by}").trim_end().to_string()
            }
            Verb::Join { kind, source, condition } => {
                let kind = match kind {
                    JoinKind::Inner => "",
                    JoinKind::Left => "LEFT ",
                    JoinKind::Right => "RIGHT ",
                    JoinKind::Full => "FULL ",
                    JoinKind::Semi => "SEMI ",
                    JoinKind::Anti => "ANTI ",
                    JoinKind::Cross => "CROSS ",
                };
                let condition = match condition {
                    JoinCondition::None => String::new(),
                    JoinCondition::On(condition) => format!(" ON {}", self.expr(condition)),
                    JoinCondition::Using(names) => format!(" USING ({})", names.join(", ")),
                };
                format!("{kind}JOIN {}{condition}", self.source(source))
            }
            Verb::SetOperation { kind, all, source } => {
                let kind = match kind {
                    SetKind::Union => "UNION",
                    SetKind::Intersect => "INTERSECT",
                    SetKind::Except => "EXCEPT",
                };
                format!("{kind}{} {}", if *all { " ALL" } else { "" }, self.source(source))
            }
            Verb::OrderBy(order) => format!("ORDER BY {}", self.orders(order)),
            Verb::Limit { count: Some(count), offset: 0 } => format!("LIMIT {count}"),
            Verb::Limit { count: Some(count), offset } => format!("LIMIT {count} OFFSET {offset}"),
            Verb::Limit { count: None, offset } => format!("OFFSET {offset}"),
            Verb::Distinct => "DISTINCT".to_string(),
            Verb::DistinctOn(keys) => format!("DISTINCT ON ({})", self.exprs(keys)),
            Verb::Dedup { on, keep, by, cluster_size, drops } => {
                let keep = match keep {
                    Keep::First if by.is_empty() => "",
                    Keep::First => " KEEP FIRST",
                    Keep::Last => " KEEP LAST",
                    Keep::None => " KEEP NONE",
                };
                let by = if by.is_empty() { String::new() } else { format!(" BY {}", self.orders(by)) };
                let size = cluster_size.as_ref().map(|name| {
                    let drops = if *drops { "" } else { ", drop = false" };
                    format!(" WITH (cluster_size = '{name}'{drops})")
                });
                format!("DEDUP EXACT ON {}{keep}{by}{}", self.exprs(on), size.unwrap_or_default())
            }
            Verb::As(name) => format!("AS {name}"),
        }
    }

    fn items(&self, items: &[Item]) -> String {
        list(items, |item| match &item.alias {
            Some(alias) => format!("{} AS {alias}", self.expr(&item.expr)),
            None => self.expr(&item.expr),
        })
    }

    fn exprs(&self, exprs: &[Expr]) -> String {
        list(exprs, |expr| self.expr(expr))
    }

    fn orders(&self, orders: &[Order]) -> String {
        list(orders, |order| {
            let direction = if order.descending { " DESC" } else { "" };
            let nulls = match order.nulls_first {
                Some(true) => " NULLS FIRST",
                Some(false) => " NULLS LAST",
                None => "",
            };
            format!("{}{direction}{nulls}", self.expr(&order.expr))
        })
    }

    fn expr(&self, expr: &Expr) -> String {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match expr {
            Expr::Column(Name { qualifier: Some(qualifier), name }) => format!("{qualifier}.{name}"),
            Expr::Column(Name { qualifier: None, name }) => name.clone(),
            Expr::Literal(value) => value.literal(),
            Expr::Compare(comparison, left, right) => {
                let sign = match comparison {
                    Comparison::Equal => "=",
                    Comparison::Unequal => "<>",
                    Comparison::Less => "<",
                    Comparison::LessOrEqual => "<=",
                    Comparison::Greater => ">",
                    Comparison::GreaterOrEqual => ">=",
                };
                format!("({} {sign} {})", self.expr(left), self.expr(right))
            }
            Expr::Distinct { left, right, negated } => {
                format!("({} IS {}DISTINCT FROM {})", self.expr(left), not(negated), self.expr(right))
            }
            Expr::And(left, right) => format!("({} AND {})", self.expr(left), self.expr(right)),
            Expr::Or(left, right) => format!("({} OR {})", self.expr(left), self.expr(right)),
            Expr::Not(inner) => format!("(NOT {})", self.expr(inner)),
            Expr::IsNull { value, negated } => format!("({} IS {}NULL)", self.expr(value), not(negated)),
            Expr::IsTrue { value, negated } => format!("({} IS {}TRUE)", self.expr(value), not(negated)),
            Expr::Between { value, low, high, negated } => {
                format!("({} {}BETWEEN {} AND {})", self.expr(value), not(negated), self.expr(low), self.expr(high))
            }
            Expr::InList { value, list: values, negated } => {
                let values = list(values, |value| value.literal());
                format!("({} {}IN ({values}))", self.expr(value), not(negated))
            }
            Expr::InQuery { value, query, negated } => {
                format!("({} {}IN ({}))", self.expr(value), not(negated), self.subquery(query))
            }
            Expr::Exists { query, negated } => format!("({}EXISTS ({}))", not(negated), self.subquery(query)),
            Expr::Scalar(query) => format!("({})", self.subquery(query)),
            // Of numbers with and without a sign (`row_number()`), the quotient would be a decimal.
            Expr::Arithmetic(Operator::Divide, left, right) => {
                format!("(CAST({} AS BIGINT) / CAST({} AS BIGINT))", self.expr(left), self.expr(right))
            }
            Expr::Arithmetic(operator, left, right) => {
                let sign = match operator {
                    Operator::Add => "+",
                    Operator::Subtract => "-",
                    Operator::Multiply => "*",
                    Operator::Divide => "/",
                    Operator::Remainder => "%",
                };
                format!("({} {sign} {})", self.expr(left), self.expr(right))
            }
            Expr::Case { when, then, otherwise } => {
                let otherwise = otherwise.as_ref().map(|expr| format!(" ELSE {}", self.expr(expr)));
                format!("(CASE WHEN {} THEN {}{} END)", self.expr(when), self.expr(then), otherwise.unwrap_or_default())
            }
            Expr::Call(function, arguments) => {
                let text = self.exprs(arguments);
                match function {
                    Function::Upper => format!("upper({text})"),
                    Function::Length => format!("length({text})"),
                    Function::Concat => {
                        let parts: Vec<String> = arguments.iter().map(|argument| self.expr(argument)).collect();
                        format!("({})", parts.join(" || "))
                    }
                    Function::Coalesce => format!("coalesce({text})"),
                    Function::NullIf => format!("nullif({text})"),
                    Function::Abs => format!("abs({text})"),
                    Function::IsNumber => format!("regexp_like({text}, '^[0-9]+$')"),
                    Function::ToInt => format!("CAST({text} AS INT)"),
                }
            }
        }
    }

    fn subquery(&self, query: &Subquery) -> String {
        let what = match &query.what {
            Selected::Value(expr) => self.expr(expr),
            Selected::Aggregate(aggregate) => self.aggregate(aggregate),
        };
        let mut text = format!("SELECT {what} FROM {} AS {}", self.0[query.table], query.alias);
        if let Some(filter) = &query.filter {
            text += &format!(" WHERE {}", self.expr(filter));
        }
        if !query.order.is_empty() {
            text += &format!(" ORDER BY {}", self.orders(&query.order));
        }
        if let Some(limit) = query.limit {
            text += &format!(" LIMIT {limit}");
        }
        text
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let argument = aggregate.argument.as_ref().map_or("*".to_string(), |expr| self.expr(expr));
        let order = if aggregate.order.is_empty() {
            String::new()
        } else {
            format!(" ORDER BY {}", self.orders(&aggregate.order))
        };
        let filter = aggregate.filter.as_ref().map(|filter| format!(" FILTER (WHERE {})", self.expr(filter)));
        let filter = filter.unwrap_or_default();
        match aggregate.function {
            AggregateFunction::Count => format!("count({argument}){filter}"),
            AggregateFunction::CountDistinct => format!("count(DISTINCT {argument}){filter}"),
            AggregateFunction::Sum => format!("sum({argument}){filter}"),
            AggregateFunction::Min => format!("min({argument}){filter}"),
            AggregateFunction::Max => format!("max({argument}){filter}"),
            AggregateFunction::BoolAnd => format!("bool_and({argument}){filter}"),
            AggregateFunction::BoolOr => format!("bool_or({argument}){filter}"),
            AggregateFunction::First => format!("first_value({argument}{order}){filter}"),
            AggregateFunction::Last => format!("last_value({argument}{order}){filter}"),
            AggregateFunction::List => format!("array_to_string(array_agg({argument}{order}){filter}, ',', '_')"),
            AggregateFunction::DistinctList => {
                format!("array_to_string(array_agg(DISTINCT {argument} ORDER BY {argument}){filter}, ',', '_')")
            }
            AggregateFunction::Second => format!("nth_value({argument}, 2{order}){filter}"),
            AggregateFunction::Concat => format!("string_agg({argument}, '|'{order}){filter}"),
        }
    }

    fn window(&self, window: &Window) -> String {
        let call = match &window.function {
            WindowFunction::RowNumber => "row_number()".to_string(),
            WindowFunction::Rank => "rank()".to_string(),
            WindowFunction::DenseRank => "dense_rank()".to_string(),
            WindowFunction::Lag(expr, by) => format!("lag({}, {by})", self.expr(expr)),
            WindowFunction::Lead(expr, by) => format!("lead({}, {by})", self.expr(expr)),
            WindowFunction::Ntile(parts) => format!("ntile({parts})"),
            WindowFunction::Over(function, argument) => {
                let (function, argument, order) = (*function, argument.clone(), vec![]);
                self.aggregate(&Aggregate { function, argument, order, filter: None })
            }
        };
        let mut over = vec![];
        if !window.partition.is_empty() {
            over.push(format!("PARTITION BY {}", self.exprs(&window.partition)));
        }
        if !window.order.is_empty() {
            over.push(format!("ORDER BY {}", self.orders(&window.order)));
        }
        if let Some((before, after)) = window.rows {
            let bound = |rows: Option<usize>, side: &str| match rows {
                Some(0) => "CURRENT ROW".to_string(),
                Some(rows) => format!("{rows} {side}"),
                None => format!("UNBOUNDED {side}"),
            };
            over.push(format!("ROWS BETWEEN {} AND {}", bound(before, "PRECEDING"), bound(after, "FOLLOWING")));
        }
        format!("{call} OVER ({})", over.join(" "))
    }
}

fn list<T>(items: &[T], one: impl FnMut(&T) -> String) -> String {
    items.iter().map(one).collect::<Vec<_>>().join(", ")
}
