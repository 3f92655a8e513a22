//! The values of string literals: escapes, and the expressions in f-strings.
//!
//! Invariant: `None` where CPython 3.11 refuses the literal.
//! Not here: whether `\N{…}` names a character, which would take all of Unicode's names; any name will do.

use super::grammar;

/// What adjacent string literals make together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    /// A text. Surrogates, which text cannot hold, are replaced.
    Text(String),
    Bytes,
    /// An f-string is an expression, with or without parts to compute.
    Formatted,
}

/// The value of one token. `depth` counts the expressions around it.
pub(super) fn literal(token: &str, depth: usize) -> Option<Literal> {
    let quote_at = token.find(['"', '\''])?;
    let prefix = token[..quote_at].to_ascii_lowercase();
    let quote = &token[quote_at..];
    let n_quotes = if quote.len() >= 6 && (quote.starts_with("\"\"\"") || quote.starts_with("'''")) { 3 } else { 1 };
    let body = quote.get(n_quotes..quote.len() - n_quotes)?;
    let is_raw = prefix.contains('r');
    if prefix.contains('b') {
        return (body.is_ascii() && (is_raw || has_valid_byte_escapes(body))).then_some(Literal::Bytes);
    }
    if prefix.contains('f') {
        let mut format = Format { body, at: 0, is_raw, depth };
        format.parts(0)?;
        return (format.at == body.len()).then_some(Literal::Formatted);
    }
    Some(Literal::Text(if is_raw { body.to_string() } else { unescape(body)? }))
}

/// The value of adjacent literals; bytes and text do not mix.
pub(super) fn join(first: Literal, second: Literal) -> Option<Literal> {
    match (first, second) {
        (Literal::Text(first), Literal::Text(second)) => Some(Literal::Text(first + &second)),
        (Literal::Bytes, Literal::Bytes) => Some(Literal::Bytes),
        (Literal::Bytes, _) | (_, Literal::Bytes) => None,
        _ => Some(Literal::Formatted),
    }
}

/// In bytes only `\x` can be wrong.
fn has_valid_byte_escapes(body: &str) -> bool {
    let bytes = body.as_bytes();
    let mut at = 0;
    while let Some(step) = memchr::memchr(b'\\', &bytes[at..]) {
        at += step + 2;
        if bytes.get(at - 1) == Some(&b'x')
            && !bytes.get(at..at + 2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
        {
            return false;
        }
        if at > bytes.len() {
            break;
        }
    }
    true
}

/// Replaces the escapes of a text. Those that Python does not know stay as they are.
fn unescape(body: &str) -> Option<String> {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut chars = rest[at + 1..].chars();
        // Before the brace of an f-string a backslash may come last.
        let Some(escape) = chars.next() else {
            out.push('\\');
            return Some(out);
        };
        rest = chars.as_str();
        match escape {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(escape),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            '0'..='7' => {
                let n_more = rest.bytes().take(2).take_while(|b| matches!(b, b'0'..=b'7')).count();
                let digits = rest[..n_more].bytes().fold(u32::from(escape) - 48, |n, b| n * 8 + u32::from(b - b'0'));
                out.push(char::from_u32(digits)?);
                rest = &rest[n_more..];
            }
            'x' | 'u' | 'U' => {
                let n_digits = match escape {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let digits = rest.get(..n_digits)?;
                if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return None;
                }
                let code = u32::from_str_radix(digits, 16).ok()?;
                if code > 0x10ffff {
                    return None;
                }
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = &rest[n_digits..];
            }
            'N' => {
                let (name, after) = rest.strip_prefix('{')?.split_once('}')?;
                if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'-')) {
                    return None;
                }
                out.push(char::REPLACEMENT_CHARACTER);
                rest = after;
            }
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// The body of an f-string, read from the left.
struct Format<'t> {
    body: &'t str,
    at: usize,
    is_raw: bool,
    depth: usize,
}

impl Format<'_> {
    fn byte(&self, offset: usize) -> Option<u8> {
        self.body.as_bytes().get(self.at + offset).copied()
    }

    /// Text and expressions in turn, up to the end or, inside a format, to its `}`.
    fn parts(&mut self, level: usize) -> Option<()> {
        loop {
            let is_doubled = self.text(level)?;
            match self.byte(0) {
                None => return Some(()),
                _ if is_doubled => {}
                Some(b'{') => self.expression(level)?,
                // Only a format ends here: elsewhere `text` refuses it.
                Some(_) => return Some(()),
            }
        }
    }

    /// Text up to a brace; says whether it ended in a doubled one, which belongs to it.
    fn text(&mut self, level: usize) -> Option<bool> {
        let start = self.at;
        let mut end = self.body.len();
        let mut is_doubled = false;
        while let Some(byte) = self.byte(0) {
            self.at += 1;
            if byte == b'\\' && !self.is_raw {
                match self.byte(0) {
                    Some(b'N') => {
                        self.at += 1;
                        if self.byte(0) == Some(b'{') {
                            let rest = &self.body.as_bytes()[self.at..];
                            self.at += memchr::memchr(b'}', rest).map_or(rest.len(), |step| step + 1);
                        }
                    }
                    Some(b'{' | b'}') | None => {}
                    Some(_) => self.at += 1,
                }
                continue;
            }
            if byte == b'{' || byte == b'}' {
                end = self.at - 1;
                if level == 0 && self.byte(0) == Some(byte) {
                    end = self.at;
                    self.at += 1;
                    is_doubled = true;
                } else if level == 0 && byte == b'}' {
                    return None;
                } else {
                    self.at -= 1;
                }
                break;
            }
        }
        if !self.is_raw {
            unescape(self.body.get(start..end)?)?;
        }
        Some(is_doubled)
    }

    /// `{expression=!conversion:format}` with its braces.
    fn expression(&mut self, level: usize) -> Option<()> {
        if level >= 2 {
            return None;
        }
        self.at += 1;
        let start = self.at;
        self.skip_expression()?;
        let source = &self.body[start..self.at];
        if source.trim_matches([' ', '\t', '\n', '\x0c', '\r']).is_empty() {
            return None;
        }
        grammar::is_expression(source, self.depth)?;
        if self.byte(0) == Some(b'=') {
            self.at += 1;
            while self.byte(0).is_some_and(|b| b.is_ascii_whitespace() || b == b'\x0b') {
                self.at += 1;
            }
        }
        if self.byte(0) == Some(b'!') {
            if !matches!(self.byte(1)?, b's' | b'r' | b'a') {
                return None;
            }
            self.at += 2;
        }
        if self.byte(0)? == b':' {
            self.at += 1;
            self.byte(0)?;
            self.parts(level + 1)?;
        }
        if self.byte(0)? != b'}' {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Goes to the `!`, `:`, `=` or `}` that ends an expression: outside of strings and brackets.
    fn skip_expression(&mut self) -> Option<()> {
        let bytes = self.body.as_bytes();
        let mut brackets = Vec::new();
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' | b'#' => return None,
                b'\'' | b'"' => {
                    let triple = [byte; 3];
                    let mark = if bytes[self.at..].starts_with(&triple) { &triple[..] } else { &triple[..1] };
                    let inside = self.at + mark.len();
                    let length = memchr::memmem::find(&bytes[inside..], mark)?;
                    if bytes[inside..inside + length].contains(&b'\\') {
                        return None;
                    }
                    self.at = inside + length + mark.len();
                    continue;
                }
                b'(' | b'[' | b'{' => brackets.push(byte),
                b'!' | b'=' | b'<' | b'>' if brackets.is_empty() && self.byte(1) == Some(b'=') => self.at += 1,
                b'!' | b'=' | b':' | b'}' if brackets.is_empty() => return Some(()),
                b')' | b']' | b'}' => {
                    let open = brackets.pop()?;
                    if !matches!((open, byte), (b'(', b')') | (b'[', b']') | (b'{', b'}')) {
                        return None;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        None
    }
}
