//! Sources, names, options and values: the parts that statements and verbs share.

use super::ast::*;
use super::grammar::{Match, Rule, child, children, span};
use super::statement::Reader;
use crate::diag::Span;

impl Reader<'_> {
    /// What stands after `FROM`, `JOIN` or `UNION`.
    pub(super) fn source_of(&mut self, pair: &Match<'_>, start: usize) -> Option<Source> {
        let alias = match child(pair, Rule::alias) {
            Some(alias) => Some(self.name_in(&alias, Rule::name, start)?),
            None => None,
        };
        let first = pair.clone().into_inner().next()?;
        let kind = match first.as_rule() {
            Rule::sub_pipeline => {
                let brackets = self.tokens_in(span(&first, start));
                let inside = brackets.start + 1..brackets.end - 1;
                let whole = self.span_of(&inside)?;
                SourceKind::Pipeline(Box::new(self.pipeline(Rule::query_head, inside, whole)?.1))
            }
            Rule::path => SourceKind::File { path: self.name(&first, start), options: self.options(pair, start)? },
            _ => SourceKind::Relation(Slice { span: span(&first, start) }),
        };
        Some(Source { kind, alias, span: span(pair, start) })
    }

    /// The options of the `WITH (…)` in a match, if it has one.
    pub(super) fn options(&self, pair: &Match<'_>, start: usize) -> Option<Vec<OptionItem>> {
        let Some(with) = child(pair, Rule::with_options) else { return Some(vec![]) };
        children(&with, Rule::option)
            .map(|option| {
                let value = child(&option, Rule::value)?;
                Some(OptionItem {
                    name: self.name_in(&option, Rule::option_name, start)?,
                    value_span: span(&value, start),
                    value: self.value(value, start)?,
                })
            })
            .collect()
    }

    /// A value of an option or setting.
    pub(super) fn value(&self, pair: Match<'_>, start: usize) -> Option<OptionValue> {
        let inner = pair.into_inner().next()?;
        let written = self.source.slice(span(&inner, start));
        Some(match inner.as_rule() {
            Rule::text => OptionValue::Text(unquote(written)),
            Rule::number => OptionValue::Number(written.to_string()),
            Rule::placeholder => OptionValue::Parameter(written.trim_start_matches('$').to_string()),
            Rule::list => OptionValue::List(
                children(&inner, Rule::value).map(|value| self.value(value, start)).collect::<Option<_>>()?,
            ),
            _ if written.eq_ignore_ascii_case("true") => OptionValue::Bool(true),
            _ if written.eq_ignore_ascii_case("false") => OptionValue::Bool(false),
            _ => OptionValue::Word(unquote(written)),
        })
    }

    /// The first part of a match that is of this rule, as a name.
    pub(super) fn name_in(&self, pair: &Match<'_>, rule: Rule, start: usize) -> Option<Name> {
        child(pair, rule).map(|name| self.name(&name, start))
    }

    /// A match as a name, without its quotes.
    pub(super) fn name(&self, pair: &Match<'_>, start: usize) -> Name {
        let span: Span = span(pair, start);
        Name { text: unquote(self.source.slice(span)), span }
    }
}

/// What quotes hold: `'it''s'` → `it's`, `"a b"` → `a b`. Other texts stay as they are.
pub(super) fn unquote(written: &str) -> String {
    for quote in ["'", "\"", "`"] {
        let inner = written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.replace(&quote.repeat(2), quote);
        }
    }
    written.to_string()
}
