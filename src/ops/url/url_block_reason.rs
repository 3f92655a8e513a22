//! `url_block_reason(url, domains => […], …)`: which list an address is on.

use super::address::{domain, host};
use crate::ops::prelude::*;
use aho_corasick::AhoCorasick;
use std::collections::HashSet;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "url_block_reason",
    family: Family::Url,
    summary: "why lists of addresses and words block an address; empty if they do not",
    details: "The first that holds: `domain`, the registered domain is in `domains`; `host`, the host is in `hosts`; \
              `url`, the address is in `urls`; `banned_word`, one of its words is in `banned_words`; `soft_words`, at \
              least `soft_word_threshold` different ones are in `soft_words`; `sub_word`, one of `sub_words` occurs in \
              it once all but letters and digits is taken out. The words of an address are its runs of ASCII letters \
              and digits, in lower case; the lists may be in any case. The order and the rules of datatrove's URL \
              filter, which does not put the address in lower case, and whose words of several parts (`free-stuff`) \
              match nothing; here they match the same parts in a row. An empty address is not blocked. Lists of \
              millions belong in a file: see `url_domain`.",
    params: &[
        Param::text("url", "the address"),
        Param::text_list("domains", "registered domains").default(Literal::TextList(&[])),
        Param::text_list("hosts", "hosts").default(Literal::TextList(&[])),
        Param::text_list("urls", "whole addresses").default(Literal::TextList(&[])),
        Param::text_list("banned_words", "words of which one is too many").default(Literal::TextList(&[])),
        Param::text_list("soft_words", "words of which some are too many").default(Literal::TextList(&[])),
        Param::text_list("sub_words", "parts of words").default(Literal::TextList(&[])),
        Param::int("soft_word_threshold", "how many soft words block").at_least(1).default(Literal::Int(2)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("url_block_reason('https://www.spam.com/a', domains => ['spam.com'])", "'domain'"),
        Example::of("url_block_reason('https://ads.site.com/a', [], ['ads.site.com'])", "'host'"),
        Example::of("url_block_reason('http://a.com/Casino-Win', [], [], [], ['casino'])", "'banned_word'"),
        Example::of("url_block_reason('http://a.com/win-big', [], [], [], [], ['win', 'big'])", "'soft_words'"),
        Example::of("url_block_reason('http://a.com/win-win', [], [], [], [], ['win', 'big'])", "''"),
        Example::of("url_block_reason('http://mega-casinos.com', [], [], [], [], [], ['gacasi'])", "'sub_word'"),
        Example::of("url_block_reason('')", "''"),
        Example::of("url_block_reason(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.0).and_ns_per_row(500.0), // estimate
    cpu: Cpu::Text(|url, args| Cow::Borrowed(args.prepared(Lists::new).map_or("", |lists| lists.reason(url)))),
    gpu: Gpu::No("lists of strings stay on the CPU"),
};

/// The lists of a call, ready to be asked.
struct Lists {
    domains: HashSet<String>,
    hosts: HashSet<String>,
    urls: HashSet<String>,
    banned_words: Words,
    soft_words: Words,
    soft_word_threshold: usize,
    sub_words: Option<AhoCorasick>,
}

/// Words of one or more parts, the parts joined by a blank.
struct Words {
    words: HashSet<String>,
    most_parts: usize,
}

impl Lists {
    fn new(args: &Args) -> Self {
        let lower = |name| args.texts(name).iter().map(|text| text.trim().to_lowercase()).collect();
        let sub_words: Vec<String> =
            args.texts("sub_words").iter().map(|text| bare(text)).filter(|text| !text.is_empty()).collect();
        Self {
            domains: lower("domains"),
            hosts: lower("hosts"),
            urls: args.texts("urls").iter().cloned().collect(),
            banned_words: Words::new(args.texts("banned_words")),
            soft_words: Words::new(args.texts("soft_words")),
            soft_word_threshold: args.count("soft_word_threshold"),
            // A set too large for an automaton is far past any list of words.
            sub_words: (!sub_words.is_empty()).then(|| AhoCorasick::new(sub_words).ok()).flatten(),
        }
    }

    fn reason(&self, url: &str) -> &'static str {
        let host = host(url);
        if self.domains.contains(domain(&host, false)) && !host.is_empty() {
            return "domain";
        }
        if self.hosts.contains(host.as_ref()) && !host.is_empty() {
            return "host";
        }
        if self.urls.contains(url) {
            return "url";
        }
        if self.banned_words.n_in(url, 1) > 0 {
            return "banned_word";
        }
        if self.soft_words.n_in(url, self.soft_word_threshold) >= self.soft_word_threshold {
            return "soft_words";
        }
        if self.sub_words.as_ref().is_some_and(|sub_words| sub_words.is_match(&bare(url))) {
            return "sub_word";
        }
        ""
    }
}

impl Words {
    fn new(list: &[String]) -> Self {
        let parted: Vec<Vec<String>> =
            list.iter().map(|word| parts(word).collect()).filter(|parts: &Vec<String>| !parts.is_empty()).collect();
        let most_parts = parted.iter().map(Vec::len).max().unwrap_or(0);
        Self { words: parted.iter().map(|parts| parts.join(" ")).collect(), most_parts }
    }

    /// How many different words of the list are in an address; no more than `enough` are counted.
    fn n_in(&self, url: &str, enough: usize) -> usize {
        if self.words.is_empty() {
            return 0;
        }
        let parts: Vec<String> = parts(url).collect();
        let mut found: HashSet<&str> = HashSet::new();
        for start in 0..parts.len() {
            for n_parts in 1..=self.most_parts.min(parts.len() - start) {
                let word = parts[start..start + n_parts].join(" ");
                found.extend(self.words.get(&word).map(String::as_str));
                if found.len() >= enough {
                    return found.len();
                }
            }
        }
        found.len()
    }
}

/// The runs of ASCII letters and digits, in lower case.
fn parts(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_ascii_lowercase)
}

/// The ASCII letters and digits, in lower case.
fn bare(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ops::Value;

    #[test]
    fn the_first_list_that_blocks_is_the_reason() {
        let list = |texts: &[&str]| Value::TextList(texts.iter().map(|text| text.to_string()).collect());
        let args = Args::new(
            &SPEC,
            vec![
                list(&["Bad.com"]),
                list(&["x.ok.com"]),
                list(&["http://ok.com/one"]),
                list(&["free-stuff", ""]),
                list(&["a", "b", "c d"]),
                list(&["zzz", "-"]),
            ],
        )
        .unwrap();
        let lists = Lists::new(&args);
        let cases = [
            ("http://www.bad.com/free/stuff", "domain"),
            ("http://x.OK.com/", "host"),
            ("http://ok.com/one", "url"),
            ("http://ok.com/Free_Stuff", "banned_word"),
            ("http://ok.com/stuff-free", ""),
            ("http://ok.com/a/b", "soft_words"),
            ("http://ok.com/a/c-d", "soft_words"),
            ("http://ok.com/a/a", ""),
            ("http://ok.com/fiz-z.z", "sub_word"),
            ("", ""),
            ("日本", ""),
        ];
        for (url, reason) in cases {
            assert_eq!(lists.reason(url), reason, "{url}");
        }
    }
}
