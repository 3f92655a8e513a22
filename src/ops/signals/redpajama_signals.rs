//! `redpajama_signals(text)`: the signals of RedPajama-V2 that need neither a model nor tables.

use super::bare_text::bare;
use super::characters::{is_numeric, is_upper, is_word_char};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "redpajama_signals",
    family: Family::Signals,
    summary: "counts and shares of words, lines and marks, as RedPajama-V2 publishes them",
    details: "Each field is the signal `rps_doc_…` or `rps_lines_…` of its name, rounded to 8 places as there; where \
              RedPajama has no value (no words, no lines) it is 0. *Raw words* are runs of word characters and runs of \
              other characters between them (`don't` is three); *bare words* are the words of `bare_text(text)`. A \
              line ends with its line feed; the last line feed opens no further line. \
              `num_sentences`: matches of a word's beginning or end, then anything but `.!?`, then any of `.!?`. \
              `word_count`, `mean_word_length`: of bare words. `symbol_to_word_ratio`: `#`, `...` and `…` / raw words. \
              `frac_no_alph_words`: raw words without a to z or A to Z. `frac_all_caps_words`: raw words in upper case. \
              `stop_word_fraction`: raw words in `stop_words` / raw words. `frac_lines_end_with_ellipsis`: lines that \
              end with `...` or `…`. `lorem_ipsum`: occurrences in the bare text / its characters. `curly_bracket`: `{` \
              and `}` / characters. Of the signals about lines, which RedPajama gives line by line, the mean over the \
              lines: `lines_ending_with_terminal_punctuation` (`.`, `!`, `?`, `”`), `lines_num_words` (bare), \
              `lines_uppercase_letter_fraction`, `lines_numerical_chars_fraction` (of the bare line), \
              `lines_start_with_bulletpoint`; and the sum of `lines_javascript_counts` (bare words `javascript`).",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("stop_words", "the words that `stop_word_fraction` counts; case matters")
            .default(Literal::TextList(&["the", "be", "to", "of", "and", "that", "have", "with"])),
    ],
    returns: Returns::Struct(&[
        ("num_sentences", Returns::Int64),
        ("word_count", Returns::Int64),
        ("mean_word_length", Returns::Float64),
        ("symbol_to_word_ratio", Returns::Float64),
        ("frac_no_alph_words", Returns::Float64),
        ("frac_all_caps_words", Returns::Float64),
        ("stop_word_fraction", Returns::Float64),
        ("frac_lines_end_with_ellipsis", Returns::Float64),
        ("lorem_ipsum", Returns::Float64),
        ("curly_bracket", Returns::Float64),
        ("lines_ending_with_terminal_punctuation", Returns::Float64),
        ("lines_num_words", Returns::Float64),
        ("lines_uppercase_letter_fraction", Returns::Float64),
        ("lines_numerical_chars_fraction", Returns::Float64),
        ("lines_start_with_bulletpoint", Returns::Float64),
        ("lines_javascript_counts", Returns::Int64),
    ]),
    examples: &[
        Example::of("redpajama_signals('Don''t stop. Why?')['word_count']", "3"),
        Example::of("redpajama_signals('Don''t stop. Why?')['num_sentences']", "2"),
        Example::of("redpajama_signals('OK # 1 a')['frac_all_caps_words']", "0.25"),
        Example::of(r"redpajama_signals(E'One...\ntwo.')['frac_lines_end_with_ellipsis']", "0.5"),
        Example::of("redpajama_signals('')['mean_word_length']", "0.0"),
        Example::of("redpajama_signals(NULL)['word_count']", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(15.0).and_ns_per_row(300.0), // estimate
    cpu: Cpu::Record(write),
    gpu: Gpu::No("structs are built on the CPU"),
};

fn write(text: &str, args: &Args, record: &mut Record) {
    let bare_document = bare(text);
    let n_bare_words = scan::words(&bare_document).count();
    let n_bare_word_chars = scan::words(&bare_document).map(scan::n_chars).sum();
    let raw = RawWords::of(text, args);
    let lines = LineSums::of(text);
    let n_symbols = ["#", "...", "…"].map(|symbol| text.matches(symbol).count()).iter().sum();
    let n_curly = memchr::memchr2_iter(b'{', b'}', text.as_bytes()).count();
    let n_lorem_ipsum = bare_document.matches("lorem ipsum").count();
    // RedPajama looks at the bare words before it counts raw ones.
    let n_stop_words = if n_bare_words == 0 { 0 } else { raw.n_stop_words };
    let n_lines = lines.n_lines;
    let mean = |sum: f64| if n_lines == 0 { 0.0 } else { rounded(sum / n_lines as f64) };
    record
        .int(n_sentences(text) as i64)
        .int(n_bare_words as i64)
        .float(share(n_bare_word_chars, n_bare_words))
        .float(share(n_symbols, raw.n_words))
        // One less the others: so it is rounded there.
        .float(if raw.n_words == 0 { 0.0 } else { rounded(1.0 - raw.n_with_letter as f64 / raw.n_words as f64) })
        .float(share(raw.n_upper, raw.n_words))
        .float(share(n_stop_words, raw.n_words))
        .float(share(lines.n_ellipsis, n_lines))
        .float(share(n_lorem_ipsum, scan::n_chars(&bare_document)))
        .float(share(n_curly, scan::n_chars(text)))
        .float(share(lines.n_terminal, n_lines))
        .float(share(lines.n_bare_words, n_lines))
        .float(mean(lines.uppercase_shares))
        .float(mean(lines.numeric_shares))
        .float(share(lines.n_bullets, n_lines))
        .int(lines.n_javascript as i64);
}

/// To 8 places, as the decimal value of the number says: what Python's `round` does.
fn rounded(value: f64) -> f64 {
    format!("{value:.8}").parse().unwrap_or(value)
}

fn share(part: usize, whole: usize) -> f64 {
    rounded(scan::ratio(part, whole))
}

/// Matches of `\b[^.!?]+[.!?]*`, from left to right.
fn n_sentences(text: &str) -> usize {
    let is_mark = |c: char| matches!(c, '.' | '!' | '?');
    let mut n_sentences = 0;
    let mut was_word = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_word = is_word_char(c);
        let starts = is_word != was_word && !is_mark(c);
        was_word = is_word;
        if starts {
            n_sentences += 1;
            for is_in in [(|c| !matches!(c, '.' | '!' | '?')) as fn(char) -> bool, is_mark] {
                while let Some(c) = chars.next_if(|c| is_in(*c)) {
                    was_word = is_word_char(c);
                }
            }
        }
    }
    n_sentences
}

/// Counts of raw words: matches of `\w+|[^\w\s]+`.
#[derive(Default)]
struct RawWords {
    n_words: usize,
    n_with_letter: usize,
    n_upper: usize,
    n_stop_words: usize,
}

impl RawWords {
    fn of(text: &str, args: &Args) -> Self {
        let mut counts = Self::default();
        for run in scan::words(text) {
            let mut rest = run;
            while let Some(first) = rest.chars().next() {
                let is_word = is_word_char(first);
                let end = rest.find(|c| is_word_char(c) != is_word).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                counts.n_words += 1;
                counts.n_with_letter += usize::from(word.bytes().any(|byte| byte.is_ascii_alphabetic()));
                counts.n_upper += usize::from(is_upper(word));
                counts.n_stop_words += usize::from(args.has_text("stop_words", word));
                rest = after;
            }
        }
        counts
    }
}

/// Sums over the lines.
#[derive(Default)]
struct LineSums {
    n_lines: usize,
    n_ellipsis: usize,
    n_terminal: usize,
    n_bullets: usize,
    n_bare_words: usize,
    n_javascript: usize,
    uppercase_shares: f64,
    numeric_shares: f64,
}

/// Bullets, triangles, squares and the en dash.
const BULLETS: [char; 10] = ['•', '‣', '▶', '◀', '◦', '■', '□', '▪', '▫', '–'];

impl LineSums {
    fn of(text: &str) -> Self {
        let mut sums = Self::default();
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_end_matches(scan::is_space);
            let bare_line = bare(line);
            let n_upper = line.chars().filter(|c| c.is_uppercase()).count();
            let n_numeric = bare_line.chars().filter(|c| is_numeric(*c)).count();
            sums.n_lines += 1;
            sums.n_ellipsis += usize::from(trimmed.ends_with("...") || trimmed.ends_with('…'));
            sums.n_terminal += usize::from(trimmed.ends_with(['.', '!', '?', '”']));
            sums.n_bullets += usize::from(line.trim_start_matches(scan::is_space).starts_with(BULLETS));
            sums.n_bare_words += scan::words(&bare_line).count();
            sums.n_javascript += scan::words(&bare_line).filter(|word| *word == "javascript").count();
            sums.uppercase_shares += share(n_upper, scan::n_chars(line));
            sums.numeric_shares += share(n_numeric, scan::n_chars(&bare_line));
        }
        sums
    }
}
