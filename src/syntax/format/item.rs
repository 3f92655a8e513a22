//! The tokens of a statement as printable items: their text, the gap before them, where a line may break.

use crate::syntax::ast::Slice;
use crate::syntax::lex::{Token, TokenKind, tokens};
use std::ops::Range;

/// How a comment stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    /// Alone on its line or lines.
    OwnLine,
    /// `-- …` after something.
    Trailing,
    /// `/* … */` among other tokens.
    Inline,
}

/// What a line may break at, in the order in which it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    /// Before `|>` in brackets.
    Pipe,
    /// Before `KEEP` and `AGAINST`.
    Clause,
    /// After a comma, before `GROUP BY`.
    List,
    /// Before `AND` and `OR`, and the parts of a `CASE`.
    Word,
}

/// One thing to print.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) text: String,
    pub(super) space_before: bool,
    /// If a line may break before it: how, and inside how many brackets.
    pub(super) break_before: Option<(usize, Break)>,
    pub(super) comment: Option<Comment>,
    /// A `|>` outside brackets: a new line, always.
    pub(super) starts_verb: bool,
}

/// A text with all that is known of its tokens.
pub(super) struct Items<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [Token],
    pub(super) is_keyword: &'a [bool],
    /// Parts that are printed as written.
    pub(super) verbatim: &'a [Slice],
}

impl Items<'_> {
    /// Whether the token is the first on its line.
    pub(super) fn starts_line(&self, at: usize) -> bool {
        let before = if at == 0 { 0 } else { self.tokens[at - 1].span.end };
        at == 0 || self.text[before..self.tokens[at].span.start].contains('\n')
    }

    /// How the token stands as a comment, if it is one.
    pub(super) fn comment(&self, at: usize) -> Option<Comment> {
        if self.tokens[at].kind != TokenKind::Comment {
            return None;
        }
        let ends_line = at + 1 >= self.tokens.len() || self.starts_line(at + 1);
        Some(match (self.starts_line(at), self.tokens[at].text(self.text).starts_with("--")) {
            (true, _) if ends_line => Comment::OwnLine,
            (_, true) => Comment::Trailing,
            _ => Comment::Inline,
        })
    }

    /// The items of a statement. A `;` is added before the comments at its end if it has none.
    pub(super) fn of(&self, range: Range<usize>) -> Vec<Item> {
        let mut items = Vec::with_capacity(range.len());
        let mut scan = Scanner::default();
        let mut at = range.start;
        while at < range.end {
            let token = self.tokens[at];
            let slice = self.verbatim.binary_search_by_key(&token.span.start, |slice| slice.span.start);
            if let Some(slice) = slice.ok().map(|found| self.verbatim[found]) {
                let text = self.text[slice.span.start..slice.span.end].to_string();
                items.push(Item::plain(text, !items.is_empty()));
                at = self.tokens.partition_point(|token| token.span.end <= slice.span.end);
                scan.before = None;
                continue;
            }
            items.push(self.item(at, &mut scan, items.is_empty()));
            at += 1;
        }
        let last = items.iter().rposition(|item| item.comment.is_none());
        if let Some(last) = last.filter(|&last| items[last].text != ";") {
            items.insert(last + 1, Item::plain(";".to_string(), false));
        }
        items
    }

    fn item(&self, at: usize, scan: &mut Scanner, first: bool) -> Item {
        let token = self.tokens[at];
        let written = token.text(self.text);
        let comment = self.comment(at);
        if comment.is_some() {
            scan.comment_before = true;
            return Item { comment, ..Item::plain(written.trim_end().to_string(), !first) };
        }
        let is_keyword = self.is_keyword[at];
        let text = if is_keyword { written.to_ascii_uppercase() } else { written.to_string() };
        let adjacent = at > 0 && self.tokens[at - 1].span.end == token.span.start;
        let now = Shown { kind: token.kind, text: text.clone(), is_keyword, unary: scan.is_unary(token.kind, &text) };
        let space_before = match &scan.before {
            None => !first && text != ";",
            // A comment's blanks are kept on both sides, whatever it stands between.
            Some(_) if scan.comment_before && text != ";" => true,
            Some(before) => needs_space(before, &now, adjacent),
        };
        if token.kind == TokenKind::Pipe {
            scan.leave_cases();
            *scan.betweens() = 0;
        }
        // A line does not break behind a comment: alone on its line it would be another kind of comment.
        let unbreakable =
            scan.comment_before || adjacent && scan.before.as_ref().is_some_and(|it| it.is_stuck_to(&now));
        let break_before = scan.break_before(&now).filter(|_| !unbreakable);
        let starts_verb = token.kind == TokenKind::Pipe && scan.depths.is_empty();
        scan.pass(now);
        Item { text, space_before, break_before, comment: None, starts_verb }
    }
}

impl Item {
    fn plain(text: String, space_before: bool) -> Self {
        Item { text, space_before, break_before: None, comment: None, starts_verb: false }
    }
}

/// A token as printed.
#[derive(Debug, Clone)]
struct Shown {
    kind: TokenKind,
    text: String,
    is_keyword: bool,
    unary: bool,
}

impl Shown {
    fn ends_operand(&self) -> bool {
        match self.kind {
            TokenKind::Word if self.is_keyword => matches!(self.text.as_str(), "NULL" | "TRUE" | "FALSE" | "END"),
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Text | TokenKind::Number => true,
            TokenKind::Parameter | TokenKind::Close => true,
            _ => false,
        }
    }

    /// `1e`, `8GB`: where a gap would make a number and a word of what may be neither.
    fn is_stuck_to(&self, next: &Shown) -> bool {
        self.kind == TokenKind::Number && next.kind == TokenKind::Word
    }

    fn is_operator(&self) -> bool {
        matches!(self.kind, TokenKind::Operator)
    }
}

#[derive(Default)]
struct Scanner {
    before: Option<Shown>,
    comment_before: bool,
    /// One entry for each open bracket and `CASE`: how many `BETWEEN`s in it wait for their `AND`.
    depths: Vec<Depth>,
    n_open_betweens: usize,
}

struct Depth {
    is_case: bool,
    n_open_betweens: usize,
}

impl Scanner {
    fn is_unary(&self, kind: TokenKind, text: &str) -> bool {
        kind == TokenKind::Operator
            && matches!(text, "-" | "+" | "~")
            && self.before.as_ref().is_some_and(|before| !before.ends_operand())
    }

    /// Leaves each CASE that lacks its END, which is for the SQL parser to find.
    fn leave_cases(&mut self) {
        while self.depths.last().is_some_and(|depth| depth.is_case) {
            self.depths.pop();
        }
    }

    fn betweens(&mut self) -> &mut usize {
        match self.depths.last_mut() {
            Some(depth) => &mut depth.n_open_betweens,
            None => &mut self.n_open_betweens,
        }
    }

    /// Where a line may break before this token. Counts the `AND` that belongs to a `BETWEEN`.
    fn break_before(&mut self, now: &Shown) -> Option<(usize, Break)> {
        let depth = self.depths.len();
        if matches!(now.kind, TokenKind::Close | TokenKind::Semicolon | TokenKind::Comma) {
            return None;
        }
        if self.before.as_ref().is_some_and(|before| before.kind == TokenKind::Comma) {
            return Some((depth, Break::List));
        }
        if now.kind == TokenKind::Pipe {
            return Some((depth, Break::Pipe));
        }
        if !now.is_keyword {
            return None;
        }
        match now.text.as_str() {
            "AND" if *self.betweens() > 0 => {
                *self.betweens() -= 1;
                None
            }
            "AND" | "OR" => Some((depth, Break::Word)),
            "WHEN" | "ELSE" | "END" => Some((depth, Break::Word)),
            "GROUP" => Some((depth, Break::List)),
            "KEEP" | "AGAINST" => Some((depth, Break::Clause)),
            _ => None,
        }
    }

    fn pass(&mut self, now: Shown) {
        match now.kind {
            TokenKind::Open => self.depths.push(Depth { is_case: false, n_open_betweens: 0 }),
            TokenKind::Close => {
                self.leave_cases();
                self.depths.pop();
            }
            TokenKind::Word if now.is_keyword => match now.text.as_str() {
                "CASE" => self.depths.push(Depth { is_case: true, n_open_betweens: 0 }),
                "END" if self.depths.last().is_some_and(|depth| depth.is_case) => {
                    self.depths.pop();
                }
                "BETWEEN" => *self.betweens() += 1,
                _ => {}
            },
            _ => {}
        }
        self.before = Some(now);
        self.comment_before = false;
    }
}

/// Keywords that are written like a function.
const CALLED: &[&str] = &["CAST", "TRY_CAST", "EXTRACT"];
/// Words that are no keywords everywhere and yet no functions.
const NOT_CALLED: &[&str] = &["VALUES", "ALL", "ANY", "SOME"];
/// Operators after which a sign belongs to the number.
const BEFORE_SIGN: &[&str] = &["=", "<", ">", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "||", "=>", "->"];

/// Whether a blank stands between two tokens.
fn needs_space(before: &Shown, now: &Shown, adjacent: bool) -> bool {
    match now.kind {
        TokenKind::Comma | TokenKind::Semicolon | TokenKind::Close => return false,
        _ if before.kind == TokenKind::Open => return false,
        _ => {}
    }
    let as_written = !adjacent;
    if before.is_stuck_to(now) {
        return as_written;
    }
    if [&before.text, &now.text].iter().any(|text| matches!(text.as_str(), "." | ":" | "!")) {
        return as_written;
    }
    // What stood without a gap and was read as two tokens can stay so.
    let merge = as_written && would_merge(before, now);
    if before.text == "::" || now.text == "::" {
        return merge;
    }
    if before.unary {
        return now.is_operator() || merge;
    }
    if before.is_operator() && now.is_operator() {
        // Two signs without a gap may be one operator of some SQL dialect.
        let sign_of_number = now.unary && BEFORE_SIGN.contains(&before.text.as_str());
        return sign_of_number || as_written;
    }
    if now.kind == TokenKind::Open {
        return match before.kind {
            TokenKind::Word if before.is_keyword => now.text != "(" || !CALLED.contains(&before.text.as_str()),
            TokenKind::Word if now.text == "(" => NOT_CALLED.iter().any(|word| word.eq_ignore_ascii_case(&before.text)),
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Close if now.text == "[" => false,
            TokenKind::QuotedName | TokenKind::Close => as_written,
            _ => true,
        };
    }
    true
}

/// Whether two tokens without a gap would read as something else.
fn would_merge(before: &Shown, now: &Shown) -> bool {
    let (Some(last), Some(first)) = (before.text.chars().next_back(), now.text.chars().next()) else { return false };
    let pair = format!("{last}{first}");
    // Quotes end a token whatever follows, so only the ends of short tokens can merge.
    tokens(&pair).first().is_none_or(|token| token.span.end > last.len_utf8() || !token.closed)
        || now.kind == TokenKind::Text && before.kind == TokenKind::Word
}
