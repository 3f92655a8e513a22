//! CQL text to a tree (`parse`), and back to canonical text (`format`).
//!
//! ```text
//! text ──tokens──► tokens ──statements──► chunks ──pieces──► heads and verbs ──pest──► ast
//!        lex.rs             split.rs               split.rs                    grammar/cql.pest, verb.rs
//! ```
//!
//! Each piece is parsed on its own, so that one text can have many mistakes and all are told at once.
//! Expressions stay slices of the text; the SQL parser reads them later.

pub mod ast;
mod format;
mod grammar;
mod lex;
mod mistake;
mod source;
mod split;
mod statement;
#[cfg(test)]
mod tests;
mod tree;
mod verb;
mod words;

pub use format::format;
pub use lex::{Token, TokenKind, tokens};
#[cfg(test)]
pub use split::MAX_DEPTH;
pub use tree::{one_line, tree};
pub use verb::parse_keep;
pub use words::{KEYWORDS, SQL_STATEMENTS, STATEMENTS, VERBS};

use crate::diag::{Diagnostic, SourceText, Span};
use ast::Script;

/// Text to tree, or every syntax error of the text.
///
/// With `sql_only`, a statement that begins with `FROM` is SQL's; `SET`, `LET`, `DEFINE` and `DESCRIBE` stay ours.
pub fn parse(source: &SourceText, sql_only: bool) -> Result<Script, Vec<Diagnostic>> {
    statement::parse(source, sql_only)
}

/// A text of which some statements may not parse.
#[derive(Debug)]
pub struct Partly {
    /// Those that parse.
    pub script: Script,
    /// Where the others stand.
    pub broken: Vec<Span>,
    /// What is wrong with them.
    pub problems: Vec<Diagnostic>,
}

/// The same as [`parse`], with what parses beside what does not.
pub fn parse_partly(source: &SourceText, sql_only: bool) -> Partly {
    statement::parse_partly(source, sql_only)
}

/// Whether a text has a name among its words, quoted or not.
pub fn mentions(text: &str, name: &str) -> bool {
    tokens(text).iter().any(|token| token.text(text).trim_matches(['"', '`']) == name)
}

/// Whether a text typed at a prompt is ready to run: it ends with `;`, and nothing is left open.
pub fn is_complete(text: &str) -> bool {
    let tokens = tokens(text);
    let depth = tokens.iter().fold(0usize, |depth, token| match token.kind {
        TokenKind::Open => depth + 1,
        TokenKind::Close => depth.saturating_sub(1),
        _ => depth,
    });
    let last = tokens.iter().rfind(|token| token.kind != TokenKind::Comment);
    depth == 0 && tokens.iter().all(|token| token.closed) && last.is_some_and(|last| last.kind == TokenKind::Semicolon)
}
