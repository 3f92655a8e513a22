//! The words of the language, for the parser, the formatter, highlighting and completion.
//!
//! Each list is the only place that holds its words. Which verbs there are, and what follows each, the grammar says.

use super::grammar::Rule;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The words that begin a statement of CQL. Any statement of SQL is welcome too ([`SQL_STATEMENTS`]).
pub const STATEMENTS: &[&str] = &["FROM", "SET", "LET", "DEFINE", "EXPLAIN", "DESCRIBE", "SUMMARIZE"];

/// The verbs: what can follow `|>`. The grammar has a rule for each, called `…_verb` after its first word.
pub static VERBS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let words = Rule::all_rules().iter().flat_map(|rule| -> Vec<&'static str> {
        match rule {
            Rule::join_verb => JOINS.to_vec(),
            Rule::set_operation => SET_OPERATIONS.to_vec(),
            _ => own_word(*rule).into_iter().collect(),
        }
    });
    words.collect()
});

/// Words that a join may begin with.
const JOINS: &[&str] = &["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI"];
const SET_OPERATIONS: &[&str] = &["UNION", "INTERSECT", "EXCEPT"];

/// The rule that reads the verb that begins with this word.
pub(super) fn verb_rule(word: &str) -> Option<Rule> {
    match word {
        "" => None,
        word if JOINS.contains(&word) => Some(Rule::join_verb),
        word if SET_OPERATIONS.contains(&word) => Some(Rule::set_operation),
        word => Rule::all_rules().iter().copied().find(|rule| own_word(*rule) == Some(word)),
    }
}

/// The word of a verb that begins with one word alone.
pub(super) fn own_word(rule: Rule) -> Option<&'static str> {
    static WORDS: LazyLock<HashMap<Rule, String>> = LazyLock::new(|| {
        let word = |rule: &Rule| Some((*rule, format!("{rule:?}").strip_suffix("_verb")?.to_uppercase()));
        Rule::all_rules().iter().filter_map(word).collect()
    });
    WORDS.get(&rule).map(String::as_str)
}

/// Verbs that are part of the language and not of this version.
pub const LATER_VERBS: &[&str] = &["BLEND", "TOKENIZE"];

/// Verbs whose keyword, standing after a complete operand, shows that a `|>` was forgotten: those that no expression and no
/// source has a use for.
pub(super) static VERBS_AFTER_PIPE_ONLY: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    const ELSEWHERE_TOO: [&str; 4] = ["AS", "DISTINCT", "JOIN", "OFFSET"];
    let own_words = Rule::all_rules().iter().filter_map(|rule| own_word(*rule));
    own_words.filter(|word| !ELSEWHERE_TOO.contains(word)).chain(["TOKENIZE"]).collect()
});

/// The words that begin a statement of SQL.
pub const SQL_STATEMENTS: &[&str] = &[
    "SELECT",
    "WITH",
    "VALUES",
    "TABLE",
    "CREATE",
    "INSERT",
    "COPY",
    "DROP",
    "SHOW",
    "PREPARE",
    "EXECUTE",
    "EXEC",
    "DEALLOCATE",
    "UPDATE",
    "DELETE",
    "MERGE",
    "TRUNCATE",
    "ALTER",
    "ANALYZE",
    "DESC",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "END",
    "SAVEPOINT",
    "RELEASE",
    "USE",
    "RESET",
    "CALL",
    "DECLARE",
    "FETCH",
    "GRANT",
    "REVOKE",
    "CACHE",
    "UNCACHE",
    "DISCARD",
    "OPEN",
    "CLOSE",
    "ASSERT",
    "REPLACE",
    "COMMENT",
    "PRAGMA",
    "VACUUM",
    "LOAD",
    "UNLOAD",
    "EXPORT",
    "KILL",
    "FLUSH",
    "LOCK",
    "RAISE",
    "CASE",
    "IF",
    "WHILE",
    "RETURN",
    "PRINT",
    "MSCK",
    "ATTACH",
    "DETACH",
    "OPTIMIZE",
    "INSTALL",
    "LISTEN",
    "NOTIFY",
    "UNLISTEN",
    "DENY",
    "THROW",
    "RAISERROR",
    "WAITFOR",
];

/// Words inside expressions that SQL does not take as the name of a column, so that the formatter may write them
/// in capitals wherever they stand.
pub const KEYWORDS: &[&str] = &[
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "ESCAPE",
    "EXISTS",
    "EXTRACT",
    "FALSE",
    "FROM",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INTERVAL",
    "IS",
    "JOIN",
    "LIKE",
    "NOT",
    "NULL",
    "NULLS",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "SELECT",
    "SIMILAR",
    "THEN",
    "TRUE",
    "TRY_CAST",
    "UNION",
    "USING",
    "WHEN",
    "WHERE",
    "WITHIN",
];

/// Words after which an operand still has to come: a verb's keyword there is a column's name.
pub(super) const OPERAND_FOLLOWS: &[&str] = &[
    "AND", "AS", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "ESCAPE", "FROM", "ILIKE", "IN", "IS", "LIKE", "NOT",
    "ON", "OR", "SEED", "SIMILAR", "THEN", "TO", "WHEN",
];

/// Whether a word is in a list, whatever its case.
pub(super) fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|candidate| candidate.eq_ignore_ascii_case(word))
}
