//! A pipeline as a tree: what the generator makes, the interpreter runs, and `render.rs` writes as CQL.

use super::values::Value;

/// A column as it is called in a query, or as it is known after a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub qualifier: Option<String>,
    pub name: String,
}

impl Name {
    pub fn bare(name: &str) -> Self {
        Self { qualifier: None, name: name.to_string() }
    }

    /// Whether a column of this name is meant by `called`.
    pub fn answers_to(&self, called: &Name) -> bool {
        self.name == called.name && (called.qualifier.is_none() || self.qualifier == called.qualifier)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    pub from: Source,
    pub verbs: Vec<Verb>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub kind: SourceKind,
    pub alias: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// The table of this number.
    Table(usize),
    Pipeline(Box<Pipeline>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    Where(Expr),
    Select {
        distinct: bool,
        items: Vec<Item>,
    },
    Extend(Vec<Item>),
    /// `EXTEND` with functions over several rows.
    Windows(Vec<(Window, String)>),
    Set(Vec<(String, Expr)>),
    Drop(Vec<String>),
    Rename(Vec<(String, String)>),
    Aggregate {
        items: Vec<(Aggregate, String)>,
        groups: Vec<Item>,
    },
    Join {
        kind: JoinKind,
        source: Source,
        condition: JoinCondition,
    },
    SetOperation {
        kind: SetKind,
        all: bool,
        source: Source,
    },
    OrderBy(Vec<Order>),
    Limit {
        count: Option<usize>,
        offset: usize,
    },
    Distinct,
    DistinctOn(Vec<Expr>),
    Dedup {
        on: Vec<Expr>,
        keep: Keep,
        by: Vec<Order>,
        cluster_size: Option<String>,
        /// With `drop = false` all rows stay.
        drops: bool,
    },
    As(String),
}

/// An expression and, unless it is a plain column, its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub expr: Expr,
    pub alias: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    pub expr: Expr,
    pub descending: bool,
    pub nulls_first: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
    Cross,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    Union,
    Intersect,
    Except,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    First,
    Last,
    None,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Column(Name),
    Literal(Value),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// `IS [NOT] DISTINCT FROM`: nulls are equal to each other.
    Distinct {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull {
        value: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE`: never null.
    IsTrue {
        value: Box<Expr>,
        negated: bool,
    },
    Between {
        value: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        value: Box<Expr>,
        list: Vec<Value>,
        negated: bool,
    },
    InQuery {
        value: Box<Expr>,
        query: Box<Subquery>,
        negated: bool,
    },
    Exists {
        query: Box<Subquery>,
        negated: bool,
    },
    Scalar(Box<Subquery>),
    Arithmetic(Operator, Box<Expr>, Box<Expr>),
    Case {
        when: Box<Expr>,
        then: Box<Expr>,
        otherwise: Option<Box<Expr>>,
    },
    Call(Function, Vec<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Upper,
    Length,
    Concat,
    Coalesce,
    NullIf,
    Abs,
    /// Whether a text is a whole number: the guard of the next.
    IsNumber,
    ToInt,
}

/// `SELECT what FROM table AS alias WHERE filter ORDER BY order LIMIT limit`, in parentheses. The filter may name
/// columns from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    pub table: usize,
    pub alias: String,
    pub what: Selected,
    pub filter: Option<Expr>,
    pub order: Vec<Order>,
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Selected {
    Value(Expr),
    Aggregate(Aggregate),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub function: AggregateFunction,
    /// Not there for `count(*)`.
    pub argument: Option<Expr>,
    pub order: Vec<Order>,
    pub filter: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    Count,
    CountDistinct,
    Sum,
    Min,
    Max,
    First,
    Last,
    /// `array_agg`, written as a text so that it is a value as others.
    List,
    /// `string_agg`.
    Concat,
    BoolAnd,
    BoolOr,
    /// `array_agg(DISTINCT …)`, which can only be ordered by its values.
    DistinctList,
    /// `nth_value(…, 2)`.
    Second,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub function: WindowFunction,
    pub partition: Vec<Expr>,
    pub order: Vec<Order>,
    /// `ROWS BETWEEN n PRECEDING AND m FOLLOWING`; `None` is unbounded.
    pub rows: Option<(Option<usize>, Option<usize>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    Lag(Expr, usize),
    Lead(Expr, usize),
    Ntile(usize),
    Over(AggregateFunction, Option<Expr>),
}
