//! The keywords that highlighting and completion know. For the eye only: the grammar decides what is valid.

/// Verbs, statements and the SQL that people write daily, sorted.
pub static KEYWORDS: &[&str] = &[
    "AGGREGATE",
    "ALL",
    "ANALYZE",
    "AND",
    "ANTI",
    "ARRAY",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CREATE",
    "CROSS",
    "CURRENT",
    "DEFINE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTEND",
    "EXTRACT",
    "FALSE",
    "FILTER",
    "FIRST",
    "FOLLOWING",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LAST",
    "LEFT",
    "LET",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PERCENT",
    "PRECEDING",
    "RENAME",
    "RIGHT",
    "ROWS",
    "SAMPLE",
    "SEED",
    "SELECT",
    "SEMI",
    "SET",
    "SHOW",
    "TABLE",
    "THEN",
    "TRUE",
    "UNBOUNDED",
    "UNION",
    "USING",
    "VALUES",
    "VERBOSE",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// Whether a word is a keyword, in any case.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word.to_ascii_uppercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_found_in_any_case() {
        assert!(KEYWORDS.is_sorted());
        assert!(is_keyword("from") && is_keyword("FROM") && !is_keyword("text"));
    }
}
