//! Undoing wrong decodings: UTF-8 that was read as a single-byte code page, as a whole or in places.
//!
//! ```text
//!  "cafÃ©" ──encode as Latin-1──► 63 61 66 C3 A9 ──decode as UTF-8──► "café"
//! ```
//! Text that does not look bad (`badness.rs`) is never touched. A step that succeeds is tried again on its result, as
//! text may have been damaged more than once.

use super::badness::is_bad;
use super::characters::replace_c1;
use super::chars::{CONTINUES, CharInfo, LEADS_2, LEADS_3, LEADS_4, ONLY_CONTINUES, TABLE};
use super::tables::{CODE_PAGES, N_CODE_PAGES};
use super::{MAX_ROUNDS, utf8};

/// Repairs the encoding until nothing more is found; `None` if nothing changed.
pub(super) fn fix_encoding(text: &str) -> Option<String> {
    let mut fixed = None;
    for _ in 0..MAX_ROUNDS {
        match one_step(fixed.as_deref().unwrap_or(text)) {
            Some(better) => fixed = Some(better),
            None => break,
        }
    }
    fixed
}

/// The first repair that applies and changes the text.
fn one_step(text: &str) -> Option<String> {
    if text.is_ascii() || !is_bad(text) {
        return None;
    }
    let possible = code_pages(text);
    let changed = |fixed: &String| fixed != text;
    if let Some(decoded) =
        (0..N_CODE_PAGES).filter(|page| possible & (1 << page) != 0).find_map(|page| redecode(text, page))
    {
        return Some(decoded).filter(changed);
    }
    if let Some(fixed) = decode_in_places(text).filter(changed) {
        return Some(fixed);
    }
    // What is left: Latin-1 that was meant as Windows-1252.
    replace_c1(text)
}

/// The code pages that have all characters of the text, one bit each.
fn code_pages(text: &str) -> u16 {
    text.chars().fold(u16::MAX, |pages, c| pages & TABLE.info(c).code_pages)
}

/// The text as UTF-8, if it was read in this code page.
fn redecode(text: &str, page: usize) -> Option<String> {
    let mut bytes: Vec<u8> = text.chars().map(|c| TABLE.info(c).bytes[page]).collect();
    if CODE_PAGES[page].restores_a0 && utf8::has_spaces_for_a0(&bytes) {
        bytes = utf8::restore_a0(&bytes);
    }
    if CODE_PAGES[page].lenient {
        bytes = utf8::replace_lossy(&bytes);
    }
    utf8::decode(&bytes)
}

/// Repairs each stretch that looks like UTF-8 by itself.
fn decode_in_places(text: &str) -> Option<String> {
    let mut out = None;
    let (mut copied, mut at) = (0, 0);
    let mut before = None;
    while let Some(c) = text[at..].chars().next() {
        let info = TABLE.info(c);
        let n_bytes = if before.is_some_and(only_continues) { 0 } else { utf8_like(&text[at..]) };
        if n_bytes == 0 {
            at += c.len_utf8();
            before = Some(info);
            continue;
        }
        let stretch = &text[at..at + n_bytes];
        // A stretch that is the whole text was tried already.
        if stretch.len() < text.len()
            && let Some(fixed) = fix_encoding(stretch)
        {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[copied..at]);
            out.push_str(&fixed);
            copied = at + n_bytes;
        }
        at += n_bytes;
        before = stretch.chars().next_back().map(|c| TABLE.info(c));
    }
    let mut out: String = out?;
    out.push_str(&text[copied..]);
    Some(out)
}

fn only_continues(info: &CharInfo) -> bool {
    info.flags & ONLY_CONTINUES != 0
}

/// The length of the longest beginning that consists of sequences which UTF-8 gives in one code page or another.
fn utf8_like(text: &str) -> usize {
    let mut rest = text.chars();
    let mut end = 0;
    while let Some(c) = rest.next() {
        let flags = TABLE.info(c).flags;
        let n_more = if flags & LEADS_2 != 0 {
            1
        } else if flags & LEADS_3 != 0 {
            2
        } else if flags & LEADS_4 != 0 {
            3
        } else {
            break;
        };
        let n_found = rest.by_ref().take(n_more).take_while(|c| TABLE.info(*c).flags & CONTINUES != 0).count();
        if n_found < n_more {
            break;
        }
        end = text.len() - rest.as_str().len();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the UTF-8 of `text` in a code page.
    fn misread(text: &str, page: usize) -> String {
        let upper: Vec<char> = CODE_PAGES[page].upper_half().map(|(_, c)| c).collect();
        text.bytes().map(|byte| if byte < 0x80 { byte.into() } else { upper[usize::from(byte) - 0x80] }).collect()
    }

    #[test]
    fn every_code_page_is_undone_also_twice() {
        for page in 0..N_CODE_PAGES {
            for text in ["L’été — déjà vu…", "Größe: 5 €", "“naïve” café"] {
                let once = misread(text, page);
                assert_eq!(fix_encoding(&once).as_deref(), Some(text), "{once}");
                let twice = misread(&once, page);
                assert_eq!(fix_encoding(&twice).as_deref(), Some(text), "{twice}");
            }
        }
    }

    #[test]
    fn damage_beside_good_text_is_undone_in_its_place() {
        for (text, expected) in [
            ("日本 cafÃ© 日本", "日本 café 日本"),
            ("ľ “quoted” â€œbrokenâ€\u{9d} ☃", "ľ “quoted” “broken” ☃"),
            ("☃ \u{80}5 \u{81}", "☃ €5 \u{81}"),
        ] {
            assert_eq!(fix_encoding(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn good_text_is_left_alone() {
        for text in ["", "plain", "Ça va, Ñandú?", "Ελληνικά και русский", "日本語", "ÅÄÖ", "Â"]
        {
            assert_eq!(fix_encoding(text), None, "{text}");
        }
    }
}
