//! Verbs: one piece of text each, from the grammar's match to the tree.

use super::ast::*;
use super::grammar::{Cql, Match, Rule, child, children, mask, span};
use super::lex::{TokenKind, tokens};
use super::mistake;
use super::source::unquote;
use super::split::Chunk;
use super::statement::Reader;
use super::words::{LATER_VERBS, VERBS, is_one_of, verb_rule};
use crate::diag::{Code, Diagnostic, SourceText, did_you_mean, verb_for};
use pest::Parser as _;

impl Reader<'_> {
    /// One verb, without its `|>`.
    pub(super) fn verb(&mut self, piece: &Chunk) -> Option<Verb> {
        let keyword = self.keyword(piece.start);
        let Some(rule) = verb_rule(&keyword) else {
            self.unknown_verb(piece.start);
            return None;
        };
        if rule == Rule::aggregate_verb && !self.groups_by_name(piece) {
            return None;
        }
        let (pair, start) = self.read(rule, piece)?;
        let kind = self.verb_kind(&pair, start, keyword)?;
        let hint = match child(&pair, Rule::hint) {
            Some(hint) => Some(self.hint(&hint, start)?),
            None => None,
        };
        Some(Verb { kind, hint, span: self.span_of(piece)? })
    }

    /// Refuses `AGGREGATE count(*) BY lang`, in which `BY` would pass for the name of a column.
    fn groups_by_name(&mut self, piece: &Chunk) -> bool {
        let mut depth = 0usize;
        for at in piece.clone() {
            match self.tokens[at].kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth = depth.saturating_sub(1),
                _ if depth > 0 || self.keyword(at) != "BY" => {}
                _ if matches!(self.keyword(at - 1).as_str(), "GROUP" | "AS") || at + 1 == piece.end => {}
                _ => {
                    let rest = self.tokens[at + 1].span.to(self.tokens[piece.end - 1].span);
                    let help = format!("write `GROUP BY {}`", self.source.slice(rest));
                    let message = "expected `GROUP BY` before the columns to group by";
                    let found = Diagnostic::error(Code::Syntax, message, self.source, self.tokens[at].span);
                    self.diagnostics.push(found.at("`GROUP` is missing before this").help(help));
                    return false;
                }
            }
        }
        true
    }

    fn verb_kind(&mut self, pair: &Match<'_>, start: usize, keyword: String) -> Option<VerbKind> {
        let has = |rule| child(pair, rule).is_some();
        let slice = |rule| child(pair, rule).map(|part| Slice { span: span(&part, start) });
        Some(match pair.as_rule() {
            Rule::where_verb => VerbKind::Where(slice(Rule::condition_before_hint)?),
            Rule::select_verb => {
                VerbKind::Select { distinct: has(Rule::kw_distinct), items: slices(pair, Rule::item, start) }
            }
            Rule::extend_verb => VerbKind::Extend(slices(pair, Rule::item, start)),
            Rule::set_verb => VerbKind::Set(self.assignments(pair, start)?),
            Rule::drop_verb => VerbKind::Drop(self.columns(pair, start)),
            Rule::rename_verb => VerbKind::Rename(self.renamings(pair, start)?),
            Rule::aggregate_verb => {
                let group_by = child(pair, Rule::group_by);
                let items = child(pair, Rule::aggregates);
                VerbKind::Aggregate {
                    items: items.map_or(vec![], |items| slices(&items, Rule::aggregate, start)),
                    group_by: group_by.map_or(vec![], |group_by| slices(&group_by, Rule::item, start)),
                }
            }
            Rule::join_verb => self.join(pair, start)?,
            Rule::set_operation => {
                let kind = if has(Rule::kw_union) {
                    SetOperationKind::Union
                } else if has(Rule::kw_intersect) {
                    SetOperationKind::Intersect
                } else {
                    SetOperationKind::Except
                };
                let sources: Vec<_> =
                    children(pair, Rule::set_source).map(|part| self.source_of(&part, start)).collect();
                VerbKind::SetOperation {
                    kind,
                    all: has(Rule::kw_all),
                    by_name: has(Rule::by_name),
                    sources: sources.into_iter().collect::<Option<_>>()?,
                }
            }
            Rule::order_verb => VerbKind::OrderBy(slices(pair, Rule::order_item, start)),
            Rule::limit_verb | Rule::offset_verb => {
                let offset = child(pair, Rule::offset).and_then(|offset| child(&offset, Rule::skipped));
                let offset = offset.map(|skipped| Slice { span: span(&skipped, start) });
                VerbKind::Limit { count: slice(Rule::count), offset }
            }
            Rule::distinct_verb => {
                let keys = child(pair, Rule::keys_in_brackets).or_else(|| child(pair, Rule::keys));
                VerbKind::Distinct { on: keys.map_or(vec![], |keys| slices(&keys, Rule::key, start)) }
            }
            Rule::sweep_verb => {
                let bytes_of = child(pair, Rule::bytes_of).and_then(|bytes_of| child(&bytes_of, Rule::expression));
                VerbKind::Sweep {
                    sweeps: children(pair, Rule::sweep).map(|part| sweep(&part, start)).collect::<Option<_>>()?,
                    bytes_of: bytes_of.map(|expression| Slice { span: span(&expression, start) }),
                }
            }
            Rule::summarize_verb => VerbKind::Summarize,
            Rule::as_verb => VerbKind::As(self.name_in(pair, Rule::name, start)?),
            _ => {
                let options = self.options(pair, start)?;
                VerbKind::Room(VerbCall { keyword, options, part: part(self.source, pair, start) })
            }
        })
    }

    fn hint(&mut self, pair: &Match<'_>, start: usize) -> Option<Hint> {
        let device = if child(pair, Rule::kw_gpu).is_some() {
            Some(HintDevice::Gpu)
        } else {
            child(pair, Rule::kw_cpu).map(|_| HintDevice::Cpu)
        };
        Some(Hint { device, options: self.options(pair, start)?, span: span(pair, start) })
    }

    fn assignments(&self, pair: &Match<'_>, start: usize) -> Option<Vec<Assignment>> {
        children(pair, Rule::assignment)
            .map(|part| {
                let value = Slice { span: span(&child(&part, Rule::expression_before_hint)?, start) };
                Some(Assignment { column: self.name_in(&part, Rule::column, start)?, value })
            })
            .collect()
    }

    fn renamings(&self, pair: &Match<'_>, start: usize) -> Option<Vec<Renaming>> {
        children(pair, Rule::renaming)
            .map(|part| {
                let from = self.name_in(&part, Rule::column, start)?;
                Some(Renaming { from, to: self.name_in(&part, Rule::name, start)? })
            })
            .collect()
    }

    fn columns(&self, pair: &Match<'_>, start: usize) -> Vec<Name> {
        children(pair, Rule::column).map(|column| self.name(&column, start)).collect()
    }

    fn join(&mut self, pair: &Match<'_>, start: usize) -> Option<VerbKind> {
        let words = child(pair, Rule::join_kind);
        let has = |rule| words.as_ref().is_some_and(|words| child(words, rule).is_some());
        let kind = if has(Rule::kw_semi) {
            JoinKind::LeftSemi
        } else if has(Rule::kw_anti) {
            JoinKind::LeftAnti
        } else if has(Rule::kw_left) {
            JoinKind::Left
        } else if has(Rule::kw_right) {
            JoinKind::Right
        } else if has(Rule::kw_full) {
            JoinKind::Full
        } else if has(Rule::kw_cross) {
            JoinKind::Cross
        } else {
            JoinKind::Inner
        };
        let condition = if let Some(on) = child(pair, Rule::on) {
            JoinCondition::On(Slice { span: span(&child(&on, Rule::condition)?, start) })
        } else if let Some(using) = child(pair, Rule::using) {
            JoinCondition::Using(self.columns(&using, start))
        } else {
            JoinCondition::None
        };
        let source = self.source_of(&child(pair, Rule::join_source)?, start);
        let keyword = span(&child(pair, Rule::kw_join)?, start);
        let wrong = match (kind, &condition) {
            (JoinKind::Cross, JoinCondition::On(_) | JoinCondition::Using(_)) => {
                Some(("CROSS JOIN takes no condition", "write `JOIN … ON …` to keep only the rows that meet"))
            }
            (JoinKind::Cross, _) | (_, JoinCondition::On(_) | JoinCondition::Using(_)) => None,
            _ => Some(("expected `ON condition` or `USING (columns)`", "to pair each row with each, write CROSS JOIN")),
        };
        if let Some((message, help)) = wrong {
            let found = Diagnostic::error(Code::Syntax, message, self.source, keyword);
            self.diagnostics.push(found.at("this join").help(help));
            return None;
        }
        Some(VerbKind::Join { kind, source: source?, condition })
    }

    fn unknown_verb(&mut self, at: usize) {
        let place = self.tokens[at].span;
        let word = self.tokens[at].text(self.source.text());
        let found = match self.keyword(at).as_str() {
            "" => Diagnostic::error(
                Code::Syntax,
                format!("expected a verb after `|>`, found `{word}`"),
                self.source,
                place,
            )
            .help(format!("a verb is one of {}", VERBS.join(", "))),
            later if is_one_of(later, LATER_VERBS) => {
                Diagnostic::error(Code::Unsupported, format!("`{later}` is not in this version"), self.source, place)
                    .at("planned for a later version")
            }
            "GROUP" => Diagnostic::error(Code::Syntax, "unknown verb `GROUP`", self.source, place)
                .at("not a verb")
                .help("write `|> AGGREGATE … GROUP BY …`"),
            "HAVING" => Diagnostic::error(Code::Syntax, "unknown verb `HAVING`", self.source, place)
                .at("not a verb")
                .help("write `|> WHERE …` after `|> AGGREGATE …`"),
            "FROM" => Diagnostic::error(Code::Syntax, "`FROM` begins a pipeline, it is not a verb", self.source, place)
                .at("not a verb")
                .help("to add rows of another source, write `|> UNION ALL …` or `|> JOIN …`"),
            _ => Diagnostic::error(Code::Syntax, format!("unknown verb `{word}`"), self.source, place)
                .at("not a verb")
                .maybe_help(verb_for(word).map(str::to_string))
                .maybe_help(did_you_mean(word, VERBS.iter().copied().chain(LATER_VERBS.iter().copied())))
                .maybe_help(Some(format!("a verb is one of {}", VERBS.join(", ")))),
        };
        self.diagnostics.push(found);
    }
}

fn sweep(pair: &Match<'_>, start: usize) -> Option<Sweep> {
    let slice = |rule| Some(Slice { span: span(&child(pair, rule)?, start) });
    Some(Sweep {
        value: slice(Rule::swept)?,
        comparison: slice(Rule::comparison)?,
        low: slice(Rule::low)?,
        high: slice(Rule::high)?,
        step: slice(Rule::step)?,
    })
}

fn slices(pair: &Match<'_>, rule: Rule, start: usize) -> Vec<Slice> {
    children(pair, rule).map(|part| Slice { span: span(&part, start) }).collect()
}

/// A match with all that it holds.
fn part(source: &SourceText, pair: &Match<'_>, start: usize) -> Part {
    let span = span(pair, start);
    let parts = pair.clone().into_inner().map(|inner| part(source, &inner, start)).collect();
    Part { rule: format!("{:?}", pair.as_rule()), span, text: unquote(source.slice(span)), parts }
}

/// What follows `KEEP`, where it is a text of its own: `FIRST BY length(text) DESC`.
pub fn parse_keep(source: &SourceText) -> Result<Part, Diagnostic> {
    let text = source.text();
    let tokens = tokens(text);
    let masked = mask(text, &tokens);
    let parsed = Cql::parse(Rule::keep_text, masked.trim_end())
        .map_err(|error| mistake::describe(source, &tokens, Rule::keep_text, &error))?;
    let clause = parsed.into_iter().next().and_then(|pair| Some(part(source, &child(&pair, Rule::keep_choice)?, 0)));
    clause.ok_or_else(|| Diagnostic::error(Code::Syntax, "cannot read this KEEP", source, source.span()))
}
