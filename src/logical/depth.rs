//! How deep a tree the parser would build, told from the tokens alone.
//!
//! `a AND b AND …` of ten thousand terms nests as deep as ten thousand brackets do, and whatever walks, plans,
//! evaluates or drops such a tree recurses. So long chains are refused before there is a tree.
//!
//! Invariant: the bound never says less than the real depth, up to the weights below.
//! Not here: brackets, which `syntax::split` limits before.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The deepest tree that is planned, in units of one `AND`.
const MAX_DEPTH: usize = 1000;
/// `CASE … END` in each other, with the brackets between them.
const MAX_LEVELS: usize = 200;
/// Queries inside expressions in each other: DataFusion checks each of them twice for every one around it.
const MAX_SUBQUERIES: usize = 10;

/// What one more of a token adds to the depth, in units of one `AND`: operators inside a term are typed again at
/// each step, whole queries recurse through larger frames.
const OPERATOR: usize = 2;
const QUERY: usize = 3;
const PREFIX: usize = 4;
const STATEMENT: usize = 25;

/// One bracket or `CASE`, or the whole text.
#[derive(Default)]
struct Level {
    is_case: bool,
    /// The bracket stands where an expression may, so a query in it is a subquery.
    is_operand: bool,
    is_subquery: bool,
    /// `UNION`s, joins and pipes: they nest whole queries.
    queries: usize,
    /// `AND`s and `OR`s of the expression under way.
    joins: usize,
    /// Operators of the term under way, and the deepest bracket in it.
    operators: usize,
    inner: usize,
    deepest_term: usize,
    deepest_expression: usize,
}

impl Level {
    fn end_term(&mut self) {
        self.deepest_term = self.deepest_term.max(self.operators + self.inner);
        (self.operators, self.inner) = (0, 0);
    }

    fn end_expression(&mut self) {
        self.end_term();
        self.deepest_expression = self.deepest_expression.max(self.joins + self.deepest_term);
        (self.joins, self.deepest_term) = (0, 0);
    }

    fn depth(&self) -> usize {
        let expression = self.joins + self.deepest_term.max(self.operators + self.inner);
        self.queries + self.deepest_expression.max(expression)
    }
}

/// The token at which a text becomes too deep to be planned.
pub fn too_deep(tokens: &[TokenWithSpan]) -> Option<&TokenWithSpan> {
    let mut levels = vec![Level::default()];
    let mut previous = &Token::Comma;
    for token in tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))) {
        let level = levels.last_mut()?;
        if previous == &Token::LParen && is_keyword(&token.token, QUERY_STARTS) {
            level.is_subquery = level.is_operand;
        }
        let mut closes = false;
        match &token.token {
            Token::LParen => {
                let is_operand = previous != &Token::LParen && !is_keyword(previous, RELATION_FOLLOWS);
                levels.push(Level { is_operand, ..Level::default() });
            }
            // `a['x']['y']` nests too.
            Token::LBracket | Token::LBrace => {
                level.operators += OPERATOR;
                levels.push(Level::default());
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                // A `CASE` without `END` ends with its bracket; the parser will say so.
                while levels.len() > 2 && levels.last().is_some_and(|level| level.is_case) {
                    close(&mut levels);
                }
                closes = true;
            }
            Token::Comma | Token::SemiColon => level.end_expression(),
            Token::VerticalBarRightAngleBracket => {
                level.end_expression();
                level.queries += OPERATOR;
            }
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::CASE => levels.push(Level { is_case: true, ..Level::default() }),
                Keyword::END => closes = level.is_case,
                Keyword::AND | Keyword::OR | Keyword::XOR => {
                    level.end_term();
                    level.joins += 1;
                }
                Keyword::SELECT | Keyword::FROM | Keyword::WHERE | Keyword::GROUP | Keyword::HAVING => {
                    level.end_expression();
                }
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE => level.end_expression(),
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS | Keyword::JOIN => {
                    level.end_expression();
                    level.queries += QUERY;
                }
                Keyword::INTERVAL | Keyword::PRIOR | Keyword::ARRAY | Keyword::STRUCT | Keyword::MAP => {
                    level.operators += PREFIX;
                }
                Keyword::PREPARE | Keyword::EXPLAIN | Keyword::DESCRIBE | Keyword::CREATE | Keyword::BEGIN => {
                    level.queries += STATEMENT;
                }
                Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::RLIKE
                | Keyword::REGEXP
                | Keyword::SIMILAR
                | Keyword::BETWEEN
                | Keyword::COLLATE
                | Keyword::AT
                | Keyword::NOTNULL
                | Keyword::DIV
                | Keyword::OVERLAPS => level.operators += OPERATOR,
                _ => {}
            },
            Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Placeholder(_)
            | Token::Period
            | Token::EOF => {}
            _ => level.operators += OPERATOR,
        }
        if closes {
            close(&mut levels);
        }
        previous = &token.token;
        let n_subqueries = levels.iter().filter(|level| level.is_subquery).count();
        if levels.len() > MAX_LEVELS
            || n_subqueries > MAX_SUBQUERIES
            || levels.last().is_some_and(|level| level.depth() > MAX_DEPTH)
        {
            return Some(token);
        }
    }
    None
}

const QUERY_STARTS: &[Keyword] = &[Keyword::SELECT, Keyword::FROM, Keyword::WITH, Keyword::VALUES];
const RELATION_FOLLOWS: &[Keyword] =
    &[Keyword::FROM, Keyword::JOIN, Keyword::AS, Keyword::ALL, Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT];

fn is_keyword(token: &Token, keywords: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && keywords.contains(&word.keyword))
}

/// Ends the innermost level: what contains it is one deeper.
fn close(levels: &mut Vec<Level>) {
    if levels.len() > 1
        && let Some(closed) = levels.pop()
        && let Some(outer) = levels.last_mut()
    {
        outer.inner = outer.inner.max(closed.depth() + 1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::logical::dialect::CuratorDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn is_too_deep(text: &str) -> bool {
        let tokens = Tokenizer::new(&CuratorDialect, text).tokenize_with_location().unwrap();
        too_deep(&tokens).is_some()
    }

    #[test]
    fn long_chains_are_too_deep_and_long_lists_are_not() {
        let chain = |term: &str, join: &str, n: usize| vec![term; n].join(join);
        for deep in [
            chain("a > 1", " AND ", 2000),
            chain("a", " + ", 2000),
            format!("f({}) + 1", chain("a", " OR ", 2000)),
            chain("SELECT 1", " UNION ALL ", 1000),
            "NOT ".repeat(2000) + "a",
            "CASE WHEN a THEN ".repeat(300) + "1" + &" END".repeat(300),
            chain("(a + (a + (a + a)) + a)", " * ", 600),
            "a".to_string() + &"['x']".repeat(1000),
            "SELECT 1 WHERE EXISTS (".repeat(20) + "SELECT 1" + &")".repeat(20),
        ] {
            assert!(is_too_deep(&deep), "{}", &deep[..60]);
        }
        for flat in [
            chain("a > 1", " AND ", 900),
            chain("a", " + ", 400),
            chain("a + 1 AND b", ", ", 5000),
            format!("x IN ({})", chain("-1", ", ", 5000)),
            format!("CASE {} END", chain("WHEN a = 1 AND b THEN f(a + 1)", " ", 5000)),
            chain("f((a + 1) * 2) > 3", " OR ", 900),
            chain("SELECT a + 1 FROM t WHERE a > 1", " UNION ALL ", 300),
            "SELECT * FROM (".repeat(30) + "SELECT 1" + &")".repeat(30),
        ] {
            assert!(!is_too_deep(&flat), "{}", &flat[..60]);
        }
    }
}
