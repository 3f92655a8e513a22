//! The pest parser and the text it reads.
//!
//! Invariant: the masked text has the same bytes as the source at every token that is not quoted, and the same
//! length, so that a span in one is the same span in the other.

use super::lex::{Token, TokenKind};
use crate::diag::Span;
use pest::iterators::Pair;

/// The parser made from `grammar/cql.pest`.
#[derive(pest_derive::Parser)]
#[grammar = "../grammar/cql.pest"]
pub(super) struct Cql;

/// What a rule matched.
pub(super) type Match<'a> = Pair<'a, Rule>;

/// The text as the grammar reads it: comments are blank, the inside of quotes is filled.
pub(super) fn mask(text: &str, tokens: &[Token]) -> String {
    let mut masked = String::with_capacity(text.len());
    for token in tokens {
        masked.extend(std::iter::repeat_n(' ', token.span.start - masked.len()));
        let written = token.text(text);
        let quote = match token.kind {
            TokenKind::Text => '\'',
            TokenKind::QuotedName if written.starts_with('`') => '`',
            TokenKind::QuotedName => '"',
            TokenKind::Comment => continue,
            _ => {
                masked.push_str(written);
                continue;
            }
        };
        masked.push(quote);
        masked.extend(std::iter::repeat_n('_', written.len().saturating_sub(2)));
        if written.len() > 1 {
            masked.push(quote);
        }
    }
    masked.extend(std::iter::repeat_n(' ', text.len() - masked.len()));
    masked
}

/// Whether a rule is a keyword (the grammar calls them all `kw_…`), or a name that must not pass for one.
pub(super) fn is_keyword(rule: Rule) -> Option<bool> {
    match rule {
        Rule::name | Rule::column | Rule::setting | Rule::option_name | Rule::bare_word => Some(false),
        _ => format!("{rule:?}").starts_with("kw_").then_some(true),
    }
}

/// The first part of a match that is of this rule.
pub(super) fn child<'a>(pair: &Match<'a>, rule: Rule) -> Option<Match<'a>> {
    pair.clone().into_inner().find(|inner| inner.as_rule() == rule)
}

/// All parts of a match that are of this rule.
pub(super) fn children<'a>(pair: &Match<'a>, rule: Rule) -> impl Iterator<Item = Match<'a>> {
    pair.clone().into_inner().filter(move |inner| inner.as_rule() == rule)
}

/// Where a match stands in the piece that was parsed, moved to where the piece stands in the text.
pub(super) fn span(pair: &Match<'_>, piece_start: usize) -> Span {
    let span = pair.as_span();
    Span::new(span.start() + piece_start, span.end() + piece_start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::tokens;

    #[test]
    fn masking_keeps_every_token_in_its_place() {
        let text = "a -- é\n\"ö b\" 'it''s' E'\\'' $$é$$ /* x */ `c` ''";
        let masked = mask(text, &tokens(text));
        assert_eq!(masked.len(), text.len());
        assert_eq!(masked, "a       \"____\" '_____' '___' '____'         `_` ''");
    }
}
