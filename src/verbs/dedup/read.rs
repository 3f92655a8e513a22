//! `DEDUP`, from the parts that the grammar found to its clauses.
//!
//! The clauses may stand in any order; that each stands once is seen to here.

use crate::diag::{Code, Diagnostic, Span};
use crate::logical::{Binder, BoundVerb};
use crate::syntax::ast::{Name, OptionItem, Part, Slice, VerbCall};

/// `DEDUP method ON items …`
#[derive(Debug, Clone)]
pub struct DedupClauses<'c> {
    /// How duplicates are found.
    pub method: DedupMethod,
    /// Where the method is named.
    pub method_span: Span,
    /// What is compared.
    pub on: Vec<Slice>,
    /// `WITH (…)`
    pub options: &'c [OptionItem],
    /// Which row stays.
    pub keep: Option<KeepClause>,
    /// Documents seen before.
    pub against: Option<AgainstIndex>,
}

/// The word after `DEDUP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DedupMethod {
    /// Equal values.
    Exact,
    /// Much the same texts.
    Fuzzy,
    /// Lines that occurred before.
    Lines,
    /// Paragraphs that occurred before.
    Paragraphs,
    /// Sentences that occurred before.
    Sentences,
    /// Long substrings that occurred before.
    Substring,
    /// Vectors that point the same way.
    Semantic,
}

impl DedupMethod {
    /// Every method, in the order they are shown.
    pub const ALL: [DedupMethod; 7] = [
        DedupMethod::Exact,
        DedupMethod::Fuzzy,
        DedupMethod::Lines,
        DedupMethod::Paragraphs,
        DedupMethod::Sentences,
        DedupMethod::Substring,
        DedupMethod::Semantic,
    ];

    /// As written in a query.
    pub fn name(self) -> &'static str {
        match self {
            DedupMethod::Exact => "EXACT",
            DedupMethod::Fuzzy => "FUZZY",
            DedupMethod::Lines => "LINES",
            DedupMethod::Paragraphs => "PARAGRAPHS",
            DedupMethod::Sentences => "SENTENCES",
            DedupMethod::Substring => "SUBSTRING",
            DedupMethod::Semantic => "SEMANTIC",
        }
    }
}

/// `KEEP FIRST | LAST | ANY [PER items] [BY items]` or `KEEP NONE`
#[derive(Debug, Clone)]
pub struct KeepClause {
    /// Which end of the order stays.
    pub which: KeepWord,
    /// Rows are compared within the values of these.
    pub per: Vec<Slice>,
    /// What the rows of a cluster are ordered by, each `expression [ASC | DESC] [NULLS FIRST | LAST]`.
    pub by: Vec<Slice>,
    /// Where the clause stands, without `KEEP`.
    pub span: Span,
}

/// The word after `KEEP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepWord {
    /// The first row.
    First,
    /// The last row.
    Last,
    /// One of them.
    Any,
    /// None of them.
    None,
}

/// `AGAINST INDEX 'path' [APPEND | READ ONLY]`
#[derive(Debug, Clone)]
pub struct AgainstIndex {
    /// The folder of the index.
    pub path: Name,
    /// Whether it stays as it is.
    pub read_only: bool,
    /// Where the clause stands.
    pub span: Span,
}

/// The clauses of a `DEDUP`.
pub fn clauses<'c>(binder: &Binder<'_>, call: &'c VerbCall) -> BoundVerb<DedupClauses<'c>> {
    refuse_repeated(binder, call)?;
    let unread = || vec![binder.error(Code::Syntax, "cannot read this DEDUP", call.span)];
    let method = call.find("dedup_method").ok_or_else(unread)?;
    let keep = call.find("keep").and_then(|keep| keep.find("keep_choice"));
    let against = call.find("against_index").map(|against| -> BoundVerb<AgainstIndex> {
        let path = against.name("path").ok_or_else(unread)?;
        Ok(AgainstIndex { path, read_only: against.has("kw_read"), span: against.span })
    });
    Ok(DedupClauses {
        method: DedupMethod::ALL.into_iter().find(|one| method.has(&one.rule())).ok_or_else(unread)?,
        method_span: method.span,
        on: call.slices("key_before_clause"),
        options: &call.options,
        keep: keep.map(|keep| keep_clause(keep).ok_or_else(unread)).transpose()?,
        against: against.transpose()?,
    })
}

impl DedupMethod {
    /// The name of its keyword in the grammar.
    fn rule(self) -> String {
        format!("kw_{}", self.name().to_lowercase())
    }
}

/// `FIRST BY length(text) DESC` as the grammar found it.
pub fn keep_clause(part: &Part) -> Option<KeepClause> {
    let words = [
        ("kw_first", KeepWord::First),
        ("kw_last", KeepWord::Last),
        ("kw_any", KeepWord::Any),
        ("kw_none", KeepWord::None),
    ];
    let which = words.into_iter().find(|(rule, _)| part.has(rule))?.1;
    let per = part.find("keep_per").map(|per| per.slices("per_item")).unwrap_or_default();
    Some(KeepClause { which, per, by: part.slices("keep_item"), span: part.span })
}

fn refuse_repeated(binder: &Binder<'_>, call: &VerbCall) -> BoundVerb<()> {
    let mut problems: Vec<Diagnostic> = vec![];
    for (rule, keyword) in [("with_options", "WITH"), ("keep", "KEEP"), ("against_index", "AGAINST")] {
        let words = call.all(rule).filter_map(|clause| clause.parts.first());
        if let [first, second, ..] = words.map(|word| word.span).collect::<Vec<_>>().as_slice() {
            let found = binder.error(Code::Syntax, format!("`{keyword}` stands here twice"), *second);
            problems.push(found.at("the second").and_at(binder.source(), *first, "the first is here"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
