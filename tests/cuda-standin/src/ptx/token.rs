//! Cuts PTX text into words, numbers and signs.
//!
//! A word holds its dots (`ld.global.u8`, `%tid.x`, `.reg`), because PTX never puts white space around them.
//! Invariant: every token knows its line, so that every later error can name one.
//! Not here: what the words mean.

/// One token and the line it starts on.
#[derive(Debug, Clone, PartialEq)]
pub struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub line: u32,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TokenKind<'a> {
    /// A name, directive, opcode or register.
    Word(&'a str),
    /// A whole number; its bits.
    Integer(u64),
    /// A decimal number such as `1.5`.
    Decimal(f64),
    /// `0f3F800000`: the bits of a single.
    SingleBits(u32),
    /// `0d3FF0000000000000`: the bits of a double.
    DoubleBits(u64),
    /// A text in quotes, only met in pragmas and debug information.
    Text(&'a str),
    /// Any other character.
    Sign(char),
}

/// All tokens of `text`, comments left out.
pub fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut out = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '\0' => break,
            '\n' => {
                line += 1;
                Some(1)
            }
            c if c.is_whitespace() => Some(c.len_utf8()),
            '/' if rest.starts_with("//") => Some(rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
                line += rest[..end].matches('\n').count() as u32;
                Some(end)
            }
            _ => None,
        };
        if let Some(n_bytes) = skipped {
            rest = &rest[n_bytes..];
            continue;
        }
        let (kind, n_bytes) = token(rest, first).map_err(|what| format!("line {line}: {what}"))?;
        out.push(Token { kind, line });
        rest = &rest[n_bytes..];
    }
    Ok(out)
}

fn token(rest: &str, first: char) -> Result<(TokenKind<'_>, usize), String> {
    if first.is_ascii_digit() {
        return number(rest);
    }
    if first == '"' {
        let end = rest[1..].find('"').ok_or("a text without its closing quote")?;
        return Ok((TokenKind::Text(&rest[1..=end]), end + 2));
    }
    let n_bytes = word_length(rest);
    if n_bytes > 0 {
        return Ok((TokenKind::Word(&rest[..n_bytes]), n_bytes));
    }
    Ok((TokenKind::Sign(first), first.len_utf8()))
}

/// A word may hold `::` (`.shared::cta`), while a single colon ends a label.
fn word_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.') {
            at += 1;
        } else if at > 0 && rest[at..].starts_with("::") {
            at += 2;
        } else {
            break;
        }
    }
    at
}

fn number(rest: &str) -> Result<(TokenKind<'_>, usize), String> {
    let n_bytes = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'.').count();
    let written = &rest[..n_bytes];
    let wrong = |_| format!("`{written}` is not a number");
    let lower = written.to_ascii_lowercase();
    let kind = if let Some(hex) = lower.strip_prefix("0x") {
        TokenKind::Integer(u64::from_str_radix(hex.trim_end_matches('u'), 16).map_err(wrong)?)
    } else if let Some(hex) = lower.strip_prefix("0f") {
        TokenKind::SingleBits(u32::from_str_radix(hex, 16).map_err(wrong)?)
    } else if let Some(hex) = lower.strip_prefix("0d") {
        TokenKind::DoubleBits(u64::from_str_radix(hex, 16).map_err(wrong)?)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        TokenKind::Integer(u64::from_str_radix(binary.trim_end_matches('u'), 2).map_err(wrong)?)
    } else if lower.contains('.') || lower.contains('e') {
        TokenKind::Decimal(lower.parse().map_err(|_| format!("`{written}` is not a number"))?)
    } else {
        let digits = lower.trim_end_matches('u');
        let octal = digits.len() > 1 && digits.starts_with('0');
        TokenKind::Integer(u64::from_str_radix(digits, if octal { 8 } else { 10 }).map_err(wrong)?)
    };
    Ok((kind, n_bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_dots_and_numbers_their_bits() {
        let kinds = |text| tokens(text).unwrap().into_iter().map(|t| t.kind).collect::<Vec<_>>();
        assert_eq!(
            kinds("$L_1: ld.global.L2::128B.u8 %rd1, [%rd2+-8]; // no"),
            [
                TokenKind::Word("$L_1"),
                TokenKind::Sign(':'),
                TokenKind::Word("ld.global.L2::128B.u8"),
                TokenKind::Word("%rd1"),
                TokenKind::Sign(','),
                TokenKind::Sign('['),
                TokenKind::Word("%rd2"),
                TokenKind::Sign('+'),
                TokenKind::Sign('-'),
                TokenKind::Integer(8),
                TokenKind::Sign(']'),
                TokenKind::Sign(';'),
            ]
        );
        assert_eq!(
            kinds("0f3F800000 0d3FF0000000000000"),
            [TokenKind::SingleBits(1f32.to_bits()), TokenKind::DoubleBits(1f64.to_bits())]
        );
        assert_eq!(
            kinds("0x1FU 017 1.5 /* a\nb */ 3"),
            [TokenKind::Integer(31), TokenKind::Integer(15), TokenKind::Decimal(1.5), TokenKind::Integer(3)]
        );
        assert_eq!(tokens("/* a\n */\n x").unwrap()[0].line, 3);
    }
}
