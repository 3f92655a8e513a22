//! Slices of text to SQL syntax trees, with every token's place in the user's file.
//!
//! One reader for all of CQL's expressions and for whole SQL statements. What does not parse becomes a
//! [`Diagnostic`] at the token the parser stopped at.

use super::depth::too_deep;
use super::dialect::CuratorDialect;
use super::positions::{OriginId, Positions};
use super::slips::Slips;
use crate::diag::{Code, Diagnostic, SourceText, Span};
use datafusion::sql::parser::{DFParserBuilder, Statement as DFStatement};
use datafusion::sql::sqlparser::ast::{Expr, OrderByExpr, SelectItem, TableFactor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// Deep enough for any query a person writes; the stack of the threads that parse is sized for it.
const RECURSION_LIMIT: usize = 400;

/// Reads SQL out of one text.
pub struct SqlReader<'a> {
    positions: &'a Positions,
    origin: OriginId,
    source: &'a SourceText,
}

impl<'a> SqlReader<'a> {
    /// A reader for a text that `positions` knows as `origin`.
    pub fn new(positions: &'a Positions, origin: OriginId, source: &'a SourceText) -> Self {
        Self { positions, origin, source }
    }

    /// An expression that fills the slice.
    pub fn expr(&self, slice: Span) -> Result<Expr, Diagnostic> {
        self.whole(slice, |parser| parser.parse_expr())
    }

    /// `expression [AS name]`, `*`, `t.*`.
    pub fn select_item(&self, slice: Span) -> Result<SelectItem, Diagnostic> {
        self.whole(slice, |parser| parser.parse_select_item())
    }

    /// `expression [ASC|DESC] [NULLS FIRST|LAST]`.
    pub fn order_by(&self, slice: Span) -> Result<OrderByExpr, Diagnostic> {
        self.whole(slice, |parser| parser.parse_order_by_expr())
    }

    /// What may stand after FROM or JOIN.
    pub fn relation(&self, slice: Span) -> Result<TableFactor, Diagnostic> {
        if let Some(path) = bare_path(self.source.slice(slice)) {
            let span = Span::new(slice.start, slice.start + path.len());
            return Err(Diagnostic::error(Code::UnknownTable, format!("`{path}` is not a name"), self.source, span)
                .at("a path?")
                .help(format!("a file is named in single quotes: FROM '{path}'")));
        }
        self.whole(slice, |parser| {
            let tables = parser.parse_comma_separated(Parser::parse_table_and_joins)?;
            match <[_; 1]>::try_from(tables) {
                Ok([table]) if table.joins.is_empty() => Ok(table.relation),
                Ok([table]) => Ok(TableFactor::NestedJoin { table_with_joins: Box::new(table), alias: None }),
                Err(_) => Err(ParserError::ParserError("one source is expected here; use JOIN for more".into())),
            }
        })
    }

    /// A whole statement, DataFusion's own (COPY, CREATE EXTERNAL TABLE, …) included.
    pub fn statement(&self, slice: Span) -> Result<DFStatement, Diagnostic> {
        let mut tokens = self.tokens(slice)?;
        name_copy_options(&mut tokens);
        let mut parser = DFParserBuilder::new(tokens.clone())
            .with_dialect(&CuratorDialect)
            .with_recursion_limit(RECURSION_LIMIT)
            .build()
            .map_err(|error| self.refused(slice, &tokens, error.strip_backtrace()))?;
        let statement =
            parser.parse_statement().map_err(|error| self.refused(slice, &tokens, error.strip_backtrace()))?;
        let next = parser.parser.peek_token();
        if next.token != Token::EOF {
            return Err(self.unexpected(slice, &next));
        }
        Ok(statement)
    }

    fn whole<T>(
        &self,
        slice: Span,
        parse: impl FnOnce(&mut Parser) -> Result<T, ParserError>,
    ) -> Result<T, Diagnostic> {
        let tokens = self.tokens(slice)?;
        let mut parser = Parser::new(&CuratorDialect)
            .with_recursion_limit(RECURSION_LIMIT)
            .with_tokens_with_locations(tokens.clone());
        let parsed = parse(&mut parser).map_err(|error| self.refused(slice, &tokens, message_of(error)))?;
        let next = parser.peek_token();
        if next.token != Token::EOF {
            return Err(self.slips(slice, &tokens).usual().unwrap_or_else(|| self.unexpected(slice, &next)));
        }
        Ok(parsed)
    }

    fn tokens(&self, slice: Span) -> Result<Vec<TokenWithSpan>, Diagnostic> {
        let text = self.source.slice(slice);
        let mut tokens = Tokenizer::new(&CuratorDialect, text).tokenize_with_location().map_err(|error| {
            let at = SourceText::new("", text).offset(error.location.line as usize, error.location.column as usize);
            let start = (slice.start + at).min(slice.end);
            Diagnostic::error(Code::Expression, error.message, self.source, Span::new(start, slice.end))
        })?;
        self.positions.shift(self.origin, self.source, slice, &mut tokens);
        angle_struct_types(&mut tokens);
        if let Some(slip) = self.slips(slice, &tokens).foreign_sign() {
            return Err(slip);
        }
        if let Some(token) = too_deep(&tokens) {
            let span = self.positions.find(token.span).map_or(slice, |place| place.span);
            let message = "the expression is too long or nested too deep to be planned";
            return Err(Diagnostic::error(Code::TooDeep, message, self.source, span)
                .at("from here on")
                .help("use IN (…) for many values, or name a part with LET or DEFINE and use the name"));
        }
        Ok(tokens)
    }

    fn slips<'t>(&'t self, slice: Span, tokens: &'t [TokenWithSpan]) -> Slips<'t> {
        Slips { positions: self.positions, source: self.source, slice, tokens }
    }

    fn unexpected(&self, slice: Span, token: &TokenWithSpan) -> Diagnostic {
        let span = self.positions.find(token.span).map_or(slice, |place| place.span);
        Diagnostic::error(Code::Expression, format!("unexpected `{}`", token.token), self.source, span)
            .at("the expression should have ended before this")
            .help("a missing comma or operator?")
    }

    /// The parser says where it stopped only in words: "…, found: x at Line: 3, Column: 7".
    fn refused(&self, slice: Span, tokens: &[TokenWithSpan], message: String) -> Diagnostic {
        if let Some(slip) = self.slips(slice, tokens).usual() {
            return slip;
        }
        let message = message.trim_start_matches("SQL error: ").trim();
        let (words, location) = match message.rsplit_once(" at Line: ") {
            Some((words, location)) => (words, Some(location)),
            None => (message, None),
        };
        let span = location
            .and_then(|text| text.split_once(", Column: "))
            .and_then(|(line, column)| {
                let column = column.trim_end_matches(['"', ')']);
                Some((line.parse::<u64>().ok()?, column.parse::<u64>().ok()?))
            })
            .and_then(|at| tokens.iter().find(|token| (token.span.start.line, token.span.start.column) == at))
            .and_then(|token| self.positions.find(token.span))
            .map(|place| place.span);
        let words = words.trim_start_matches("ParserError(\"").trim_start_matches("sql parser error: ");
        let at_end = words.ends_with("found: EOF") || location.is_none();
        let span = span.unwrap_or(if at_end { Span::new(slice.end, slice.end) } else { slice });
        let words = words
            .replace("Expected:", "expected")
            .replace(", found: EOF", ", but it ends here")
            .replace(", found:", ", found");
        Diagnostic::error(Code::Expression, lower_first(&words), self.source, span)
    }
}

/// `COPY … TO 'x' (FORMAT parquet)`, as DuckDB and PostgreSQL have it: the parser wants `OPTIONS` before the bracket.
fn name_copy_options(tokens: &mut Vec<TokenWithSpan>) {
    let is_word = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_));
    let words: Vec<usize> = (0..tokens.len()).filter(is_word).collect();
    if !words.first().is_some_and(|first| is_keyword(&tokens[*first].token, Keyword::COPY)) {
        return;
    }
    let of_copy =
        words.windows(3).rev().find_map(|at| match at.iter().map(|at| &tokens[*at].token).collect::<Vec<_>>()[..] {
            [to, Token::SingleQuotedString(_), Token::LParen] if is_keyword(to, Keyword::TO) => Some(at[2]),
            _ => None,
        });
    if let Some(bracket) = of_copy {
        let span = tokens[bracket].span;
        tokens.insert(bracket, TokenWithSpan::new(Token::make_keyword("OPTIONS"), span));
    }
}

/// What stands first in a relation, if it is a path without its quotes: `data/docs.jsonl`.
fn bare_path(relation: &str) -> Option<&str> {
    let path = relation.split_whitespace().next()?;
    (path.contains('/') && !path.contains(['\'', '"', '(', '*', '`'])).then_some(path)
}

/// `CAST(x AS STRUCT(a INT, b TEXT))`: the parser wants `STRUCT<a INT, b TEXT>`, which means the same.
fn angle_struct_types(tokens: &mut [TokenWithSpan]) {
    // The three tokens before.
    let mut before = [Token::EOF, Token::EOF, Token::EOF];
    // For each bracket that is open, whether it is that of such a type.
    let mut open = vec![];
    for token in tokens.iter_mut().map(|token| &mut token.token) {
        match token {
            Token::Whitespace(_) => continue,
            Token::LParen => {
                let a_type_is_expected = match &before[1] {
                    Token::DoubleColon => true,
                    Token::Lt => is_keyword(&before[0], Keyword::ARRAY),
                    other => is_keyword(other, Keyword::AS) || open.last() == Some(&true),
                };
                let is_type = a_type_is_expected && is_keyword(&before[2], Keyword::STRUCT);
                open.push(is_type);
                if is_type {
                    *token = Token::Lt;
                }
            }
            Token::RParen if open.pop() == Some(true) => *token = Token::Gt,
            _ => {}
        }
        before.rotate_left(1);
        before[2] = token.clone();
    }
}

fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

fn message_of(error: ParserError) -> String {
    match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => "the expression is nested too deep".to_string(),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
