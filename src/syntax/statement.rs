//! Statements: which kind each is, and its head. Their verbs are in `verb.rs`, their sources in `source.rs`.

use super::ast::*;
use super::grammar::{Cql, Match, Rule, child, children, is_keyword, mask, span};
use super::lex::{Token, TokenKind, tokens};
use super::split::{self, Chunk};
use super::words::{SQL_STATEMENTS, STATEMENTS, is_one_of};
use super::{Partly, mistake, words};
use crate::diag::{Code, Diagnostic, SourceText, Span, did_you_mean, verb_for};
use pest::Parser as _;
use std::collections::HashMap;

/// See [`super::parse`].
pub(super) fn parse(source: &SourceText, sql_only: bool) -> Result<Script, Vec<Diagnostic>> {
    read_script(source, sql_only, None).map(|(script, _)| script)
}

/// See [`super::parse_partly`].
pub(super) fn parse_partly(source: &SourceText, sql_only: bool) -> Partly {
    read_partly(source, sql_only, None).0
}

/// Which words the grammar took as keywords (true) and which as names (false), by where they start.
pub(super) type Keywords = HashMap<usize, bool>;

/// The tree of a CQL text, and its keywords.
pub(super) fn parse_with_keywords(source: &SourceText) -> Result<(Script, Keywords), Vec<Diagnostic>> {
    read_script(source, false, Some(Keywords::new())).map(|(script, keywords)| (script, keywords.unwrap_or_default()))
}

fn read_script(
    source: &SourceText,
    sql_only: bool,
    keywords: Option<Keywords>,
) -> Result<(Script, Option<Keywords>), Vec<Diagnostic>> {
    let (read, keywords) = read_partly(source, sql_only, keywords);
    if read.problems.is_empty() { Ok((read.script, keywords)) } else { Err(read.problems) }
}

fn read_partly(source: &SourceText, sql_only: bool, keywords: Option<Keywords>) -> (Partly, Option<Keywords>) {
    let all = tokens(source.text());
    let masked = mask(source.text(), &all);
    let significant: Vec<Token> = all.iter().filter(|token| token.kind != TokenKind::Comment).copied().collect();
    let mut diagnostics = Vec::new();
    let open_comment = all.iter().find(|token| token.kind == TokenKind::Comment && !token.closed);
    diagnostics.extend(open_comment.map(|comment| split::open_quote(source, comment)));
    let chunks = split::statements(source, &significant, &mut diagnostics);
    let mut reader = Reader { source, tokens: &significant, masked: &masked, sql_only, diagnostics, keywords };
    let (mut statements, mut broken) = (vec![], vec![]);
    for chunk in chunks {
        let read = chunk.as_ref().ok().and_then(|chunk| reader.whole_statement(chunk.clone()));
        match (read, chunk) {
            (Some(statement), _) => statements.push(statement),
            (None, Ok(chunk) | Err(chunk)) => broken.extend(reader.span_of(&chunk)),
        }
    }
    let mut problems = std::mem::take(&mut reader.diagnostics);
    problems.sort_by_key(|problem| problem.labels.first().map(|label| label.span.start));
    (Partly { script: Script { source: source.clone(), statements }, broken, problems }, reader.keywords)
}

/// Reads the pieces of one text and collects what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) source: &'a SourceText,
    /// Without comments.
    pub(super) tokens: &'a [Token],
    masked: &'a str,
    sql_only: bool,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Collected only where someone asks for them.
    keywords: Option<Keywords>,
}

impl<'a> Reader<'a> {
    /// A statement, or a diagnostic that says why there is none.
    fn whole_statement(&mut self, chunk: Chunk) -> Option<Statement> {
        let n_before = self.diagnostics.len();
        let place = self.span_of(&chunk)?;
        let statement = self.statement(chunk);
        if statement.is_none() && self.diagnostics.len() == n_before {
            self.diagnostics.push(Diagnostic::error(Code::Syntax, "cannot read this statement", self.source, place));
        }
        statement
    }

    fn statement(&mut self, chunk: Chunk) -> Option<Statement> {
        let whole = self.span_of(&chunk)?;
        let kind = match self.keyword(chunk.start).as_str() {
            "FROM" if self.sql_only => StatementKind::Sql(Slice { span: whole }),
            "FROM" => StatementKind::Query(self.pipeline(Rule::query_head, chunk, whole)?.1),
            "SET" => self.set(&chunk)?,
            "LET" => {
                let (head, pipeline) = self.pipeline(Rule::let_head, chunk.clone(), whole)?;
                StatementKind::Let { name: self.name_in(&head, Rule::name, whole.start)?, pipeline }
            }
            "DEFINE" => self.define(&chunk)?,
            "DESCRIBE" => StatementKind::Describe(self.pipeline(Rule::describe_head, chunk, whole)?.1),
            "SUMMARIZE" => {
                let mut pipeline = self.pipeline(Rule::summarize_head, chunk, whole)?.1;
                pipeline.verbs.push(Verb { kind: VerbKind::Summarize, hint: None, span: whole });
                StatementKind::Query(pipeline)
            }
            "EXPLAIN" => self.explain(&chunk, whole)?,
            word => {
                if !self.sql_only && !is_one_of(word, SQL_STATEMENTS) && !self.is(chunk.start, "(") {
                    self.unknown_statement(chunk.start);
                    return None;
                }
                StatementKind::Sql(Slice { span: whole })
            }
        };
        Some(Statement { kind, span: whole })
    }

    fn set(&mut self, chunk: &Chunk) -> Option<StatementKind> {
        let (pair, start) = self.read(Rule::set_statement, chunk)?;
        let value = child(&pair, Rule::value)?;
        Some(StatementKind::Set {
            name: self.name_in(&pair, Rule::setting, start)?,
            value_span: span(&value, start),
            value: self.value(value, start)?,
        })
    }

    fn define(&mut self, chunk: &Chunk) -> Option<StatementKind> {
        let (pair, start) = self.read(Rule::define, chunk)?;
        let params = children(&pair, Rule::parameter)
            .map(|param| {
                let default = child(&param, Rule::default).map(|default| Slice { span: span(&default, start) });
                Some(MacroParam { name: self.name_in(&param, Rule::name, start)?, default })
            })
            .collect::<Option<Vec<_>>>()?;
        let body = Slice { span: span(&child(&pair, Rule::body)?, start) };
        Some(StatementKind::Define { name: self.name_in(&pair, Rule::name, start)?, params, body })
    }

    fn explain(&mut self, chunk: &Chunk, whole: Span) -> Option<StatementKind> {
        let (pair, start) = self.read(Rule::explain_head, chunk)?;
        let inner = self.tokens_in(span(&child(&pair, Rule::statement)?, start));
        match self.keyword(inner.start).as_str() {
            // `EXPLAIN FORMAT …` is DataFusion's own.
            "FORMAT" => return Some(StatementKind::Sql(Slice { span: whole })),
            word @ ("SET" | "LET" | "DEFINE" | "EXPLAIN" | "DESCRIBE") => {
                let message = format!("`{word}` has no plan to explain");
                let place = self.tokens[inner.start].span;
                let found = Diagnostic::error(Code::Syntax, message, self.source, place);
                self.diagnostics
                    .push(found.at("expected a query").help("explain a pipeline (`FROM …`) or an SQL query"));
                return None;
            }
            _ => {}
        }
        Some(StatementKind::Explain {
            analyze: child(&pair, Rule::kw_analyze).is_some(),
            verbose: child(&pair, Rule::kw_verbose).is_some(),
            statement: Box::new(self.statement(inner)?),
        })
    }

    /// A head that ends in a source, and the verbs that follow. A broken verb does not hide the ones after it.
    pub(super) fn pipeline(&mut self, head: Rule, chunk: Chunk, whole: Span) -> Option<(Match<'a>, Pipeline)> {
        let pieces = split::pieces(self.source, self.tokens, chunk, &mut self.diagnostics);
        let (first, rest) = pieces.split_first()?;
        let head = self.read(head, first).and_then(|(pair, start)| {
            let clause = child(&pair, Rule::from_clause).unwrap_or_else(|| pair.clone());
            let first = child(&clause, Rule::first_file).or_else(|| child(&clause, Rule::source))?;
            let from = self.source_of(&first, start)?;
            let others = self.other_files(&clause, start)?;
            let start = child(&pair, Rule::from_clause).map_or(from.span.start, |clause| span(&clause, start).start);
            Some((pair, from, others, start))
        });
        let verbs: Vec<Option<Verb>> = rest
            .iter()
            .map(|piece| {
                if piece.is_empty() {
                    let pipe = self.tokens[piece.start - 1].span;
                    let found = Diagnostic::error(Code::Syntax, "expected a verb after `|>`", self.source, pipe);
                    self.diagnostics.push(found.at("nothing follows").help("remove the `|>`, or write a verb"));
                    return None;
                }
                self.verb(piece)
            })
            .collect();
        let (pair, from, others, start) = head?;
        let verbs = others.into_iter().map(Some).chain(verbs).collect::<Option<Vec<_>>>()?;
        Some((pair, Pipeline { from, verbs, span: Span::new(start, whole.end) }))
    }

    /// The files of a `FROM` after the first one: more rows, by the names of their columns.
    fn other_files(&mut self, clause: &Match<'_>, start: usize) -> Option<Option<Verb>> {
        let sources: Vec<_> = children(clause, Rule::file).map(|file| self.source_of(&file, start)).collect();
        let sources = sources.into_iter().collect::<Option<Vec<_>>>()?;
        let (Some(first), Some(last)) = (sources.first(), sources.last()) else { return Some(None) };
        let span = first.span.to(last.span);
        let kind = VerbKind::SetOperation { kind: SetOperationKind::Union, all: true, by_name: true, sources };
        Some(Some(Verb { kind, hint: None, span }))
    }

    /// Parses one piece; what is wrong with it becomes a diagnostic. Gives the match and where its text starts.
    pub(super) fn read(&mut self, rule: Rule, piece: &Chunk) -> Option<(Match<'a>, usize)> {
        let place = self.span_of(piece)?;
        let masked = self.masked;
        match Cql::parse(rule, &masked[place.start..place.end]) {
            Ok(mut pairs) => {
                let pair = pairs.next()?;
                if let Some(keywords) = &mut self.keywords {
                    keywords.extend(pair.clone().into_inner().flatten().filter_map(|part| {
                        is_keyword(part.as_rule()).map(|is_keyword| (span(&part, place.start).start, is_keyword))
                    }));
                }
                Some((pair, place.start))
            }
            Err(error) => {
                let found = mistake::describe(self.source, &self.tokens[piece.clone()], rule, &error);
                self.diagnostics.push(found);
                None
            }
        }
    }

    fn unknown_statement(&mut self, at: usize) {
        let word = self.tokens[at].text(self.source.text());
        let place = self.tokens[at].span;
        let found = match self.tokens[at].kind {
            TokenKind::Word => {
                let found = Diagnostic::error(Code::Syntax, format!("unknown statement `{word}`"), self.source, place);
                if is_one_of(word, &words::VERBS) || is_one_of(word, words::LATER_VERBS) {
                    found.at("a verb").help("begin with a source: `FROM … |> …`")
                } else {
                    // Anything is near to something of three letters.
                    let near = did_you_mean(word, STATEMENTS.iter().chain(SQL_STATEMENTS)).filter(|_| word.len() > 3);
                    let verb = verb_for(word).map(|help| format!("begin with a source, `FROM …`, then {help}"));
                    found.at("not a statement").maybe_help(verb).maybe_help(near).maybe_help(Some(statement_help()))
                }
            }
            TokenKind::Pipe => Diagnostic::error(Code::Syntax, "a pipeline begins with a source", self.source, place)
                .at("nothing before it")
                .help("write `FROM … |> …`; a `;` before it ends the statement"),
            TokenKind::Text => {
                Diagnostic::error(Code::Syntax, "expected a statement, found a string", self.source, place)
                    .help(format!("to read a file, write `FROM {word}`"))
            }
            _ => Diagnostic::error(Code::Syntax, format!("expected a statement, found `{word}`"), self.source, place)
                .help(statement_help()),
        };
        self.diagnostics.push(found);
    }

    /// The word at a token, in capitals; empty if it is no word.
    pub(super) fn keyword(&self, at: usize) -> String {
        match self.tokens.get(at) {
            Some(token) if token.kind == TokenKind::Word => token.text(self.source.text()).to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.text(self.source.text()) == text)
    }

    /// From the first to the last token of a piece.
    pub(super) fn span_of(&self, piece: &Chunk) -> Option<Span> {
        let tokens = self.tokens.get(piece.clone())?;
        Some(tokens.first()?.span.to(tokens.last()?.span))
    }

    /// The tokens that stand inside a span.
    pub(super) fn tokens_in(&self, span: Span) -> Chunk {
        let start = self.tokens.partition_point(|token| token.span.start < span.start);
        start..self.tokens.partition_point(|token| token.span.end <= span.end)
    }
}

fn statement_help() -> String {
    format!("begin with {}, or an SQL statement", STATEMENTS.join(", "))
}
