//! The tree of a CQL text: statements and verbs, with the places they stand in.
//!
//! Expressions are not trees here: they stay [`Slice`]s of the text, which the binder hands to the SQL
//! expression parser. The tree therefore knows no operator and no function.

use crate::diag::{SourceText, Span};

/// A parsed text.
#[derive(Debug, Clone)]
pub struct Script {
    /// The text all spans point into.
    pub source: SourceText,
    /// Its statements, in order.
    pub statements: Vec<Statement>,
}

/// A piece of the text that SQL's parser will read: an expression, a select item, a relation, a statement.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// Where it stands, without surrounding white space and comments.
    pub span: Span,
}

/// A name as written, unquoted (`"a b"` and `` `a b` `` lose their quotes).
#[derive(Debug, Clone)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// One statement, without its `;`.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Debug, Clone)]
pub enum StatementKind {
    /// `SET name = value`
    Set {
        /// Possibly dotted: `datafusion.execution.batch_size`.
        name: Name,
        /// A literal or a bare word.
        value: OptionValue,
        /// Where the value stands.
        value_span: Span,
    },
    /// `LET name = pipeline`
    Let {
        /// The table's name for the rest of the session.
        name: Name,
        /// What it stands for.
        pipeline: Pipeline,
    },
    /// `DEFINE name(params) AS expression`
    Define {
        /// The macro's name.
        name: Name,
        /// Its parameters, each perhaps with a default (`max => 3`).
        params: Vec<MacroParam>,
        /// Its body.
        body: Slice,
    },
    /// `EXPLAIN [ANALYZE] [VERBOSE] statement`
    Explain {
        /// Run it and show what happened.
        analyze: bool,
        /// Show the plan after each rule.
        verbose: bool,
        /// What to explain: a pipeline or an SQL query.
        statement: Box<Statement>,
    },
    /// `DESCRIBE pipeline | name | 'file'`: the columns and their types.
    Describe(Pipeline),
    /// A pipeline to run.
    Query(Pipeline),
    /// Any other statement: SQL, for DataFusion.
    Sql(Slice),
}

/// A parameter of a macro.
#[derive(Debug, Clone)]
pub struct MacroParam {
    /// Its name.
    pub name: Name,
    /// Its value where the caller gives none.
    pub default: Option<Slice>,
}

/// A source and the verbs applied to it.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Where the rows come from.
    pub from: Source,
    /// What happens to them, in order.
    pub verbs: Vec<Verb>,
    /// Where the whole stands.
    pub span: Span,
}

/// Where rows come from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The rows.
    pub kind: SourceKind,
    /// `AS name`, for the kinds that are not SQL (SQL relations keep their alias in the slice).
    pub alias: Option<Name>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of source.
#[derive(Debug, Clone)]
pub enum SourceKind {
    /// `'path' [WITH (options)]`: a file, glob, folder, or `'-'`.
    File {
        /// The path, without quotes.
        path: Name,
        /// How to read it.
        options: Vec<OptionItem>,
    },
    /// `( FROM … |> … )`
    Pipeline(Box<Pipeline>),
    /// Anything else that SQL takes after FROM: a name, a table function, a subquery, with its alias.
    Relation(Slice),
}

/// One step of a pipeline.
#[derive(Debug, Clone)]
pub struct Verb {
    /// What it does.
    pub kind: VerbKind,
    /// Where its operators are to run.
    pub hint: Option<Hint>,
    /// Where it stands, from its keyword to its end, without the `|>`.
    pub span: Span,
}

/// `[ON GPU | ON CPU] [WITH (gpus = 0.25, …)]` after a verb's expressions.
#[derive(Debug, Clone)]
pub struct Hint {
    /// The side that is asked for.
    pub device: Option<HintDevice>,
    /// What the operators may use.
    pub options: Vec<OptionItem>,
    /// Where it stands.
    pub span: Span,
}

/// A side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintDevice {
    /// `ON CPU`
    Cpu,
    /// `ON GPU`
    Gpu,
}

/// The verbs.
#[derive(Debug, Clone)]
pub enum VerbKind {
    /// `WHERE condition`
    Where(Slice),
    /// `SELECT [DISTINCT] items`
    Select {
        /// Drop equal rows.
        distinct: bool,
        /// Each `expression [AS name]`, `*`, `t.*`, `* EXCEPT (…)`.
        items: Vec<Slice>,
    },
    /// `EXTEND items`: the columns there are, and these.
    Extend(Vec<Slice>),
    /// `SET column = expression, …`
    Set(Vec<Assignment>),
    /// `DROP columns`
    Drop(Vec<Name>),
    /// `RENAME old AS new, …`
    Rename(Vec<Renaming>),
    /// `AGGREGATE items [GROUP BY items]`
    Aggregate {
        /// Each `aggregate(…) [AS name]`; empty only with `group_by`.
        items: Vec<Slice>,
        /// Each `expression [AS name]`.
        group_by: Vec<Slice>,
    },
    /// `[INNER|LEFT|RIGHT|FULL|CROSS|LEFT SEMI|LEFT ANTI …] JOIN source ON … | USING (…)`
    Join {
        /// Which rows stay.
        kind: JoinKind,
        /// The other side.
        source: Source,
        /// How rows meet.
        condition: JoinCondition,
    },
    /// `UNION|INTERSECT|EXCEPT [ALL|DISTINCT] source, …`
    SetOperation {
        /// Which.
        kind: SetOperationKind,
        /// Keep equal rows.
        all: bool,
        /// Columns meet by their names instead of their places; one that a side lacks is null there.
        by_name: bool,
        /// The other sides.
        sources: Vec<Source>,
    },
    /// `ORDER BY items`
    OrderBy(Vec<Slice>),
    /// `LIMIT n [OFFSET m]` or `OFFSET m`
    Limit {
        /// How many rows at most.
        count: Option<Slice>,
        /// How many rows to pass over first.
        offset: Option<Slice>,
    },
    /// `DISTINCT [ON (items)]`
    Distinct {
        /// Columns that make rows equal; empty: all.
        on: Vec<Slice>,
    },
    /// `SWEEP expression >= low TO high STEP step, … [BYTES OF text]`
    Sweep {
        /// Each with its own result rows, in this order.
        sweeps: Vec<Sweep>,
        /// The text whose bytes are counted, if it is not `text`.
        bytes_of: Option<Slice>,
    },
    /// `SUMMARIZE`: a row for each column.
    Summarize,
    /// `AS name`
    As(Name),
    /// A verb with a folder of its own.
    Room(VerbCall),
}

/// `column = expression`
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The column.
    pub column: Name,
    /// Its new value.
    pub value: Slice,
}

/// `old AS new`
#[derive(Debug, Clone)]
pub struct Renaming {
    /// The column.
    pub from: Name,
    /// Its new name.
    pub to: Name,
}

/// Which rows a join keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs only.
    Inner,
    /// All of the left.
    Left,
    /// All of the right.
    Right,
    /// All of both.
    Full,
    /// Each with each.
    Cross,
    /// Left rows that have a partner.
    LeftSemi,
    /// Left rows that have none.
    LeftAnti,
}

/// How rows meet in a join.
#[derive(Debug, Clone)]
pub enum JoinCondition {
    /// `ON condition`
    On(Slice),
    /// `USING (columns)`
    Using(Vec<Name>),
    /// `CROSS JOIN`
    None,
}

/// The set operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperationKind {
    /// Rows of any side.
    Union,
    /// Rows of all sides.
    Intersect,
    /// Rows of the first side only.
    Except,
}

/// `expression >= low TO high STEP step`
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    /// What is compared.
    pub value: Slice,
    /// `>=`, `>`, `<=` or `<`.
    pub comparison: Slice,
    /// The first threshold.
    pub low: Slice,
    /// Where the thresholds end.
    pub high: Slice,
    /// How far one is from the next.
    pub step: Slice,
}

/// A verb with a folder of its own (`src/verbs/`), as the grammar found it.
#[derive(Debug, Clone)]
pub struct VerbCall {
    /// Its word, in capitals.
    pub keyword: String,
    /// What `WITH (…)` says.
    pub options: Vec<OptionItem>,
    /// The verb as a whole.
    pub part: Part,
}

impl std::ops::Deref for VerbCall {
    type Target = Part;

    fn deref(&self) -> &Part {
        &self.part
    }
}

/// What a rule of the grammar matched.
#[derive(Debug, Clone)]
pub struct Part {
    /// The name of the rule.
    pub rule: String,
    /// Where it stands.
    pub span: Span,
    /// The text without its quotes.
    pub text: String,
    /// What the rules inside matched, in their order.
    pub parts: Vec<Part>,
}

impl Part {
    /// The first part of this rule.
    pub fn find(&self, rule: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.rule == rule)
    }

    /// All parts of this rule.
    pub fn all<'p>(&'p self, rule: &'p str) -> impl Iterator<Item = &'p Part> {
        self.parts.iter().filter(move |part| part.rule == rule)
    }

    /// Whether there is a part of this rule.
    pub fn has(&self, rule: &str) -> bool {
        self.find(rule).is_some()
    }

    /// The first part of this rule, as a piece of text to be read by SQL's parser.
    pub fn slice(&self, rule: &str) -> Option<Slice> {
        self.find(rule).map(|part| Slice { span: part.span })
    }

    /// All parts of this rule, as pieces of text.
    pub fn slices(&self, rule: &str) -> Vec<Slice> {
        self.all(rule).map(|part| Slice { span: part.span }).collect()
    }

    /// The first part of this rule, as a name.
    pub fn name(&self, rule: &str) -> Option<Name> {
        self.find(rule).map(|part| Name { text: part.text.clone(), span: part.span })
    }
}

/// `name = value` of a `WITH (…)`.
#[derive(Debug, Clone)]
pub struct OptionItem {
    /// The option.
    pub name: Name,
    /// Its value.
    pub value: OptionValue,
    /// Where the value stands.
    pub value_span: Span,
}

/// The value of an option or setting. Which of these it takes is for the option to say.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// `'text'`
    Text(String),
    /// `12`, `0.5`, `-3`, as written
    Number(String),
    /// `true`, `false`
    Bool(bool),
    /// A bare word: `zstd`
    Word(String),
    /// `$name`, filled by `-D`
    Parameter(String),
    /// `(a, b)` or `[a, b]`
    List(Vec<OptionValue>),
}

impl OptionValue {
    /// The value as a setting takes it: text without quotes.
    pub fn as_text(&self) -> String {
        match self {
            OptionValue::Text(text) | OptionValue::Number(text) | OptionValue::Word(text) => text.clone(),
            OptionValue::Bool(value) => value.to_string(),
            OptionValue::Parameter(name) => format!("${name}"),
            OptionValue::List(items) => items.iter().map(OptionValue::as_text).collect::<Vec<_>>().join(","),
        }
    }
}
