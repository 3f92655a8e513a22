//! What other tools call the things that we have under another name.
//!
//! Distance in letters finds slips; who writes `FILTER` or `word_count` has made none, but knows another tool. Each list is
//! the only place that holds its words.

/// How a verb that other tools have is written here, whatever its case.
pub fn verb_for(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_uppercase().as_str() {
        "FILTER" | "KEEP" | "HAVING" | "QUERY" => {
            "write `WHERE condition`: it keeps the documents for which it is true"
        }
        "MAP" | "APPLY" | "TRANSFORM" | "MUTATE" | "ASSIGN" | "UPDATE" | "MODIFY" | "WITH_COLUMN" | "ADD" => {
            "write `SET column = expression` to change a column, `EXTEND expression AS name` to add one"
        }
        "TAKE" | "HEAD" | "TOP" | "FETCH" => "write `LIMIT 10`",
        "REMOVE" | "DELETE" | "REJECT" | "EXCLUDE" => {
            "write `WHERE NOT condition` to drop documents, `DROP column` to drop a column"
        }
        "PROJECT" | "COLUMNS" => "write `SELECT column, …`",
        "SORT" | "SORT_BY" | "ORDERBY" | "ARRANGE" => "write `ORDER BY column [DESC], …`",
        "GROUPBY" | "GROUP_BY" | "AGG" | "SUMMARISE" | "COUNT" => "write `AGGREGATE count(*) AS n GROUP BY column`",
        "DEDUPLICATE" | "UNIQUE" | "DROP_DUPLICATES" => {
            "write `DEDUP EXACT ON text`, `DEDUP FUZZY ON text`, or `DISTINCT` for equal rows"
        }
        "MINHASH" | "LSH" => "write `DEDUP FUZZY ON text`: it compares documents by MinHash",
        "WRITE" | "SAVE" | "OUTPUT" | "EXPORT" | "STORE" | "SINK" => "write `INTO 'file.jsonl'` or `INTO 'folder/'`",
        "CONCAT" | "APPEND" => "write `UNION ALL 'file.jsonl'`",
        _ => return None,
    })
}

/// The names that a function of other tools may have here, the likeliest first. Which of them there are, the caller knows.
pub fn functions_for(name: &str) -> &'static [&'static str] {
    match name.to_ascii_lowercase().as_str() {
        "len" | "strlen" | "size" | "char_count" | "num_chars" | "n_chars" | "text_length" => &["length", "chars"],
        "word_count" | "count_words" | "num_words" | "n_words" | "wordcount" | "words_count" => &["words"],
        "line_count" | "count_lines" | "num_lines" | "n_lines" => &["lines"],
        "sentence_count" | "count_sentences" | "num_sentences" => &["sentences"],
        "token_count" | "count_tokens" | "num_tokens" | "n_tokens" => &["tokens"],
        "detect_language" | "langdetect" | "lang_id" | "language_id" | "identify_language" | "fasttext" | "langid" => {
            &["language", "lang_id", "lang"]
        }
        "includes" | "has" | "has_substring" | "in_text" => &["contains"],
        "startswith" => &["starts_with"],
        "endswith" => &["ends_with"],
        "lowercase" | "tolower" | "to_lower" | "lcase" => &["lower"],
        "uppercase" | "toupper" | "to_upper" | "ucase" => &["upper"],
        "regex_match" | "regex_matches" | "rlike" | "matches" | "re_match" => &["regexp_like"],
        "regex_replace" | "re_sub" | "sub" | "gsub" => &["regexp_replace"],
        "substring_index" => &["split_part"],
        "strip" => &["btrim", "trim"],
        "ftfy" | "fix_text" => &["fix_unicode"],
        "mean" | "average" => &["avg"],
        "if" | "iff" | "ifelse" => &["nvl2"],
        "ifnull" => &["coalesce"],
        _ => &[],
    }
}

/// The method of `DEDUP` that a word of other tools means.
pub fn dedup_method_for(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_uppercase().as_str() {
        "MINHASH" | "LSH" | "NEAR" | "JACCARD" => "write `DEDUP FUZZY ON text`: FUZZY compares documents by MinHash",
        "HASH" | "MD5" | "SHA1" | "SHA256" | "XXHASH" => {
            "write `DEDUP EXACT ON text`: EXACT compares them by their hash"
        }
        "EMBEDDING" | "EMBEDDINGS" | "VECTOR" | "COSINE" | "SEMDEDUP" => {
            "write `DEDUP SEMANTIC ON vector`: SEMANTIC compares embeddings"
        }
        "SUFFIX" | "SUFFIX_ARRAY" | "EXACT_SUBSTR" => "write `DEDUP SUBSTRING ON text`",
        "LINE" => "write `DEDUP LINES ON text`",
        "PARAGRAPH" => "write `DEDUP PARAGRAPHS ON text`",
        "SENTENCE" => "write `DEDUP SENTENCES ON text`",
        _ => return None,
    })
}
