//! "Did you mean …?": the nearest of the names that exist.

/// The candidate nearest to `name`, if one is near enough to be a slip of the finger.
pub fn nearest<S: AsRef<str>>(name: &str, candidates: impl IntoIterator<Item = S>) -> Option<String> {
    let wanted = name.to_lowercase();
    let allowed_edits = match wanted.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|candidate| {
            let lower = candidate.as_ref().to_lowercase();
            // A prefix is a near miss at any length: `gopher` for `gopher_quality`.
            let prefix =
                wanted.len() >= 3 && (lower.starts_with(&wanted) || wanted.starts_with(&lower) && lower.len() >= 3);
            // At least as many edits as the lengths differ by: names of other lengths need not be compared.
            let longer = wanted.chars().count().abs_diff(lower.chars().count());
            let edits = if longer > allowed_edits { longer } else { strsim::damerau_levenshtein(&wanted, &lower) };
            let distance = if prefix || has_all_parts(&lower, &wanted) { edits.min(allowed_edits) } else { edits };
            (distance, edits, candidate.as_ref().to_string())
        })
        .filter(|(distance, _, _)| *distance <= allowed_edits)
        .min()
        .map(|(_, _, name)| name)
}

/// Whether a name of several words has all of the other's: `min_doc_words` has those of `min_words`.
fn has_all_parts(name: &str, wanted: &str) -> bool {
    wanted.contains('_') && wanted.split('_').all(|part| name.split('_').any(|other| other == part))
}

/// "did you mean `x`?", ready to be a diagnostic's help.
pub fn did_you_mean<S: AsRef<str>>(name: &str, candidates: impl IntoIterator<Item = S>) -> Option<String> {
    nearest(name, candidates).map(|best| format!("did you mean `{best}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_prefixes_but_not_strangers() {
        let names = ["words", "lines", "gopher_quality"];
        assert_eq!(nearest("word", names).as_deref(), Some("words"));
        assert_eq!(nearest("WORDS", names).as_deref(), Some("words"));
        assert_eq!(nearest("gopher", names).as_deref(), Some("gopher_quality"));
        assert_eq!(nearest("embedding", names), None);
        assert_eq!(nearest("min_words", ["max_words_in_doc", "min_doc_words"]).as_deref(), Some("min_doc_words"));
    }
}
