//! Whether a Python file follows the grammar of Python 3.11, and its docstrings.
//!
//! A recognizer, not a parser: it walks the tokens by recursive descent and keeps of an expression only what the rules
//! around it ask for ([`Expr`]). Precedence of operators decides no question of validity, so chains of operators are
//! walked flat; it recurses only where brackets, blocks and lambda defaults nest.
//!
//! Invariant: `None` is a syntax error, for good: only `with (…)` and `match` look ahead and come back.
//! Not here: what the compiler refuses later (`return` outside a function, two parameters of one name).

use super::docstring;
use super::lexer::{self, Kind, Token};
use super::strings::Literal;

/// As deep may expressions and blocks nest: enough for all brackets and indentations that the lexer lets pass.
const MAX_DEPTH: usize = 550;

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// What the rules around an expression need to know about it.
#[derive(Debug, Clone, Default)]
pub(super) struct Expr {
    /// It may stand left of `=`.
    pub can_assign: bool,
    /// It may stand after `del`.
    pub can_delete: bool,
    /// A name, attribute or subscript, in brackets or not: it may stand left of `+=` and of an annotation.
    pub is_single: bool,
    /// `*x`
    pub is_starred: bool,
    /// `x := y` without brackets around it.
    pub is_named: bool,
    /// The text, if it is nothing but a text.
    pub literal: Option<String>,
}

impl Expr {
    /// A name, attribute or subscript.
    pub(super) fn place() -> Self {
        Expr { can_assign: true, can_delete: true, is_single: true, ..Expr::default() }
    }

    /// A tuple or list.
    pub(super) fn sequence(items: &[Expr]) -> Self {
        Expr {
            can_assign: items.iter().all(|item| item.can_assign),
            can_delete: items.iter().all(|item| item.can_delete),
            ..Expr::default()
        }
    }
}

/// The docstrings of a file.
#[derive(Debug, Default)]
pub(super) struct Docstrings {
    pub n_docstrings: usize,
    pub n_chars: usize,
}

impl Docstrings {
    /// Characters when they are joined with a line feed.
    pub(super) fn joined_chars(&self) -> usize {
        self.n_chars + self.n_docstrings.saturating_sub(1)
    }

    pub(super) fn add(&mut self, text: &str) {
        let n_chars = docstring::cleaned_chars(text);
        self.n_docstrings += usize::from(n_chars > 0);
        self.n_chars += n_chars;
    }
}

/// The docstrings of the module, its classes and functions; `None` if it is not valid.
pub(super) fn docstrings(source: &str) -> Option<Docstrings> {
    let text = lexer::normalize(source)?;
    let mut parser = Parser { tokens: &lexer::tokens(&text)?, at: 0, depth: 0, docstrings: Docstrings::default() };
    parser.file()?;
    Some(parser.docstrings)
}

/// Whether the text between the braces of an f-string is an expression.
pub(super) fn is_expression(source: &str, depth: usize) -> Option<()> {
    let source = format!("({source})");
    let text = lexer::normalize(&source)?;
    let depth = depth + 1;
    let mut parser = Parser { tokens: &lexer::tokens(&text)?, at: 0, depth, docstrings: Docstrings::default() };
    parser.star_expressions()?;
    parser.end_of_line()
}

pub(super) struct Parser<'t> {
    tokens: &'t [Token<'t>],
    at: usize,
    pub(super) depth: usize,
    pub(super) docstrings: Docstrings,
}

impl<'t> Parser<'t> {
    fn token(&self, offset: usize) -> Token<'t> {
        self.tokens.get(self.at + offset).copied().unwrap_or(Token { kind: Kind::End, text: "" })
    }

    pub(super) fn kind(&self) -> Kind {
        self.token(0).kind
    }

    /// The text of an operator or word here; empty for other tokens.
    pub(super) fn text(&self) -> &'t str {
        self.text_at(0)
    }

    pub(super) fn text_at(&self, offset: usize) -> &'t str {
        let token = self.token(offset);
        if matches!(token.kind, Kind::Name | Kind::Operator) { token.text } else { "" }
    }

    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn back_to(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn advance(&mut self) -> Token<'t> {
        let token = self.token(0);
        self.at += 1;
        token
    }

    /// Takes an operator or keyword if it is here.
    pub(super) fn accept(&mut self, text: &str) -> bool {
        let is_here = self.text() == text;
        self.at += usize::from(is_here);
        is_here
    }

    pub(super) fn take(&mut self, text: &str) -> Option<()> {
        self.accept(text).then_some(())
    }

    pub(super) fn take_kind(&mut self, kind: Kind) -> Option<Token<'t>> {
        (self.kind() == kind).then(|| self.advance())
    }

    pub(super) fn is_name_at(&self, offset: usize) -> bool {
        let token = self.token(offset);
        token.kind == Kind::Name && !KEYWORDS.contains(&token.text)
    }

    pub(super) fn name(&mut self) -> Option<&'t str> {
        self.is_name_at(0).then(|| self.advance().text)
    }

    pub(super) fn end_of_line(&mut self) -> Option<()> {
        self.take_kind(Kind::Newline).map(|_| ())
    }

    /// Runs `rule` one level deeper.
    pub(super) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Adjacent string literals.
    pub(super) fn strings(&mut self) -> Option<Literal> {
        let mut value: Option<Literal> = None;
        while self.kind() == Kind::String {
            let next = super::strings::literal(self.advance().text, self.depth)?;
            value = Some(match value {
                Some(before) => super::strings::join(before, next)?,
                None => next,
            });
        }
        value
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // As Python 3.11's `ast.parse` decides.
    #[test]
    fn the_grammar_is_python_3_11() {
        let valid = include_str!("valid.txt");
        let invalid = include_str!("invalid.txt");
        for (cases, expected) in [(valid, true), (invalid, false)] {
            for case in cases.split("\n----\n") {
                assert_eq!(docstrings(case).is_some(), expected, "{case}");
            }
        }
    }

    #[test]
    fn docstrings_are_first_in_module_class_and_function() {
        for (source, expected) in [
            ("'a'\n'b'", (1, 1)),
            ("def f(): 'ab'", (1, 2)),
            ("async def f():\n  'ab'\n  class A:\n    ('c' \"d\")", (1, 2)),
            ("b'a'", (0, 0)),
            ("f'a'", (0, 0)),
            ("if x:\n  'a'", (0, 0)),
            ("x = 'a'", (0, 0)),
            ("''", (0, 0)),
            ("'\\x41\\n\\N{BULLET}\\d'", (1, 5)),
        ] {
            let found = docstrings(source).unwrap();
            assert_eq!((found.n_docstrings, found.n_chars), expected, "{source}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(docstrings(&format!("{}{}", "(".repeat(200), ")".repeat(200))).is_some());
        assert!(docstrings(&format!("{}{}", "[".repeat(201), "]".repeat(201))).is_none());
        assert!(docstrings(&"lambda x=".repeat(100_000)).is_none());
        assert!(docstrings(&format!("x = {}1", "-".repeat(1000))).is_some());
        let blocks: String = (0..99).map(|n| format!("{}if x:\n", " ".repeat(n))).collect();
        assert!(docstrings(&format!("{blocks}{}y", " ".repeat(99))).is_some());
    }
}
