//! Which words of a text are keywords, so that they may be written in capitals.
//!
//! Names keep their case and most of SQL's words can be names, so a word counts as a keyword only where it cannot
//! be one: the grammar took it as such, or what stands before and after leaves no other reading. In doubt it is a
//! name.

use crate::syntax::lex::{Token, TokenKind};
use crate::syntax::statement::Keywords;
use crate::syntax::words::{VERBS, is_one_of};

/// For each token, whether it is a keyword.
pub(super) fn keywords(text: &str, tokens: &[Token], of_grammar: &Keywords) -> Vec<bool> {
    let mut out = vec![false; tokens.len()];
    let significant: Vec<usize> = (0..tokens.len()).filter(|&at| tokens[at].kind != TokenKind::Comment).collect();
    let mut scan =
        Scanner { before: String::new(), before_is_keyword: false, operand: false, levels: vec![Level::default()] };
    for (n, &at) in significant.iter().enumerate() {
        let token = tokens[at];
        let written = token.text(text);
        let next = significant.get(n + 1).map(|&at| tokens[at]);
        let of_grammar = of_grammar.get(&token.span.start).copied();
        let is_keyword = token.kind == TokenKind::Word
            && of_grammar.unwrap_or_else(|| scan.is_keyword(written, next.map(|next| (next, next.text(text)))));
        out[at] = is_keyword;
        scan.pass(&token, written, is_keyword);
    }
    out
}

/// What is known inside one pair of brackets.
#[derive(Default)]
struct Level {
    n_open_cases: usize,
    in_order_by: bool,
    in_keep_per: bool,
}

struct Scanner {
    /// The token before, words in capitals.
    before: String,
    before_is_keyword: bool,
    /// Whether the token before ends an operand.
    operand: bool,
    levels: Vec<Level>,
}

impl Scanner {
    fn after(&self, keyword: &str) -> bool {
        self.before_is_keyword && self.before == keyword
    }

    fn is_keyword(&self, written: &str, next: Option<(Token, &str)>) -> bool {
        let next_text = next.map_or(String::new(), |(_, text)| text.to_ascii_uppercase());
        if self.before == "." || next_text == "." || self.after("AS") {
            return false;
        }
        let next_kind = next.map(|(token, _)| token.kind);
        let next_operand = matches!(
            next_kind,
            Some(TokenKind::Word | TokenKind::QuotedName | TokenKind::Text | TokenKind::Number | TokenKind::Parameter)
        );
        let (operand, open) = (self.operand, self.before == "(");
        let level = self.levels.last();
        let in_case = level.is_some_and(|level| level.n_open_cases > 0);
        let in_order_by = level.is_some_and(|level| level.in_order_by);
        let nested = self.levels.len() > 1;
        match written.to_ascii_uppercase().as_str() {
            "AND" | "OR" => operand,
            "NOT" => !operand || matches!(next_text.as_str(), "IN" | "LIKE" | "ILIKE" | "BETWEEN" | "SIMILAR"),
            "IN" | "LIKE" | "ILIKE" | "BETWEEN" | "IS" => operand || self.after("NOT"),
            "NULL" | "TRUE" | "FALSE" => !operand && next_text != "(",
            "CASE" => !operand && (next_operand || next_text == "("),
            "WHEN" => in_case && (operand || self.after("CASE")),
            "THEN" | "ELSE" | "END" => in_case && operand,
            "CAST" | "TRY_CAST" | "EXTRACT" | "EXISTS" => !operand && next_text == "(",
            "AS" => operand && matches!(next_kind, Some(TokenKind::Word | TokenKind::QuotedName)),
            "DISTINCT" => open && next_operand || ["IS", "NOT", "SELECT", "UNION"].iter().any(|word| self.after(word)),
            "FROM" => (operand || self.after("DISTINCT") || open) && (next_operand || next_text == "("),
            "OVER" => self.before == ")" && (next_text == "(" || next_kind == Some(TokenKind::Word)),
            "FILTER" => self.before == ")" && next_text == "(",
            "WITHIN" => self.before == ")" && next_text == "GROUP",
            "GROUP" => operand && next_text == "BY" || self.after("WITHIN"),
            "PARTITION" | "ORDER" => nested && next_text == "BY" && (open || operand),
            "BY" => self.after("GROUP") || self.after("PARTITION") || self.after("ORDER"),
            "ASC" | "DESC" => in_order_by && operand,
            "NULLS" => in_order_by && operand && matches!(next_text.as_str(), "FIRST" | "LAST"),
            "FIRST" | "LAST" => self.after("NULLS"),
            "INTERVAL" => !operand && next_kind == Some(TokenKind::Text),
            "ESCAPE" => operand && next_kind == Some(TokenKind::Text),
            "SELECT" => open && (next_operand || matches!(next_text.as_str(), "*" | "(")),
            "WHERE" => nested && (open || operand) && (next_operand || next_text == "("),
            "EXCEPT" | "EXCLUDE" | "REPLACE" => self.before == "*" && next_text == "(",
            verb => self.before == "|>" && is_one_of(verb, &VERBS),
        }
    }

    fn pass(&mut self, token: &Token, written: &str, is_keyword: bool) {
        let word = if token.kind == TokenKind::Word { written.to_ascii_uppercase() } else { written.to_string() };
        match token.kind {
            TokenKind::Open => self.levels.push(Level::default()),
            TokenKind::Close if self.levels.len() > 1 => {
                self.levels.pop();
            }
            TokenKind::Pipe | TokenKind::Semicolon => {
                if let Some(level) = self.levels.last_mut() {
                    *level = Level::default();
                }
            }
            _ => {}
        }
        if let Some(level) = self.levels.last_mut().filter(|_| is_keyword) {
            match word.as_str() {
                "CASE" => level.n_open_cases += 1,
                "END" => level.n_open_cases = level.n_open_cases.saturating_sub(1),
                "PER" => level.in_keep_per = true,
                // `ORDER BY`, `KEEP FIRST BY`, `KEEP FIRST PER source BY`.
                "BY" => {
                    let follows = ["ORDER", "FIRST", "LAST", "ANY"].contains(&self.before.as_str());
                    level.in_order_by = follows || std::mem::take(&mut level.in_keep_per);
                }
                _ => {}
            }
        }
        self.operand = match token.kind {
            TokenKind::Word if is_keyword => {
                matches!(word.as_str(), "NULL" | "TRUE" | "FALSE" | "END" | "ASC" | "DESC" | "FIRST" | "LAST")
            }
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Text | TokenKind::Number => true,
            TokenKind::Parameter | TokenKind::Close => true,
            // `SELECT * …`, `t.*`: where no factor can be, it stands for the columns.
            TokenKind::Operator => word == "*" && !self.operand,
            _ => false,
        };
        self.before = word;
        self.before_is_keyword = is_keyword;
    }
}
