//! `c4_lines(text, …)`: the line rules of C4: what is left of a document, and why it would be dropped.

use super::sentence_count::n_sentences;
use crate::ops::doc::split_lines;
use crate::ops::prelude::*;
use crate::ops::scan::FoldedFinder;
use crate::ops::text::remove_citations::remove_citations;
use std::sync::LazyLock;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "c4_lines",
    family: Family::Web,
    summary: "what the line rules of C4 leave of a document, its sentences, and the reason to drop it",
    details: "Each line (cut at every line break, trimmed) passes these rules in order. It is left out if a word has \
              more than `max_word_length` characters; loses `[1]`, `[]`, `[edit]` and `[citation needed]`; is left out \
              unless it ends in `.`, `?`, `!`, `\"` or `'` and not in `...`; is left out with fewer than \
              `min_words_per_line` words; drops the document with \"lorem ipsum\"; is left out with \"javascript\"; drops \
              the document with `{`; is left out with one of six phrases about cookies and policies. The rest, joined by \
              line feeds and trimmed, is `text`; `sentences` counts the sentences of each kept line as datatrove's \
              white-space tokenizer does, up to the rule that drops the document. `reason` is `lorem_ipsum`, `curly_bracket` or, with fewer \
              than `min_num_sentences`, `too_few_sentences`; `''` for a document that is kept. -1 switches off a rule \
              with a number. datatrove's `C4QualityFilter`, whose names the options have. An empty document gives \
              `''`, 0 and, unless switched off, `too_few_sentences`.",
    params: &[
        Param::text("text", "the document"),
        Param::bool("remove_citations", "remove citation marks").default(Literal::Bool(true)),
        Param::bool("filter_no_terminal_punct", "leave out lines without an end mark").default(Literal::Bool(true)),
        Param::int("min_num_sentences", "fewest sentences of a document").at_least(-1).default(Literal::Int(5)),
        Param::int("min_words_per_line", "fewest words of a line").at_least(-1).default(Literal::Int(3)),
        Param::int("max_word_length", "most characters of a word").at_least(-1).default(Literal::Int(1000)),
        Param::bool("filter_lorem_ipsum", "drop documents with \"lorem ipsum\"").default(Literal::Bool(true)),
        Param::bool("filter_javascript", "leave out lines with \"javascript\"").default(Literal::Bool(true)),
        Param::bool("filter_curly_bracket", "drop documents with `{`").default(Literal::Bool(true)),
        Param::bool("filter_policy", "leave out lines about cookies and policies").default(Literal::Bool(true)),
    ],
    returns: Returns::Struct(&[("text", Returns::Utf8), ("sentences", Returns::Int64), ("reason", Returns::Utf8)]),
    examples: &[
        Example::of(
            r"c4_lines(E'Home | About\nA line that stays.[1]\nPlease enable Javascript now.', min_num_sentences => 1)",
            "{text: 'A line that stays.', sentences: 1, reason: ''}",
        ),
        Example::of("c4_lines('One line only, kept.')['reason']", "'too_few_sentences'"),
        Example::of("c4_lines('if (a) { b(); } is code.')['reason']", "'curly_bracket'"),
        Example::of("c4_lines('')", "{text: '', sentences: 0, reason: 'too_few_sentences'}"),
        Example::of("c4_lines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.0), // estimate
    cpu: Cpu::Record(|text, args, record| {
        let wanted = Wanted { text: record.wants("text"), sentences: record.wants("sentences") };
        let result = apply(text, &Rules::of(args), wanted);
        record.text(&result.text).int(result.n_sentences as i64).text(result.reason);
    }),
    gpu: Gpu::No("structs are built on the CPU"),
};

/// The phrases that the rules look for.
struct Phrases {
    lorem_ipsum: FoldedFinder,
    javascript: FoldedFinder,
    policies: [FoldedFinder; 6],
    /// Every policy holds one of these.
    policy_hints: [FoldedFinder; 3],
}

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    let policies = ["terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies"];
    Phrases {
        lorem_ipsum: FoldedFinder::new("lorem ipsum"),
        javascript: FoldedFinder::new("javascript"),
        policies: policies.map(FoldedFinder::new),
        policy_hints: ["cookie", "privacy policy", "terms of use"].map(FoldedFinder::new),
    }
});

fn has(text: &str, phrase: &FoldedFinder) -> bool {
    phrase.find_at(text, 0).is_some()
}

/// The options; `None` where a rule is off.
struct Rules {
    citations: bool,
    end_mark: bool,
    min_sentences: i64,
    min_words: usize,
    max_word_chars: Option<usize>,
    lorem_ipsum: bool,
    javascript: bool,
    curly_bracket: bool,
    policy: bool,
}

impl Rules {
    fn of(args: &Args) -> Self {
        Self {
            citations: args.bool("remove_citations"),
            end_mark: args.bool("filter_no_terminal_punct"),
            min_sentences: args.int("min_num_sentences"),
            min_words: args.count("min_words_per_line"),
            max_word_chars: usize::try_from(args.int("max_word_length")).ok(),
            lorem_ipsum: args.bool("filter_lorem_ipsum"),
            javascript: args.bool("filter_javascript"),
            curly_bracket: args.bool("filter_curly_bracket"),
            policy: args.bool("filter_policy"),
        }
    }

    /// Whether no word of a line is too long.
    fn words_are_short(&self, line: &str) -> bool {
        match self.max_word_chars {
            Some(max) if line.len() > max => {
                scan::words(line).all(|word| word.len() <= max || word.chars().count() <= max)
            }
            _ => true,
        }
    }
}

/// What is to be told of a document besides the reason to drop it.
#[derive(Clone, Copy)]
struct Wanted {
    text: bool,
    sentences: bool,
}

/// What is left of a document.
struct Outcome {
    /// Empty if it is not wanted.
    text: String,
    /// No more than are needed if it is not wanted.
    n_sentences: usize,
    reason: &'static str,
}

fn apply(text: &str, rules: &Rules, wanted: Wanted) -> Outcome {
    let found = Found::look(text, rules);
    let mut kept = String::with_capacity(if wanted.text { text.len() } else { 0 });
    let mut any_kept = false;
    let mut n_sentences_kept = 0;
    let drop = |n_sentences, reason| Outcome { text: String::new(), n_sentences, reason };
    let is_enough = |n_sentences: usize| i64::try_from(n_sentences).unwrap_or(i64::MAX) >= rules.min_sentences;
    // Then the first sentences decide, and the other lines are not looked at.
    let only_sentences_decide = !wanted.text && !wanted.sentences && !found.can_drop(text, rules);
    for line in split_lines(text) {
        if only_sentences_decide && is_enough(n_sentences_kept) {
            break;
        }
        let whole = line.trim_matches(scan::is_space);
        if !rules.words_are_short(whole) {
            continue;
        }
        let line = if rules.citations { remove_citations(whole) } else { Cow::Borrowed(whole) };
        if rules.end_mark && (!line.ends_with(['.', '?', '!', '"', '\'']) || line.ends_with("...")) {
            continue;
        }
        if !scan::has_words(whole, rules.min_words) {
            continue;
        }
        // Removing a citation can join the halves of a phrase that the whole document does not hold.
        let joined = matches!(line, Cow::Owned(_));
        let lower = if found.kelvin_sign { Cow::Owned(line.to_lowercase()) } else { Cow::Borrowed(&*line) };
        let look = |wanted: bool| wanted || joined || found.kelvin_sign;
        if rules.lorem_ipsum && look(found.lorem_ipsum) && has(&lower, &PHRASES.lorem_ipsum) {
            return drop(n_sentences_kept, "lorem_ipsum");
        }
        if rules.javascript && look(found.javascript) && has(&lower, &PHRASES.javascript) {
            continue;
        }
        if rules.curly_bracket && found.curly_bracket && line.contains('{') {
            return drop(n_sentences_kept, "curly_bracket");
        }
        if rules.policy && look(found.policy) && PHRASES.policies.iter().any(|phrase| has(&lower, phrase)) {
            continue;
        }
        if wanted.sentences || !is_enough(n_sentences_kept) {
            n_sentences_kept += n_sentences(&line);
        }
        if !wanted.text {
            continue;
        }
        if any_kept {
            kept.push('\n');
        }
        any_kept = true;
        kept.push_str(&line);
    }
    let text = match kept.trim_matches(scan::is_space) {
        trimmed if trimmed.len() == kept.len() => kept,
        trimmed => trimmed.to_string(),
    };
    Outcome {
        text,
        n_sentences: n_sentences_kept,
        reason: if is_enough(n_sentences_kept) { "" } else { "too_few_sentences" },
    }
}

/// What the document holds at all, so that most documents' lines need not be searched.
struct Found {
    lorem_ipsum: bool,
    javascript: bool,
    curly_bracket: bool,
    policy: bool,
    kelvin_sign: bool,
}

impl Found {
    fn look(text: &str, rules: &Rules) -> Self {
        let Phrases { lorem_ipsum, javascript, policy_hints: [cookie, privacy, terms], .. } = &*PHRASES;
        let any = FoldedFinder::any_occurs(&[lorem_ipsum, javascript, cookie, privacy, terms], text);
        Self {
            lorem_ipsum: any && rules.lorem_ipsum && has(text, lorem_ipsum),
            javascript: any && rules.javascript && has(text, javascript),
            curly_bracket: rules.curly_bracket && memchr::memchr(b'{', text.as_bytes()).is_some(),
            policy: any && rules.policy && [cookie, privacy, terms].iter().any(|phrase| has(text, phrase)),
            // Lower case turns the Kelvin sign, alone of all characters outside ASCII, into a letter of a phrase.
            kelvin_sign: memchr::memmem::find(text.as_bytes(), "\u{212a}".as_bytes()).is_some(),
        }
    }

    /// Whether a line of the document may drop all of it. A phrase can also come about when a citation is removed.
    fn can_drop(&self, text: &str, rules: &Rules) -> bool {
        let may_join = || rules.lorem_ipsum && rules.citations && matches!(remove_citations(text), Cow::Owned(_));
        self.lorem_ipsum || self.curly_bracket || may_join()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn with_defaults(text: &str) -> (String, usize, &'static str) {
        let args = Args::new(&SPEC, vec![]).unwrap();
        let rules = Rules::of(&args);
        let outcome = apply(text, &rules, Wanted { text: true, sentences: true });
        let reason_only = apply(text, &rules, Wanted { text: false, sentences: false });
        assert_eq!(reason_only.reason, outcome.reason, "{text:?}");
        (outcome.text, outcome.n_sentences, outcome.reason)
    }

    #[test]
    fn rules_run_in_order_line_by_line() {
        let five = "One two three. Four five. Six seven. Eight. Nine.";
        for (text, left, reason) in [
            // Javascript leaves the line out before its bracket can drop the document.
            (format!("{five}\nsome javascript here {{ now.'"), five.to_string(), ""),
            (format!("{five}\nsome code here {{ now."), String::new(), "curly_bracket"),
            // Without an end mark the line goes first.
            (format!("{five}\nsome code here {{ now"), five.to_string(), ""),
            // What is left of a citation is not trimmed again, so the mark is not at the end.
            (format!("{five}\nwith a citation. [1]"), five.to_string(), ""),
            (format!("{five}\nwith a citation.[12]"), format!("{five}\nwith a citation."), ""),
            (format!("{five}\r\nwe use coo\u{212a}ies on it."), five.to_string(), ""),
            (format!("{five}\nthis is java[1]script code."), five.to_string(), ""),
            (format!("{five}\nand so on ..."), five.to_string(), ""),
            (format!("{five}\n{five}\nhere is Lorem ipsum."), String::new(), "lorem_ipsum"),
            (format!("{five}\n{five}\nhere is lorem[1] ipsum."), String::new(), "lorem_ipsum"),
            (format!("{} two three.", "x".repeat(1001)), String::new(), "too_few_sentences"),
        ] {
            let (ours, _, why) = with_defaults(&text);
            assert_eq!((ours.as_str(), why), (left.as_str(), reason), "{text:?}");
        }
    }
}
