//! `has_listed_word(text, words)`: whether a word of a list occurs.

use super::device_lists::can_be_listed;
use super::letters::is_letter;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "has_listed_word",
    family: Family::Web,
    summary: "whether the lower-cased document contains a word or phrase of a list",
    details: "The list is in lower case. `match` says what counts: `'words'`, a member without a space equals a word between \
              white space, one with a space occurs anywhere (Dolma's C4 taggers); `'bounded'`, a member occurs between \
              characters that are no letter, digit or `_`, or the ends of the text (C4's list in datatrove); \
              `'anywhere'`, a member occurs (the same for Chinese, Japanese and Thai). An empty document or list gives \
              false.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("words", "the words and phrases"),
        Param::choice("match", "what counts", &["words", "bounded", "anywhere"]).default(Literal::Text("words")),
    ],
    returns: Returns::Boolean,
    examples: &[
        Example::of("has_listed_word('Use JavaScript now', ['javascript'])", "true"),
        Example::of("has_listed_word('Use JavaScript, now', ['javascript'])", "false"),
        Example::of("has_listed_word('Use JavaScript, now', ['javascript'], match => 'bounded')", "true"),
        Example::of("has_listed_word('', ['a'])", "false"),
        Example::of("has_listed_word(NULL, ['a'])", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(10.0), // estimate, for a list of 400
    cpu: Cpu::Bool(|text, args| {
        let lower = text.to_lowercase();
        let members = || args.texts("words").iter().map(String::as_str).filter(|member| !member.is_empty());
        match args.text("match") {
            "bounded" => members().any(|member| occurs_bounded(&lower, member)),
            "anywhere" => members().any(|member| find(&lower, member).next().is_some()),
            _ => {
                scan::words(&lower).any(|word| args.has_text("words", word))
                    || members().any(|member| member.contains(' ') && find(&lower, member).next().is_some())
            }
        }
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/has_listed_word.cu"))
        .and_instructions_per_byte(470.0)
        .if_it_takes(can_be_listed),
};

fn find<'t>(text: &'t str, member: &'t str) -> impl Iterator<Item = usize> {
    memchr::memmem::find_iter(text.as_bytes(), member.as_bytes())
}

/// Whether `member` stands between characters that cannot be in a word.
fn occurs_bounded(text: &str, member: &str) -> bool {
    let is_free = |c: Option<char>| c.is_none_or(|c| !is_letter(c) && !c.is_numeric() && c != '_');
    let Some(step) = member.chars().next().map(char::len_utf8) else { return false };
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(member)).map(|at| from + at) {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + member.len()..).and_then(|text| text.chars().next());
        if is_free(before) && is_free(after) {
            return true;
        }
        from = at + step;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_characters_outside_words() {
        for (text, expected) in
            [("bad", true), ("(bad)", true), ("badly bad", true), ("bad_", false), ("äbad", false), ("ba", false)]
        {
            assert_eq!(occurs_bounded(text, "bad"), expected, "{text:?}");
        }
    }
}
