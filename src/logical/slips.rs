//! Slips in expressions that SQL's parser takes for something else: it reports them at another place, or not at all.
//!
//! They are known by their tokens alone. Not here: what only the types tell (`comparisons.rs`).

use super::positions::Positions;
use crate::diag::{Code, Diagnostic, SourceText, Span};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// One slice of a text and its tokens.
pub struct Slips<'a> {
    /// Where tokens stand.
    pub positions: &'a Positions,
    /// The text.
    pub source: &'a SourceText,
    /// The slice.
    pub slice: Span,
    /// Its tokens.
    pub tokens: &'a [TokenWithSpan],
}

impl Slips<'_> {
    /// A sign of other languages that SQL would take for another operator: `&&` asks whether two lists overlap.
    pub fn foreign_sign(&self) -> Option<Diagnostic> {
        self.words().find_map(|token| {
            let (sign, word) = match token.token {
                Token::Overlap => ("&&", "AND"),
                Token::ExclamationMark | Token::DoubleExclamationMark => ("!", "NOT"),
                _ => return None,
            };
            let found = self.error(token, format!("`{sign}` is written {word} here"))?;
            Some(found.at(format!("write `{word}`")).help("conditions are joined with AND, OR and NOT"))
        })
    }

    /// What is wrong with a slice that does not parse, if it is one of the usual slips.
    pub fn usual(&self) -> Option<Diagnostic> {
        self.doubled_and()
            .or_else(|| self.bare_list())
            .or_else(|| self.word_for_function())
            .or_else(|| self.open_case())
    }

    fn doubled_and(&self) -> Option<Diagnostic> {
        let joins = |token: &TokenWithSpan| matches!(keyword(token), Keyword::AND | Keyword::OR);
        let (first, second) = self.pairs().find(|(first, second)| joins(first) && joins(second))?;
        let found = self.error(second, format!("`{}` directly after `{}`", second.token, first.token))?;
        Some(found.at("a condition is missing before this"))
    }

    /// `lang IN 'en', 'de'`
    fn bare_list(&self) -> Option<Diagnostic> {
        let is_value = |token: &Token| matches!(token, Token::SingleQuotedString(_) | Token::Number(..));
        let (_, value) =
            self.pairs().find(|(first, second)| keyword(first) == Keyword::IN && is_value(&second.token))?;
        let found = self.error(value, "IN takes its values in brackets")?;
        Some(found.at("`(` is missing before this").help("write `lang IN ('en', 'de')`"))
    }

    /// `text CONTAINS 'x'`
    fn word_for_function(&self) -> Option<Diagnostic> {
        let (word, value) = self.pairs().find_map(|(first, second)| {
            let (Token::Word(word), Token::SingleQuotedString(value)) = (&first.token, &second.token) else {
                return None;
            };
            let call = match word.value.to_ascii_uppercase().as_str() {
                "CONTAINS" | "HAS" | "INCLUDES" => "contains",
                "STARTSWITH" | "STARTS_WITH" | "BEGINS_WITH" => "starts_with",
                "ENDSWITH" | "ENDS_WITH" => "ends_with",
                "MATCHES" | "MATCH" => "regexp_like",
                _ => return None,
            };
            Some((first, format!("write `{call}(column, '{}')`", value.replace('\'', "''"))))
        })?;
        let found = self.error(word, format!("`{}` is not an operator", word.token))?;
        Some(found.at("a function here").help(value))
    }

    fn open_case(&self) -> Option<Diagnostic> {
        let count = |wanted: Keyword| self.words().filter(|token| keyword(token) == wanted).count();
        (count(Keyword::CASE) > count(Keyword::END)).then(|| {
            let end = Span::new(self.slice.end, self.slice.end);
            Diagnostic::error(Code::Expression, "CASE without END", self.source, end).at("END is missing before this")
        })
    }

    fn words(&self) -> impl Iterator<Item = &TokenWithSpan> {
        self.tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)))
    }

    fn pairs(&self) -> impl Iterator<Item = (&TokenWithSpan, &TokenWithSpan)> {
        self.words().zip(self.words().skip(1))
    }

    fn error(&self, token: &TokenWithSpan, message: impl Into<String>) -> Option<Diagnostic> {
        let span = self.positions.find(token.span)?.span;
        Some(Diagnostic::error(Code::Expression, message, self.source, span))
    }
}

fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}
