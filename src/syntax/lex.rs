//! Text to tokens, in one pass that never fails.
//!
//! Quotes, comments and numbers are read as SQL's generic dialect reads them, so that what we cut out of the
//! text is what the SQL parser would have seen there. Invariant: tokens are in order, do not overlap, and leave
//! out nothing but white space.
//! Not here: whether brackets match (`split.rs`) and what the words mean (`grammar/cql.pest`).

use crate::diag::Span;

/// What a token is, as far as its letters tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword or a name without quotes.
    Word,
    /// `"a b"` or `` `a b` ``
    QuotedName,
    /// `'text'`, and the other ways to write a string: `E'…'`, `r'…'`, `X'…'`, `$$…$$`
    Text,
    /// `12`, `0.5`, `1e9`
    Number,
    /// `$name`
    Parameter,
    /// `|>`
    Pipe,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `(`, `[` or `{`
    Open,
    /// `)`, `]` or `}`
    Close,
    /// Any other sign: `=`, `->`, `::`, `.`
    Operator,
    /// `-- …` to the end of the line, or `/* … */`
    Comment,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
    /// False for a quote or comment that runs to the end of the text without an end of its own.
    pub closed: bool,
}

impl Token {
    /// The token as written.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.span.start..self.span.end).unwrap_or_default()
    }
}

/// Signs of more than one character, longer ones first.
const LONG_OPERATORS: &[&str] = &[
    "!~~*", "->>", "#>>", "<=>", "!~*", "~~*", "!~~", "|>", "=>", "->", "::", ":=", "<=", ">=", "<>", "!=", "==", "||",
    "&&", "@>", "<@", "#>", "#-", "!~", "~*", "~~", "<<", ">>", "//",
];

/// The tokens of a text, comments among them.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 5);
    while let Some(first) = lexer.peek() {
        let start = lexer.at;
        if first.is_whitespace() {
            lexer.at += first.len_utf8();
            continue;
        }
        let (kind, closed) = lexer.token(first);
        tokens.push(Token { kind, span: Span::new(start, lexer.at), closed });
    }
    tokens
}

/// Whether a word can start with this character.
pub fn starts_word(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '#' | '@')
}

fn continues_word(c: char) -> bool {
    c.is_alphabetic() || c.is_ascii_digit() || matches!(c, '_' | '#' | '@' | '$')
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while let Some(c) = self.peek().filter(|c| wanted(*c)) {
            self.at += c.len_utf8();
        }
    }

    fn token(&mut self, first: char) -> (TokenKind, bool) {
        if let Some(closed) = self.prefixed_text() {
            return (TokenKind::Text, closed);
        }
        match first {
            '-' if self.byte(1) == b'-' => {
                self.at = memchr::memchr(b'\n', self.rest().as_bytes()).map_or(self.text.len(), |at| self.at + at);
                // A line that ends in CR LF does not have the CR in its comment.
                if self.text.as_bytes().get(self.at.wrapping_sub(1)) == Some(&b'\r') {
                    self.at -= 1;
                }
                (TokenKind::Comment, true)
            }
            '/' if self.byte(1) == b'*' => (TokenKind::Comment, self.block_comment()),
            '\'' => (TokenKind::Text, self.quoted(0, b'\'', false)),
            '"' | '`' => (TokenKind::QuotedName, self.quoted(0, first as u8, false)),
            '$' => self.dollar(),
            '(' | '[' | '{' => self.sign(TokenKind::Open),
            ')' | ']' | '}' => self.sign(TokenKind::Close),
            ',' => self.sign(TokenKind::Comma),
            ';' => self.sign(TokenKind::Semicolon),
            c if c.is_ascii_digit() || (c == '.' && self.byte(1).is_ascii_digit() && !self.after_operand()) => {
                self.number();
                (TokenKind::Number, true)
            }
            c if self.long_operator().is_none() && starts_word(c) => {
                self.skip_while(continues_word);
                (TokenKind::Word, true)
            }
            c => {
                let operator = self.long_operator();
                self.at += operator.map_or(c.len_utf8(), str::len);
                (if operator == Some("|>") { TokenKind::Pipe } else { TokenKind::Operator }, true)
            }
        }
    }

    fn sign(&mut self, kind: TokenKind) -> (TokenKind, bool) {
        self.at += 1;
        (kind, true)
    }

    fn long_operator(&self) -> Option<&'static str> {
        LONG_OPERATORS.iter().find(|operator| self.rest().starts_with(**operator)).copied()
    }

    /// Whether the character just before ends an operand, so that a `.` here takes a field of it.
    fn after_operand(&self) -> bool {
        self.text[..self.at]
            .chars()
            .next_back()
            .is_some_and(|c| continues_word(c) || matches!(c, ')' | ']' | '}' | '"' | '`' | '\''))
    }

    /// `12`, `1_000`, `0x1F`, `.5`, `1.5e-3`
    fn number(&mut self) {
        if self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X') && self.byte(2).is_ascii_hexdigit() {
            self.at += 2;
            return self.skip_while(|c| c.is_ascii_hexdigit());
        }
        self.skip_while(|c| c.is_ascii_digit() || c == '_');
        if self.byte(0) == b'.' && self.byte(1) != b'.' {
            self.at += 1;
            self.skip_while(|c| c.is_ascii_digit());
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if matches!(self.byte(0), b'e' | b'E') && self.byte(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.skip_while(|c| c.is_ascii_digit());
        }
    }

    /// `E'…'`, `X'…'`, `N'…'`, `U&'…'`, `b'…'`, `r'…'`; `None` if there is no such string here.
    fn prefixed_text(&mut self) -> Option<bool> {
        let (letter, next) = (self.byte(0).to_ascii_lowercase(), self.byte(1));
        match (letter, next) {
            (b'e' | b'x', b'\'') => Some(self.quoted(1, b'\'', true)),
            (b'n', b'\'') => Some(self.quoted(1, b'\'', false)),
            (b'u', b'&') if self.byte(2) == b'\'' => Some(self.quoted(2, b'\'', false)),
            (b'b' | b'r', b'\'' | b'"') => {
                let triple = letter == b'r' && self.byte(2) == next && self.byte(3) == next;
                Some(if triple { self.until(4, &[next; 3]) } else { self.quoted(1, next, false) })
            }
            _ => None,
        }
    }

    /// From `skip` bytes ahead, where the opening quote stands, past the closing one. A doubled quote is a quote.
    fn quoted(&mut self, skip: usize, quote: u8, backslash_escapes: bool) -> bool {
        let bytes = self.text.as_bytes();
        let mut at = self.at + skip + 1;
        while let Some(&byte) = bytes.get(at) {
            let escaped = byte == b'\\' && backslash_escapes;
            let doubled = byte == quote && bytes.get(at + 1) == Some(&quote);
            if escaped || doubled {
                at += 2;
            } else if byte == quote {
                self.at = at + 1;
                return true;
            } else {
                at += 1;
            }
        }
        self.at = bytes.len();
        false
    }

    /// Past the next `end` after `skip` bytes.
    fn until(&mut self, skip: usize, end: &[u8]) -> bool {
        let from = (self.at + skip).min(self.text.len());
        let found = memchr::memmem::find(&self.text.as_bytes()[from..], end);
        self.at = found.map_or(self.text.len(), |at| from + at + end.len());
        found.is_some()
    }

    /// `$name`, `$$text$$` or `$tag$text$tag$`
    fn dollar(&mut self) -> (TokenKind, bool) {
        let start = self.at;
        self.at += 1;
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        if self.byte(0) != b'$' {
            return (TokenKind::Parameter, true);
        }
        let tag = self.text[start..=self.at].to_string();
        self.at = start;
        (TokenKind::Text, self.until(tag.len(), tag.as_bytes()))
    }

    fn block_comment(&mut self) -> bool {
        let mut depth = 0usize;
        while let Some(found) = memchr::memchr2(b'/', b'*', self.rest().as_bytes()) {
            self.at += found;
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => depth += 1,
                (b'*', b'/') => depth -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return true;
            }
        }
        self.at = self.text.len();
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        tokens(text).into_iter().map(|token| (token.kind, token.text(text))).collect()
    }

    #[test]
    fn reads_quotes_as_the_sql_parser_does() {
        use TokenKind::*;
        for (text, kind) in [
            ("'it''s; |> --'", Text),
            (r"E'it\'s'", Text),
            ("r'''it's'''", Text),
            ("$$it's$$", Text),
            ("$a$ $$ $a$", Text),
            ("\"a \"\" b\"", QuotedName),
            ("`a'b`", QuotedName),
            ("/* a /* nested */ comment */", Comment),
            ("-- to the end; '", Comment),
            ("$name", Parameter),
            ("1.5e-3", Number),
            (".5", Number),
            ("0x1F", Number),
            ("1_000", Number),
            ("größe", Word),
            ("@x#1$", Word),
            ("|>", Pipe),
        ] {
            assert_eq!(kinds(text), [(kind, text)]);
            assert!(tokens(text)[0].closed, "{text}");
        }
    }

    #[test]
    fn an_open_quote_or_comment_runs_to_the_end() {
        for text in ["'abc", "\"abc", "`abc", "/* abc", "/* /* */", "$$ abc", "r'''abc''", r"E'abc\'"] {
            let tokens = tokens(text);
            assert_eq!((tokens.len(), tokens[0].closed, tokens[0].span.end), (1, false, text.len()), "{text}");
        }
    }

    #[test]
    fn a_dot_after_a_name_is_no_number() {
        use TokenKind::*;
        assert_eq!(kinds("a.5"), [(Word, "a"), (Operator, "."), (Number, "5")]);
        assert_eq!(kinds("a||>b")[1..], [(Operator, "||"), (Operator, ">"), (Word, "b")]);
    }
}
