//! Cuts a text into statements and a pipeline into its pieces, and checks that everything opened is closed.
//!
//! Invariant: a statement that leaves here as [`Chunk`] has matching brackets, at most [`MAX_DEPTH`] deep, and no
//! open quote, so nothing after this recurses deeper than that. `;` always ends a statement, also inside an open
//! bracket: one forgotten `)` does not swallow the rest of the file.

use super::lex::{Token, TokenKind};
use super::words::{OPERAND_FOLLOWS, VERBS_AFTER_PIPE_ONLY, is_one_of};
use crate::diag::{Code, Diagnostic, SourceText, Span};
use std::ops::Range;

/// The deepest nesting of brackets that we read.
pub const MAX_DEPTH: usize = 200;

/// The tokens of one statement, without its `;`. Never empty.
pub(super) type Chunk = Range<usize>;

/// The statements of a text whose quotes and brackets are sound, or not (`Err`), which a diagnostic tells.
pub(super) fn statements(
    source: &SourceText,
    tokens: &[Token],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Result<Chunk, Chunk>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < tokens.len() {
        let length = tokens[start..].iter().position(|token| token.kind == TokenKind::Semicolon);
        let end = length.map_or(tokens.len(), |length| start + length);
        if start < end {
            let is_sound = closes_everything(source, &tokens[start..end], diagnostics);
            chunks.push(if is_sound { Ok(start..end) } else { Err(start..end) });
        }
        start = end + 1;
    }
    chunks
}

fn closes_everything(source: &SourceText, tokens: &[Token], diagnostics: &mut Vec<Diagnostic>) -> bool {
    let n_before = diagnostics.len();
    let mut open: Vec<Token> = Vec::new();
    for token in tokens {
        match token.kind {
            TokenKind::Open => {
                if open.len() == MAX_DEPTH {
                    let message = format!("brackets nested more than {MAX_DEPTH} deep");
                    diagnostics.push(
                        Diagnostic::error(Code::TooDeep, message, source, token.span)
                            .help("name a part with LET or DEFINE and use the name"),
                    );
                    return false;
                }
                open.push(*token);
            }
            TokenKind::Close => match open.pop() {
                None => {
                    let message = format!("`{}` closes nothing", token.text(source.text()));
                    diagnostics.push(
                        Diagnostic::error(Code::Syntax, message, source, token.span).at("no bracket is open here"),
                    );
                }
                Some(opening) if closing(opening.text(source.text())) != token.text(source.text()) => {
                    let (opened, closed) = (opening.text(source.text()), token.text(source.text()));
                    let message = format!("`{opened}` is closed by `{closed}`");
                    diagnostics.push(
                        Diagnostic::error(Code::Unclosed, message, source, token.span)
                            .at(format!("expected `{}`", closing(opened)))
                            .and_at(source, opening.span, "opened here"),
                    );
                    return false;
                }
                Some(_) => {}
            },
            _ if !token.closed => {
                diagnostics.push(open_quote(source, token));
                // What follows the quote is inside it, so the brackets before it cannot have been closed.
                return false;
            }
            _ => {}
        }
    }
    for opening in open {
        let text = opening.text(source.text());
        diagnostics.push(
            Diagnostic::error(Code::Unclosed, format!("`{text}` is never closed"), source, opening.span)
                .at(format!("needs a `{}`", closing(text))),
        );
    }
    diagnostics.len() == n_before
}

/// The message about a quote or comment that has no end.
pub(super) fn open_quote(source: &SourceText, token: &Token) -> Diagnostic {
    let text = token.text(source.text());
    let (what, end) = match token.kind {
        TokenKind::Comment => ("comment", "*/"),
        TokenKind::QuotedName => ("quoted name", &text[..1]),
        _ if text.starts_with('$') => ("string", "$"),
        _ if text.contains('\'') => ("string", "'"),
        _ => ("string", "\""),
    };
    let opening = text.find(['\'', '"', '`', '*', '$']).map_or(1, |at| at + 1);
    let span = Span::new(token.span.start, token.span.start + opening);
    Diagnostic::error(Code::Unclosed, format!("this {what} is never closed"), source, span)
        .at(format!("needs a closing `{end}`"))
}

fn closing(opening: &str) -> &'static str {
    match opening {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

/// The pieces of a pipeline: its head and its verbs, cut at `|>` outside brackets. Some may be empty.
///
/// A verb that follows a complete expression without `|>` is cut off there too, and reported.
pub(super) fn pieces(
    source: &SourceText,
    tokens: &[Token],
    pipeline: Chunk,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Chunk> {
    let mut pieces = Vec::new();
    let mut start = pipeline.start;
    let mut depth = 0usize;
    for at in pipeline.clone() {
        match tokens[at].kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Pipe if depth == 0 => {
                pieces.push(start..at);
                start = at + 1;
            }
            TokenKind::Word if depth == 0 && at > start + 1 && lacks_pipe(source, tokens, at, pipeline.end) => {
                let word = tokens[at].text(source.text());
                let message = format!("expected `|>` before `{word}`");
                diagnostics.push(
                    Diagnostic::error(Code::Syntax, message, source, tokens[at].span)
                        .at("a new verb")
                        .help(format!("write `|> {}`", word.to_uppercase())),
                );
                pieces.push(start..at);
                start = at;
            }
            _ => {}
        }
    }
    pieces.push(start..pipeline.end);
    pieces
}

/// Whether the word at `at` is a verb's keyword between two operands, where only a verb can stand.
fn lacks_pipe(source: &SourceText, tokens: &[Token], at: usize, end: usize) -> bool {
    let text = |at: usize| tokens[at].text(source.text());
    if !is_one_of(text(at), &VERBS_AFTER_PIPE_ONLY) {
        return false;
    }
    let operand_before = match tokens[at - 1].kind {
        TokenKind::Word => !is_one_of(text(at - 1), OPERAND_FOLLOWS),
        TokenKind::QuotedName | TokenKind::Text | TokenKind::Number | TokenKind::Parameter | TokenKind::Close => true,
        // `SELECT * WHERE …`; a product has its second factor's operator, `,` or end behind it.
        TokenKind::Operator => text(at - 1) == "*" && matches!(tokens[at - 2].kind, TokenKind::Comma | TokenKind::Word),
        _ => false,
    };
    let operand_after = at + 1 < end
        && match tokens[at + 1].kind {
            TokenKind::Word => {
                !is_one_of(text(at + 1), OPERAND_FOLLOWS)
                    || text(at + 1).eq_ignore_ascii_case("NOT")
                    || text(at + 1).eq_ignore_ascii_case("CASE")
                    || text(at + 1).eq_ignore_ascii_case("BY")
            }
            TokenKind::QuotedName | TokenKind::Text | TokenKind::Number | TokenKind::Parameter => true,
            _ => false,
        };
    operand_before && operand_after
}
