//! The keywords that highlighting and completion know: all lists of the syntax, as one.

use crate::syntax::{KEYWORDS, SQL_STATEMENTS, STATEMENTS, VERBS};
use std::sync::LazyLock;

static SORTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    // Words that follow a verb and are no keywords elsewhere.
    let inside_verbs = [
        "BY",
        "ON",
        "USING",
        "WITH",
        "GROUP",
        "SEED",
        "ROWS",
        "PER",
        "PERCENT",
        "STEP",
        "EXACT",
        "FUZZY",
        "SUBSTRING",
        "SEMANTIC",
        "KEEP",
        "AGAINST",
        "INDEX",
        "APPEND",
        "ANALYZE",
        "VERBOSE",
        "TABLE",
    ];
    let mut words: Vec<&str> = [STATEMENTS, &VERBS, SQL_STATEMENTS, KEYWORDS, &inside_verbs].concat();
    words.sort_unstable();
    words.dedup();
    words
});

/// Every keyword in capitals, sorted.
pub fn keywords() -> &'static [&'static str] {
    &SORTED
}

/// Whether a word is a keyword, in any case.
pub fn is_keyword(word: &str) -> bool {
    SORTED.binary_search(&word.to_ascii_uppercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_found_in_any_case() {
        assert!(is_keyword("from") && is_keyword("FROM") && is_keyword("Extend") && !is_keyword("text"));
        assert!(keywords().is_sorted());
    }
}
