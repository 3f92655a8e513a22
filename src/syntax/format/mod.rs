//! Text to canonical text: one verb a line, keywords in capitals, even spacing, comments kept.
//!
//! ```text
//! tokens ──keywords──► which words are keywords ──items──► text, gaps, break points ──lines──► text
//!          keyword.rs                             item.rs                            layout.rs
//! ```
//!
//! Invariants: only white space and the case of keywords change, except that every statement ends in one `;`;
//! formatting a formatted text changes nothing. SQL statements stay as written.

mod item;
mod keyword;
mod layout;

use super::ast::{Script, Slice, Statement, StatementKind};
use super::lex::{Token, TokenKind, tokens};
use super::statement::parse_with_keywords;
use crate::diag::{Diagnostic, SourceText};
use item::Items;

/// The canonical form of a text, or its syntax errors.
pub fn format(source: &SourceText) -> Result<String, Vec<Diagnostic>> {
    let (script, grammar_keywords) = parse_with_keywords(source)?;
    let text = source.text();
    let tokens = tokens(text);
    let is_keyword = keyword::keywords(text, &tokens, &grammar_keywords);
    let items = Items { text, tokens: &tokens, is_keyword: &is_keyword, verbatim: &sql_slices(&script) };
    let mut out = Output { out: String::new(), last_end: 0, text };
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at];
        if token.kind == TokenKind::Semicolon {
            // An empty statement says nothing.
            at += 1;
        } else if stands_alone(&items, at) {
            out.block(token, token, &[token.text(text).trim_end().to_string()]);
            at += 1;
        } else {
            let end = statement_end(&items, at);
            out.block(token, tokens[end - 1], &layout::statement(items.of(at..end)));
            at = end;
        }
    }
    Ok(out.out)
}

/// Whether the token is a comment between statements, and not one that a statement follows on the same line.
fn stands_alone(items: &Items<'_>, at: usize) -> bool {
    let statement_follows = items.tokens.get(at + 1).is_some_and(|next| {
        !matches!(next.kind, TokenKind::Comment | TokenKind::Semicolon) && !items.starts_line(at + 1)
    });
    items.tokens[at].kind == TokenKind::Comment && !statement_follows
}

/// One past the statement's last token: its `;` and the comments that follow it on the same line.
fn statement_end(items: &Items<'_>, start: usize) -> usize {
    let rest = &items.tokens[start..];
    let Some(semicolon) = rest.iter().position(|token| token.kind == TokenKind::Semicolon) else {
        // Comments on lines of their own after the last statement are not part of it.
        let last = rest.iter().rposition(|token| token.kind != TokenKind::Comment).map_or(0, |at| at + start);
        return trailing_comments(items, last + 1);
    };
    trailing_comments(items, start + semicolon + 1)
}

fn trailing_comments(items: &Items<'_>, mut at: usize) -> usize {
    let start = at;
    while at < items.tokens.len() && items.tokens[at].kind == TokenKind::Comment && !items.starts_line(at) {
        at += 1;
    }
    // A comment with more behind it on its line belongs to what is behind it.
    if at < items.tokens.len() && !items.starts_line(at) { start } else { at }
}

fn sql_slices(script: &Script) -> Vec<Slice> {
    fn slice(statement: &Statement) -> Option<Slice> {
        match &statement.kind {
            StatementKind::Sql(slice) => Some(*slice),
            StatementKind::Explain { statement, .. } => slice(statement),
            _ => None,
        }
    }
    script.statements.iter().filter_map(slice).collect()
}

struct Output<'a> {
    out: String,
    last_end: usize,
    text: &'a str,
}

impl Output<'_> {
    /// Adds lines, after a blank one if the text had any there.
    fn block(&mut self, first: Token, last: Token, lines: &[String]) {
        let gap = self.text.get(self.last_end..first.span.start).unwrap_or_default();
        if !self.out.is_empty() && gap.matches('\n').count() > 1 {
            self.out.push('\n');
        }
        for line in lines {
            self.out.push_str(line);
            self.out.push('\n');
        }
        self.last_end = last.span.end;
    }
}
