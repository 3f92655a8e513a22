//! Documents to compare both sides on: random Unicode, words, lines, repetitions, empty ones, nulls, long ones.

use super::super::harness::root;
use super::on_cpu;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Numbers that look random and are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

const WORDS: &[&str] = &[
    "data",
    "curation",
    "naïve",
    "Über",
    "日本語",
    "quality",
    "filter",
    "#tag",
    "…",
    "...",
    "λ",
    "emoji😀",
    "a",
    "the",
    "of",
    "and",
    "with",
    "text",
    "x\ty",
    "1234",
    "http://ex.com/a?b",
    "www.x.de",
    "{",
    "}",
    "lorem ipsum",
    "JavaScript",
    "end.",
    "what?",
    "no!",
    "\"quoted.\"",
    "•",
    "- item",
    "•bullet",
    "。",
    "\u{3000}",
    "\u{85}",
    "\u{2028}",
    "\u{1c}",
    "İ",
    "\u{212a}",
    "ß",
    "½",
    "٣",
    "cookies",
    "terms of use",
    "read more",
    "##",
    "-",
    "\u{345}",
    "a\u{301}",
    "e.g.",
    "---",
    "|",
    "_x_",
    "\r\n",
    "\r",
    "\u{b}",
];

/// One document; `None` is null.
fn document(number: usize, random: &mut Random) -> Option<String> {
    Some(match number % 23 {
        3 => String::new(),
        5 => return None,
        7 => " \n \n\n".to_string(),
        9 => {
            let n_chars = random.below(200);
            (0..n_chars).map(|_| char::from_u32(random.below(0x1_1000) as u32).unwrap_or('x')).collect()
        }
        10 => (0..random.below(80)).map(|_| char::from(random.below(128) as u8)).collect(),
        11 => "one two three four five six ".repeat(random.below(12)),
        _ => {
            let few = 2 + random.below(WORDS.len() - 2);
            let mut text = String::new();
            for _ in 0..random.below(120) {
                text.push_str(random.of(&["\n", "\n\n", "  ", " ", " ", " ", " ", " "]));
                text.push_str(WORDS[random.below(few)]);
            }
            text
        }
    })
}

/// `n` documents as JSON Lines with `id`, `text`, and numbers `n`, `x`, `flag` that may be null.
pub fn json_lines(n: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut lines = String::new();
    for id in 0..n {
        let text = document(id, &mut random).map_or("null".to_string(), |text| serde_json::to_string(&text).unwrap());
        let number = match random.below(5) {
            0 => "null".to_string(),
            1 => "0".to_string(),
            _ => (random.below(2000) as i64 - 1000).to_string(),
        };
        let x = match random.below(6) {
            0 => "null".to_string(),
            1 => "-0.0".to_string(),
            _ => format!("{:.3}", random.below(4000) as f64 / 1000.0 - 2.0),
        };
        let flag = random.of(&["true", "false", "null"]);
        let _ = writeln!(lines, r#"{{"id":{id},"text":{text},"n":{number},"x":{x},"flag":{flag}}}"#);
    }
    lines
}

/// A file of documents, some of them a megabyte long.
pub fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut lines = json_lines(301, 1);
        let mut random = Random(99);
        let repeated = "word ".repeat(200_000);
        let varied: String = (0..150_000).map(|_| format!("w{} ", random.below(30_000))).collect();
        for (id, text) in [(301, repeated), (302, varied)] {
            let _ = writeln!(lines, r#"{{"id":{id},"text":"{text}","n":1,"x":0.5,"flag":true}}"#);
        }
        write("gpu-long.jsonl", &lines)
    })
}

/// The same without the long ones.
pub fn short_file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| write("gpu-short.jsonl", &json_lines(301, 2)))
}

/// Two documents of a megabyte each, one of ASCII alone and one of all kinds of characters: words of many lengths, lines,
/// paragraphs, repetitions, URLs, brackets. For what is too slow with more of them; a Parquet file, because reading the
/// text out of JSON again and again would take longer than the rest.
pub fn long_file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let ascii: Vec<&str> = WORDS.iter().copied().filter(|word| word.is_ascii()).collect();
        let mut random = Random(17);
        let mut lines = String::new();
        for (id, words) in [(0, &ascii[..]), (1, WORDS)] {
            let mut text = String::new();
            while text.len() < 1_000_000 {
                text.push_str(random.of(&["\n", "\n\n", "  ", " ", " ", " ", " ", " ", " ", " "]));
                // Half of the words are among a few that come again and again.
                match random.below(2) {
                    0 => text.push_str(words[random.below(words.len())]),
                    _ => _ = write!(text, "w{}", random.below(20_000)),
                }
            }
            assert_eq!(text.is_ascii(), id == 0);
            let text = serde_json::to_string(&text).unwrap();
            let _ = writeln!(lines, r#"{{"id":{id},"text":{text},"n":{id},"x":-0.5,"flag":true}}"#);
        }
        let lines = write("gpu-megabytes.jsonl", &lines);
        let parquet = lines.with_extension("parquet");
        let into = format!("INTO '{}' WITH (overwrite = true)", parquet.display());
        on_cpu(&format!("FROM '{}' |> {into};", lines.display()), &[]);
        parquet
    })
}

/// Signs that stay where accents are dropped, of many classes.
const SIGNS: &[&str] = &[
    "\u{16ff0}",
    "\u{1b44}",
    "\u{a9c0}",
    "\u{1d165}",
    "\u{1d16e}",
    "\u{302e}",
    "\u{302f}",
    "\u{1d16d}",
    // Newer than the list of accents.
    "\u{897}",
];
/// Accents of many classes, which go and part nothing; one of them is written as two.
const ACCENTS: &[&str] = &["\u{334}", "\u{323}", "\u{301}", "\u{345}", "\u{f73}"];
/// What parts signs: accents of no class, letters, digits, spaces, and notes that have signs themselves.
const PARTS: &[&str] = &[
    "\u{34f}",
    "\u{fe0f}",
    "\u{93f}",
    "a",
    "é",
    "İ",
    "Σ",
    "ΑΣ",
    "한",
    "하",
    "日",
    " ",
    "\n",
    "。",
    "7",
    "٣",
    "1.5",
    "\u{1d15e}",
    "\u{1d160}",
    "\u{1d1c0}",
];

/// Signs that have a canonical order, in all orders: each two and three of them, with accents and other characters, and in
/// runs longer than a warp looks at at once.
pub fn signs_file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut random = Random(23);
        let mut one_of = |kinds: &[&[&'static str]]| {
            let kind = kinds[random.below(kinds.len())];
            random.of(kind)
        };
        let mut texts: Vec<String> = vec![];
        for (first, second) in SIGNS.iter().flat_map(|first| SIGNS.iter().map(move |second| (first, second))) {
            let third = |sign: &&str| format!("{first}{second} x{first}{second}{sign} \u{1d15e}{second}{sign}{first} ");
            texts.push(SIGNS.iter().map(third).collect());
        }
        for number in 0..150 {
            texts.push((0..number % 60).map(|_| one_of(&[SIGNS, SIGNS, ACCENTS, PARTS])).collect());
        }
        for start in 0..32 {
            let run = (0..20 + start * 3).map(|_| one_of(&[SIGNS, ACCENTS]));
            texts.push(["x".repeat(start), run.collect(), " end".to_string()].concat());
        }
        texts.push((0..9_000).map(|_| one_of(&[SIGNS])).collect());
        let mut lines = String::new();
        for (id, text) in texts.iter().enumerate() {
            let _ = writeln!(lines, r#"{{"id":{id},"text":{}}}"#, serde_json::to_string(text).unwrap());
        }
        write("gpu-signs.jsonl", &lines)
    })
}

fn write(name: &str, lines: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, lines).unwrap();
    assert!(root().exists());
    path
}
