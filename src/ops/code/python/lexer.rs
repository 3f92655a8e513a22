//! The tokens that Python's compiler sees.
//!
//! Stricter than `tokenize.rs`: tabs and spaces that do not compare, brackets that do not match, numbers that run into
//! letters, and characters that begin nothing are refused.
//!
//! Invariant: `None` where CPython 3.11's tokenizer raises; line ends are line feeds before (see [`normalize`]).

use std::borrow::Cow;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or keyword.
    Name,
    Number,
    /// A string with its prefix and quotes.
    String,
    Operator,
    Newline,
    Indent,
    Dedent,
    /// The end of the file.
    End,
}

/// A token: its kind and its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
}

/// As many brackets may be open at once, and as many indentations.
const MAX_BRACKETS: usize = 200;
const MAX_INDENTS: usize = 100;

/// The source with every line end a line feed, and one at its end; `None` if it has a zero byte.
pub(super) fn normalize(source: &str) -> Option<Cow<'_, str>> {
    if source.contains('\0') {
        return None;
    }
    let mut text = Cow::Borrowed(source);
    if source.contains('\r') {
        text = Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n"));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.to_mut().push('\n');
    }
    Some(text)
}

/// All tokens of a normalized source.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer { text, at: 0, indents: vec![(0, 0)], brackets: vec![], tokens: vec![] };
    lexer.run()?;
    Some(lexer.tokens)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// Columns with tabs to the next multiple of eight, and with tabs as one.
    indents: Vec<(usize, usize)>,
    brackets: Vec<u8>,
    tokens: Vec<Token<'t>>,
}

impl<'t> Lexer<'t> {
    fn byte(&self, offset: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + offset).copied()
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token { kind, text: &self.text[start..self.at] });
    }

    fn run(&mut self) -> Option<()> {
        let mut at_line_start = true;
        loop {
            let mut is_blank = false;
            if at_line_start {
                at_line_start = false;
                is_blank = self.indentation()?;
            }
            while let Some(b' ' | b'\t' | b'\x0c') = self.byte(0) {
                self.at += 1;
            }
            if self.byte(0) == Some(b'#') {
                let rest = &self.text.as_bytes()[self.at..];
                self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            }
            let start = self.at;
            match self.byte(0) {
                None => break,
                Some(b'\n') => {
                    self.at += 1;
                    at_line_start = true;
                    if !is_blank && self.brackets.is_empty() {
                        self.push(Kind::Newline, start);
                    }
                }
                Some(b'\\') => self.continuation()?,
                Some(byte) => self.token(byte, start)?,
            }
        }
        if !self.brackets.is_empty() {
            return None;
        }
        // A file that ends in a comment line or a blank one has its last line end already.
        let open_line = self.tokens.last().is_some_and(|last| !matches!(last.kind, Kind::Newline | Kind::Dedent));
        let start = self.at;
        if open_line {
            self.push(Kind::Newline, start);
        }
        for _ in 1..self.indents.len() {
            self.push(Kind::Dedent, start);
        }
        self.push(Kind::End, start);
        Some(())
    }

    /// Reads the white space at the start of a line; says whether nothing or a comment follows it.
    fn indentation(&mut self) -> Option<bool> {
        let (mut column, mut alternative) = (0, 0);
        let mut continued_column = 0;
        loop {
            match self.byte(0) {
                Some(b' ') => {
                    column += 1;
                    alternative += 1;
                }
                Some(b'\t') => {
                    column = (column / 8 + 1) * 8;
                    alternative += 1;
                }
                Some(b'\x0c') => (column, alternative) = (0, 0),
                Some(b'\\') => {
                    if continued_column == 0 {
                        continued_column = column;
                    }
                    self.continuation()?;
                    continue;
                }
                _ => break,
            }
            self.at += 1;
        }
        if matches!(self.byte(0), Some(b'#' | b'\n')) {
            return Some(true);
        }
        if !self.brackets.is_empty() || self.byte(0).is_none() {
            return Some(false);
        }
        if continued_column > 0 {
            (column, alternative) = (continued_column, continued_column);
        }
        let start = self.at;
        let top = *self.indents.last()?;
        if column == top.0 {
            return (alternative == top.1).then_some(false);
        }
        if column > top.0 {
            if alternative <= top.1 || self.indents.len() >= MAX_INDENTS {
                return None;
            }
            self.indents.push((column, alternative));
            self.push(Kind::Indent, start);
            return Some(false);
        }
        while self.indents.last().is_some_and(|top| column < top.0) {
            self.indents.pop();
            self.push(Kind::Dedent, start);
        }
        (self.indents.last() == Some(&(column, alternative))).then_some(false)
    }

    /// A backslash must end its line, and another line must follow.
    fn continuation(&mut self) -> Option<()> {
        if self.byte(1) != Some(b'\n') {
            return None;
        }
        self.at += 2;
        self.byte(0).map(|_| ())
    }

    fn token(&mut self, byte: u8, start: usize) -> Option<()> {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                let mut ahead = 0;
                while ahead < 3 && self.byte(ahead).is_some_and(|b| b.is_ascii_alphabetic()) {
                    ahead += 1;
                }
                let is_prefix = is_string_prefix(&self.text[start..start + ahead]);
                if is_prefix && matches!(self.byte(ahead), Some(b'"' | b'\'')) {
                    self.at += ahead;
                    return self.string(start);
                }
                self.name(start)
            }
            b'"' | b'\'' => self.string(start),
            b'0'..=b'9' => self.number(start),
            b'.' if self.byte(1).is_some_and(|b| b.is_ascii_digit()) => self.number(start),
            _ => self.operator(start),
        }
    }

    fn name(&mut self, start: usize) -> Option<()> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..);
        self.at += self.text.as_bytes()[start..].iter().take_while(|byte| is_part(byte)).count();
        let name = &self.text[start..self.at];
        if !name.is_ascii() {
            let mut chars = name.chars();
            let first = chars.next()?;
            if !(first == '_' || unicode_ident::is_xid_start(first)) || !chars.all(unicode_ident::is_xid_continue) {
                return None;
            }
        }
        self.push(Kind::Name, start);
        Some(())
    }

    /// A string whose opening quote is here.
    fn string(&mut self, start: usize) -> Option<()> {
        let bytes = self.text.as_bytes();
        let quote = self.byte(0)?;
        let is_triple = bytes[self.at..].starts_with(&[quote; 3]);
        self.at += if is_triple { 3 } else { 1 };
        loop {
            self.at += memchr::memchr3(quote, b'\\', b'\n', &bytes[self.at..])?;
            match self.byte(0)? {
                b'\\' => self.at += 2,
                b'\n' if is_triple => self.at += 1,
                b'\n' => return None,
                _ if !is_triple => {
                    self.at += 1;
                    break;
                }
                _ if bytes[self.at..].starts_with(&[quote; 3]) => {
                    self.at += 3;
                    break;
                }
                _ => self.at += 1,
            }
            if self.at > bytes.len() {
                return None;
            }
            // A backslash may stand before a character of several bytes.
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
        self.push(Kind::String, start);
        Some(())
    }

    /// Digits, with single underscores between them; `None` if there is none.
    fn digits(&mut self, is_digit: fn(&u8) -> bool) -> Option<()> {
        loop {
            if !self.byte(0).is_some_and(|b| is_digit(&b)) {
                return None;
            }
            while self.byte(0).is_some_and(|b| is_digit(&b)) {
                self.at += 1;
            }
            if self.byte(0) != Some(b'_') {
                return Some(());
            }
            self.at += 1;
        }
    }

    fn number(&mut self, start: usize) -> Option<()> {
        let base: Option<fn(&u8) -> bool> = match (self.byte(0), self.byte(1)) {
            (Some(b'0'), Some(b'x' | b'X')) => Some(u8::is_ascii_hexdigit),
            (Some(b'0'), Some(b'o' | b'O')) => Some(|b| matches!(b, b'0'..=b'7')),
            (Some(b'0'), Some(b'b' | b'B')) => Some(|b| matches!(b, b'0' | b'1')),
            _ => None,
        };
        if let Some(is_digit) = base {
            self.at += 2;
            if self.byte(0) == Some(b'_') {
                self.at += 1;
            }
            self.digits(is_digit)?;
            if self.byte(0).is_some_and(|b| b.is_ascii_digit()) {
                return None;
            }
        } else {
            let mut is_whole = true;
            if self.byte(0) != Some(b'.') {
                self.digits(u8::is_ascii_digit)?;
            }
            let whole = &self.text[start..self.at];
            let has_leading_zero = whole.starts_with('0') && whole.bytes().any(|b| matches!(b, b'1'..=b'9'));
            let n_digits = whole.bytes().filter(u8::is_ascii_digit).count();
            if self.byte(0) == Some(b'.') {
                is_whole = false;
                self.at += 1;
                if self.byte(0).is_some_and(|b| b.is_ascii_digit()) {
                    self.digits(u8::is_ascii_digit)?;
                }
            }
            if matches!(self.byte(0), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
                if self.byte(1 + sign).is_some_and(|b| b.is_ascii_digit()) {
                    is_whole = false;
                    self.at += 1 + sign;
                    self.digits(u8::is_ascii_digit)?;
                } else if sign == 1 {
                    return None;
                }
            }
            if matches!(self.byte(0), Some(b'j' | b'J')) {
                is_whole = false;
                self.at += 1;
            }
            // Python reads no longer decimal number than this.
            if is_whole && (has_leading_zero || n_digits > 4300) {
                return None;
            }
        }
        self.end_of_number()?;
        self.push(Kind::Number, start);
        Some(())
    }

    /// A number may run into a keyword that can follow it, and into no other letter.
    fn end_of_number(&self) -> Option<()> {
        let rest = &self.text[self.at..];
        let keywords = ["and", "else", "for", "if", "in", "is", "or", "not"];
        let is_letter = self.byte(0).is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | 0x80..));
        (!is_letter || keywords.iter().any(|keyword| rest.starts_with(keyword))).then_some(())
    }

    fn operator(&mut self, start: usize) -> Option<()> {
        let rest = &self.text[start..];
        let length = [3, 2, 1].into_iter().find(|n| rest.get(..*n).is_some_and(|op| OPERATORS.contains(&op)))?;
        let byte = rest.as_bytes()[0];
        match byte {
            b'(' | b'[' | b'{' => {
                if self.brackets.len() >= MAX_BRACKETS {
                    return None;
                }
                self.brackets.push(byte);
            }
            b')' | b']' | b'}' => {
                let open = self.brackets.pop()?;
                if !matches!((open, byte), (b'(', b')') | (b'[', b']') | (b'{', b'}')) {
                    return None;
                }
            }
            _ => {}
        }
        self.at += length;
        self.push(Kind::Operator, start);
        Some(())
    }
}

/// Whether letters before a quote are a prefix of the string.
fn is_string_prefix(letters: &str) -> bool {
    let lower = letters.to_ascii_lowercase();
    matches!(lower.as_str(), "" | "b" | "r" | "u" | "f" | "br" | "rb" | "fr" | "rf")
}

/// `<>` and a lone `!` are tokens, too, but no rule of the grammar takes them.
const OPERATORS: &[&str] = &[
    "**=", "//=", ">>=", "<<=", "...", "!=", "%=", "&=", "**", "*=", "+=", "-=", "->", "//", "/=", ":=", "<<", "<=",
    "==", ">=", ">>", "@=", "^=", "|=", "%", "&", "(", ")", "*", "+", ",", "-", ".", "/", ":", ";", "<", "=", ">", "@",
    "[", "]", "^", "{", "|", "}", "~",
];
