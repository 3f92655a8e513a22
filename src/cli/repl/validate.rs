//! When Enter runs the text and when it starts a new line.

use crate::syntax::{Token, TokenKind, tokens};
use reedline::{ValidationResult, Validator};

/// Whether a text is whole by itself: nothing, a command, or statements that end with `;`.
pub fn ends_statement(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with('\\') || matches!(trimmed, "exit" | "quit") {
        return true;
    }
    let tokens = tokens(text);
    tokens.iter().all(|token| token.closed) && last_token(text, &tokens).is_none_or(|last| last == ";")
}

/// Whether Enter runs what was typed: a whole text, or an empty line after something that may be one.
pub fn is_finished(text: &str) -> bool {
    if ends_statement(text) {
        return true;
    }
    let tokens = tokens(text);
    let ends_with_blank_line = text.rsplit_once('\n').is_some_and(|(_, line)| line.trim().is_empty());
    ends_with_blank_line
        && tokens.iter().all(|token| token.closed)
        && last_token(text, &tokens).is_some_and(|last| last != "|>")
}

fn last_token<'a>(text: &'a str, tokens: &[Token]) -> Option<&'a str> {
    let last = tokens.iter().rev().find(|token| token.kind != TokenKind::Comment)?;
    Some(last.text(text))
}

/// The same for the editor.
pub struct EndOfStatement;

impl Validator for EndOfStatement {
    fn validate(&self, text: &str) -> ValidationResult {
        if is_finished(text) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_with_a_semicolon_or_an_empty_line() {
        let finished = ["", "\\d docs", "FROM x;", "FROM x; -- done", "-- nothing", "FROM x\n", "exit", "FROM x;\n\n"];
        let open = ["FROM x", "FROM x |>\n", "SELECT ';", "SELECT 1 /* ; ", "SET a = 1; FROM x", "SELECT ';'", "x\n y"];
        for text in finished {
            assert!(is_finished(text), "{text:?}");
        }
        for text in open {
            assert!(!is_finished(text), "{text:?}");
        }
    }
}
