//! What the grammar's refusal means to a user: where, what was expected there, and a way out.
//!
//! The grammar tells the furthest place it reached and the rules it tried there. Rule names never leave this file.

use super::grammar::Rule;
use super::lex::{Token, TokenKind};
use super::words::{STATEMENTS, is_one_of, own_word};
use crate::diag::{Code, Diagnostic, SourceText, dedup_method_for, did_you_mean};
use pest::error::{Error, ErrorVariant, InputLocation};

/// The message about a piece that is not as `rule` wants it.
pub(super) fn describe(source: &SourceText, piece: &[Token], rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let Some((first, last)) = piece.first().zip(piece.last()) else {
        return Diagnostic::error(Code::Syntax, "expected a statement", source, source.span());
    };
    let reached = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => first.span.start + at,
    };
    let at = piece.iter().position(|token| token.span.end > reached);
    let found = at.map(|at| &piece[at]);
    let before = match at {
        Some(0) => None,
        Some(at) => Some(&piece[at - 1]),
        None => Some(last),
    };
    let tried: &[Rule] = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives,
        ErrorVariant::CustomError { .. } => &[],
    };
    let shown = |token: &Token| shorten(token.text(source.text()));
    let place = found.unwrap_or(last).span;
    let message = match found {
        Some(token) if tried.contains(&Rule::EOI) => surplus(&shown(token), token, rule, tried),
        _ => {
            let expected = expected(tried, rule);
            match before {
                Some(before) => format!("expected {expected} after `{}`", shown(before)),
                None => format!("expected {expected}"),
            }
        }
    };
    let label = match found {
        Some(token) => format!("found `{}`", shown(token)),
        None => "nothing follows".to_string(),
    };
    let help = way_out((rule, piece), tried, found.map(|token| token.text(source.text())), before, source);
    Diagnostic::error(Code::Syntax, message, source, place).at(label).maybe_help(help)
}

/// The piece was complete, and then something came.
fn surplus(shown: &str, token: &Token, rule: Rule, tried: &[Rule]) -> String {
    if token.kind == TokenKind::Comma {
        return format!("unexpected `,` in {}", verb_of(rule));
    }
    let end = if is_statement(rule) { "`;`" } else { "`|>`" };
    let mut wanted: Vec<&str> = tried.iter().filter_map(|rule| optional(*rule)).collect();
    wanted.dedup();
    wanted.push(end);
    format!("expected {} before `{shown}`", one_of(&wanted))
}

fn is_statement(rule: Rule) -> bool {
    matches!(rule, Rule::set_statement | Rule::define)
}

/// What may follow a piece that is already complete.
fn optional(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::comma => "`,`",
        Rule::kw_as => "`AS name`",
        Rule::group_by => "`GROUP BY`",
        Rule::with_options => "`WITH (…)`",
        Rule::offset => "`OFFSET`",
        Rule::seed => "`SEED`",
        Rule::bytes_of => "`BYTES OF`",
        Rule::keep => "`KEEP`",
        Rule::against_index => "`AGAINST INDEX`",
        Rule::keep_per | Rule::kw_per => "`PER`",
        Rule::kw_by => "`BY`",
        Rule::kw_append => "`APPEND`",
        Rule::kw_read => "`READ ONLY`",
        Rule::kw_on => "`ON`",
        Rule::on => "`ON`",
        Rule::using => "`USING (…)`",
        _ => return None,
    })
}

fn expected(tried: &[Rule], piece: Rule) -> String {
    let mut wanted: Vec<&str> = Vec::new();
    for rule in tried {
        let words = match rule {
            Rule::condition | Rule::condition_before_hint => "a condition",
            Rule::expression
            | Rule::expression_before_hint
            | Rule::body
            | Rule::default
            | Rule::sweep
            | Rule::swept => "an expression",
            Rule::item | Rule::item_expression => "a column or expression",
            Rule::aggregate | Rule::aggregates | Rule::aggregate_expression => "an aggregate such as `count(*)`",
            Rule::group_by | Rule::kw_group => "`GROUP BY`",
            Rule::column | Rule::assignment | Rule::renaming => "a column",
            Rule::kw_as if piece == Rule::rename_verb => "`AS new_name`",
            Rule::name if piece == Rule::rename_verb => "a new name",
            Rule::name => "a name",
            Rule::path | Rule::text => "a path in single quotes",
            Rule::source
            | Rule::join_source
            | Rule::set_source
            | Rule::relation
            | Rule::join_relation
            | Rule::set_relation
            | Rule::sub_pipeline => "a source",
            Rule::from_clause | Rule::kw_from => "`FROM`",
            Rule::equals => "`=`",
            Rule::comma => "`,`",
            Rule::open => "`(`",
            Rule::close => "`)`",
            Rule::value | Rule::number | Rule::list | Rule::placeholder | Rule::bare_word => "a value",
            Rule::setting => "the name of a setting",
            Rule::option | Rule::option_name => "an option",
            Rule::order_item => "a column or expression",
            Rule::count | Rule::skipped => "a number of rows",
            Rule::key | Rule::keys | Rule::keys_in_brackets => "a column or expression",
            Rule::amount => "a number",
            Rule::split_key | Rule::assert_key => "a column or expression",
            Rule::split_part | Rule::split_name => "a name",
            Rule::repeat_times => "a number of times",
            Rule::assert_condition => "a condition on aggregates such as `count(*) > 0`",
            Rule::kw_rows | Rule::kw_percent | Rule::kw_unit => "`ROWS` or `PERCENT`",
            Rule::seed_value | Rule::low | Rule::high | Rule::step => "a number",
            Rule::comparison => "`>=`, `>`, `<=` or `<`",
            Rule::kw_step => "`STEP`",
            Rule::dedup_method | Rule::kw_exact => METHODS,
            Rule::key_before_clause | Rule::keep_item | Rule::per_item => "a column or expression",
            Rule::keep_choice | Rule::kw_none => "`FIRST`, `LAST`, `ANY` or `NONE`",
            Rule::kw_index => "`INDEX`",
            Rule::kw_only => "`ONLY`",
            Rule::kw_against => "`AGAINST`",
            Rule::kw_of => "`OF`",
            Rule::parameter => "a parameter",
            Rule::statement => "a query",
            Rule::kw_by => "`BY`",
            Rule::kw_join => "`JOIN`",
            Rule::kw_outer => continue,
            Rule::kw_on | Rule::on => "`ON`",
            Rule::kw_using | Rule::using => "`USING`",
            Rule::kw_as => "`AS`",
            Rule::kw_to => "`TO`",
            _ => continue,
        };
        if !wanted.contains(&words) {
            wanted.push(words);
        }
    }
    // A source can be written in many ways; one word for all of them says more than their list.
    if wanted.contains(&"a source") || (wanted.contains(&"a path in single quotes") && !takes_path(piece)) {
        return "a source".to_string();
    }
    if wanted.is_empty() {
        return format!("something else in {}", verb_of(piece));
    }
    one_of(&wanted)
}

/// The methods of `DEDUP`, for a message.
const METHODS: &str = "`EXACT`, `FUZZY`, `LINES`, `PARAGRAPHS`, `SENTENCES`, `SUBSTRING` or `SEMANTIC`";

/// Verbs with a path that is no source of rows.
fn takes_path(piece: Rule) -> bool {
    matches!(piece, Rule::into_verb | Rule::dedup_verb | Rule::decontaminate_verb)
}

fn one_of(wanted: &[&str]) -> String {
    match wanted {
        [] => String::new(),
        [one] => one.to_string(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// What to write instead, where that is likely enough.
fn way_out(
    (piece, piece_tokens): (Rule, &[Token]),
    tried: &[Rule],
    found: Option<&str>,
    before: Option<&Token>,
    source: &SourceText,
) -> Option<String> {
    let before_text = before.map(|token| token.text(source.text())).unwrap_or_default();
    if before_text == "," && found.is_none_or(|text| text == ")") {
        return Some("remove the last comma, or add what is missing".to_string());
    }
    if let Some(word) = found.filter(|word| is_one_of(word, STATEMENTS) && tried.contains(&Rule::EOI)) {
        return Some(format!("to begin a new statement with {}, end the one before with `;`", word.to_uppercase()));
    }
    if tried.contains(&Rule::value) && found.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit())) {
        return Some("put values with a unit in quotes: '8GB'".to_string());
    }
    if tried.contains(&Rule::kw_unit) || tried.contains(&Rule::kw_rows) {
        return Some("write `SAMPLE 1000 ROWS` or `SAMPLE 5 PERCENT`".to_string());
    }
    if tried.contains(&Rule::dedup_method) || tried.contains(&Rule::kw_exact) {
        if let Some(known) = found.and_then(dedup_method_for) {
            return Some(known.to_string());
        }
        let near =
            found.and_then(|word| did_you_mean(word, METHODS.split(['`', ',', ' ']).filter(|word| word.len() > 2)));
        return near.or_else(|| Some("write `DEDUP EXACT ON text` or `DEDUP FUZZY ON text`".to_string()));
    }
    let help = match piece {
        Rule::dedup_verb if tried.contains(&Rule::kw_index) => {
            "write `AGAINST INDEX 'path'`; to compare with the files of an evaluation, write DECONTAMINATE AGAINST"
        }
        Rule::dedup_verb if tried.contains(&Rule::path) => "write `AGAINST INDEX 'path' [APPEND | READ ONLY]`",
        Rule::dedup_verb | Rule::keep_text if found.is_some_and(|word| word.eq_ignore_ascii_case("per")) => {
            "write `KEEP FIRST PER source`, and BY after it; NONE has no PER"
        }
        Rule::dedup_verb | Rule::keep_text if tried.contains(&Rule::keep_choice) || tried.contains(&Rule::kw_none) => {
            "write `KEEP FIRST`, `KEEP FIRST BY length(text) DESC` or `KEEP FIRST PER source`"
        }
        Rule::dedup_verb if tried.contains(&Rule::kw_on) => "write `DEDUP EXACT ON text`",
        Rule::decontaminate_verb if tried.contains(&Rule::kw_against) || tried.contains(&Rule::path) => {
            "write `DECONTAMINATE AGAINST 'evals/*.jsonl'`"
        }
        Rule::query_head | Rule::let_head | Rule::describe_head | Rule::summarize_head if found == Some(",") => {
            "remove the comma, or add another source"
        }
        Rule::where_verb if found == Some(",") && is_list_without_brackets(piece_tokens, source) => {
            "put the values in brackets: `lang IN ('en', 'de')`"
        }
        Rule::where_verb if found == Some(",") => "join conditions with AND or OR",
        Rule::limit_verb if found == Some(",") => "write `LIMIT count OFFSET rows_to_skip`",
        Rule::sweep_verb => "write `SWEEP words(text) >= 0 TO 200 STEP 50`",
        Rule::rename_verb => "write `RENAME old_name AS new_name, …`",
        Rule::set_verb if tried.contains(&Rule::equals) => "write `SET column = expression, …`",
        Rule::set_statement => "write `SET name = value`",
        Rule::let_head if tried.contains(&Rule::equals) => "write `LET name = FROM … |> …`",
        Rule::let_head if tried.contains(&Rule::from_clause) || tried.contains(&Rule::kw_from) => {
            "a LET names a pipeline, which begins with FROM; for an SQL query use CREATE VIEW"
        }
        Rule::define => "write `DEFINE name(parameters) AS expression`",
        Rule::into_verb if tried.contains(&Rule::path) => "write `INTO 'file.jsonl'` or `INTO 'folder/' WITH (…)`",
        Rule::order_verb if tried.contains(&Rule::kw_by) => "write `ORDER BY column [DESC], …`",
        Rule::query_head | Rule::describe_head | Rule::summarize_head if expected(tried, piece) == "a source" => {
            "a source is a file in quotes, a table's name, or a pipeline in brackets"
        }
        _ if tried.contains(&Rule::option) || tried.contains(&Rule::equals) => {
            "options are written `WITH (name = value, …)`"
        }
        _ => return None,
    };
    Some(help.to_string())
}

/// Whether `IN` is followed by a value where a bracket belongs: `lang IN 'en', 'de'`.
fn is_list_without_brackets(piece: &[Token], source: &SourceText) -> bool {
    let is_in = |token: &Token| token.text(source.text()).eq_ignore_ascii_case("in");
    piece.windows(2).any(|pair| is_in(&pair[0]) && matches!(pair[1].kind, TokenKind::Text | TokenKind::Number))
}

/// The verb or statement as a user calls it.
fn verb_of(rule: Rule) -> &'static str {
    match rule {
        Rule::set_statement | Rule::set_verb => "SET",
        Rule::let_head => "LET",
        Rule::define => "DEFINE",
        Rule::explain_head => "EXPLAIN",
        Rule::describe_head => "DESCRIBE",
        Rule::summarize_head => "SUMMARIZE",
        Rule::query_head => "FROM",
        Rule::set_operation => "UNION",
        Rule::order_verb => "ORDER BY",
        Rule::keep_text => "KEEP",
        verb => own_word(verb).unwrap_or("this statement"),
    }
}

/// A token for a message: long strings are cut.
fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None if line.len() < text.len() => format!("{line}…"),
        None => line.to_string(),
    }
}
