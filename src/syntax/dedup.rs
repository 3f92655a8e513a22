//! `DEDUP` and `DECONTAMINATE`, from the grammar's match to the tree.
//!
//! The clauses of `DEDUP` may stand in any order; that each stands once is seen to here.

use super::ast::*;
use super::grammar::{Cql, Match, Rule, child, children, mask, span};
use super::lex::tokens;
use super::mistake;
use super::statement::Reader;
use super::verb::slices;
use crate::diag::{Code, Diagnostic, SourceText};
use pest::Parser as _;

impl Reader<'_> {
    pub(super) fn dedup(&mut self, pair: &Match<'_>, start: usize) -> Option<Dedup> {
        self.refuse_repeated_clauses(pair, start)?;
        let method = child(pair, Rule::dedup_method)?;
        let keep = match child(pair, Rule::keep) {
            Some(keep) => Some(keep_clause(&child(&keep, Rule::keep_choice)?, start)?),
            None => None,
        };
        let against = match child(pair, Rule::against_index) {
            Some(against) => Some(AgainstIndex {
                path: self.name_in(&against, Rule::path, start)?,
                read_only: child(&against, Rule::kw_read).is_some(),
                span: span(&against, start),
            }),
            None => None,
        };
        Some(Dedup {
            method: method_of(&method)?,
            method_span: span(&method, start),
            on: slices(pair, Rule::key_before_clause, start),
            options: self.options(pair, start)?,
            keep,
            against,
        })
    }

    pub(super) fn decontaminate(&mut self, pair: &Match<'_>, start: usize) -> Option<Decontaminate> {
        Some(Decontaminate {
            on: child(pair, Rule::key_before_clause).map(|key| Slice { span: span(&key, start) }),
            against: self.name_in(pair, Rule::path, start)?,
            options: self.options(pair, start)?,
        })
    }

    fn refuse_repeated_clauses(&mut self, pair: &Match<'_>, start: usize) -> Option<()> {
        let n_before = self.diagnostics.len();
        for (rule, keyword, name) in [
            (Rule::with_options, Rule::kw_with, "WITH"),
            (Rule::keep, Rule::kw_keep, "KEEP"),
            (Rule::against_index, Rule::kw_against, "AGAINST"),
        ] {
            let places = children(pair, rule).filter_map(|clause| child(&clause, keyword));
            let places: Vec<_> = places.map(|keyword| span(&keyword, start)).collect();
            if let [first, second, ..] = places.as_slice() {
                let found =
                    Diagnostic::error(Code::Syntax, format!("`{name}` stands here twice"), self.source, *second);
                self.diagnostics.push(found.at("the second").and_at(self.source, *first, "the first is here"));
            }
        }
        (self.diagnostics.len() == n_before).then_some(())
    }
}

fn method_of(pair: &Match<'_>) -> Option<DedupMethod> {
    Some(match pair.clone().into_inner().next()?.as_rule() {
        Rule::kw_exact => DedupMethod::Exact,
        Rule::kw_fuzzy => DedupMethod::Fuzzy,
        Rule::kw_lines => DedupMethod::Lines,
        Rule::kw_paragraphs => DedupMethod::Paragraphs,
        Rule::kw_sentences => DedupMethod::Sentences,
        Rule::kw_substring => DedupMethod::Substring,
        Rule::kw_semantic => DedupMethod::Semantic,
        _ => return None,
    })
}

fn keep_clause(pair: &Match<'_>, start: usize) -> Option<KeepClause> {
    let which = match pair.clone().into_inner().next()?.as_rule() {
        Rule::kw_first => KeepWord::First,
        Rule::kw_last => KeepWord::Last,
        Rule::kw_any => KeepWord::Any,
        Rule::kw_none => KeepWord::None,
        _ => return None,
    };
    let per = child(pair, Rule::keep_per).map(|per| slices(&per, Rule::per_item, start)).unwrap_or_default();
    Some(KeepClause { which, per, by: slices(pair, Rule::keep_item, start), span: span(pair, start) })
}

/// What follows `KEEP`, where it is a text of its own: `FIRST BY length(text) DESC`.
pub fn parse_keep(source: &SourceText) -> Result<KeepClause, Diagnostic> {
    let text = source.text();
    let tokens = tokens(text);
    let masked = mask(text, &tokens);
    let parsed = Cql::parse(Rule::keep_text, masked.trim_end())
        .map_err(|error| mistake::describe(source, &tokens, Rule::keep_text, &error))?;
    let clause = parsed.into_iter().next().and_then(|pair| keep_clause(&child(&pair, Rule::keep_choice)?, 0));
    clause.ok_or_else(|| Diagnostic::error(Code::Syntax, "cannot read this KEEP", source, source.span()))
}
