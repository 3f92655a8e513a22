//! Stand-ins for what `ops` and `syntax` will give; each is one call once those are there.

use crate::diag::{Diagnostic, SourceText};
use crate::session::ExplainFormat;
use crate::syntax::ast::Script;
use crate::{Error, Result};

/// `crate::ops::reference::list(&registry)`
pub fn list_ops() -> String {
    String::new()
}

/// `crate::ops::reference::describe(&registry, name)`
pub fn describe_op(name: &str) -> Result<String> {
    Err(Error::Data(format!("no operator `{name}`; `curator ops` lists all")))
}

/// `crate::ops::reference::markdown(&registry)`
pub fn ops_markdown() -> String {
    String::new()
}

/// `crate::syntax::format(source)`
pub fn format(source: &SourceText) -> std::result::Result<String, Vec<Diagnostic>> {
    Ok(source.text().to_string())
}

/// The syntax tree of a whole text as text.
pub fn explain_ast(script: &Script, format: ExplainFormat) -> String {
    format!("{format:?} {:#?}", script.statements)
}

/// What a token is, for colours and for where the cursor stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or keyword.
    Word,
    /// A name in double quotes or backticks.
    QuotedName,
    /// A text in single quotes.
    Text,
    /// A number.
    Number,
    /// `$name`
    Parameter,
    /// `-- …` or `/* … */`
    Comment,
    /// Operators and brackets.
    Symbol,
}

/// One token.
#[derive(Debug, Clone)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands, in bytes.
    pub span: std::ops::Range<usize>,
    /// False for a quote or comment that the text ends in.
    pub is_closed: bool,
}

/// `crate::syntax::tokens(text)`: every token of a text, however broken it is.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = vec![];
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let rest = &text[at..];
        let (kind, len, is_closed) = token(rest, first);
        tokens.push(Token { kind, span: at..at + len, is_closed });
        at += len;
    }
    tokens
}

fn token(rest: &str, first: char) -> (TokenKind, usize, bool) {
    let run = |accept: fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    match first {
        '-' if rest.starts_with("--") => (TokenKind::Comment, rest.find('\n').unwrap_or(rest.len()), true),
        '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
            Some(end) => (TokenKind::Comment, end + 4, true),
            None => (TokenKind::Comment, rest.len(), false),
        },
        '\'' | '"' | '`' => {
            let kind = if first == '\'' { TokenKind::Text } else { TokenKind::QuotedName };
            match end_of_quote(rest, first) {
                Some(len) => (kind, len, true),
                None => (kind, rest.len(), false),
            }
        }
        '$' => (TokenKind::Parameter, 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1), true),
        '0'..='9' => (TokenKind::Number, run(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_'), true),
        c if c.is_alphabetic() || c == '_' => (TokenKind::Word, run(|c| c.is_alphanumeric() || c == '_'), true),
        '|' if rest.starts_with("|>") => (TokenKind::Symbol, 2, true),
        other => (TokenKind::Symbol, other.len_utf8(), true),
    }
}

/// The length of a quoted token; a doubled quote is part of it.
fn end_of_quote(rest: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += rest[at..].find(quote)? + 1;
        if !rest[at..].starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}
