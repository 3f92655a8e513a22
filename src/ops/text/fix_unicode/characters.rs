//! Repairs of single characters: those nobody wants, terminal colours, and the plain style of ftfy's own defaults.
//!
//! Each step gives `None` where it changes nothing.

use super::chars::{RESTYLED, TABLE};
use super::tables::{CODE_PAGES, WINDOWS_1252};
use crate::ops::scan;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Writes `text` again with every character for which `is` holds put through `write`.
fn rewrite(text: &str, is: impl Fn(char) -> bool, write: impl Fn(char, &mut String)) -> Option<String> {
    let mut rest = text;
    let mut out = None;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| is(*c)) {
        let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
        out.push_str(&rest[..at]);
        write(c, out);
        rest = &rest[at + c.len_utf8()..];
    }
    let mut out = out?;
    out.push_str(rest);
    Some(out)
}

/// Control characters U+0080 to U+009F become what Windows-1252 has in their places, as browsers do.
pub(super) fn replace_c1(text: &str) -> Option<String> {
    let is_c1 = |c| matches!(c, '\u{80}'..='\u{9f}');
    // Five of the bytes mean nothing in Windows-1252, either: those stay.
    let windows = |c: char| CODE_PAGES[WINDOWS_1252].upper_half().nth(c as usize - 0x80).map_or(c, |(_, c)| c);
    rewrite(text, |c| is_c1(c) && windows(c) != c, |c, out| out.push(windows(c)))
}

/// Whether a character is removed: ASCII control characters but tab, line feed, form feed and carriage return;
/// deprecated format characters, interlinear annotation, the object replacement character, the byte order mark.
pub(super) fn is_removed(c: char) -> bool {
    matches!(c, '\0'..='\x08' | '\x0b' | '\x0e'..='\x1f' | '\x7f')
        || matches!(c, '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffc}')
}

pub(super) fn remove_controls(text: &str) -> Option<String> {
    rewrite(text, is_removed, |_, _| ())
}

/// Removes terminal escapes: ESC `[`, digits and semicolons, an ASCII letter.
pub(super) fn remove_terminal_escapes(text: &str) -> Option<String> {
    let mut out = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text[at..].find("\x1b[") {
        let begin = at + found;
        let codes = text[begin + 2..].trim_start_matches(|c| c == ';' || scan::is_decimal_digit(c));
        at = text.len() - codes.len();
        if codes.starts_with(|c: char| c.is_ascii_alphabetic()) {
            at += 1;
            let out = out.get_or_insert_with(String::new);
            out.push_str(&text[copied..begin]);
            copied = at;
        }
    }
    let mut out: String = out?;
    out.push_str(&text[copied..]);
    Some(out)
}

/// Whether the plain style changes this character.
pub(super) fn is_restyled(c: char) -> bool {
    is_quote(c) || is_line_end(c) || ligature(c).is_some() || is_of_other_width(c)
}

/// The plain style: Latin ligatures and digraphs in single letters; full-width Latin, half-width Katakana and Hangul
/// and the ideographic space in their usual width; straight quotation marks; line feeds for every kind of line end.
pub(super) fn restyle(text: &str) -> Option<String> {
    let crlf = text.contains("\r\n").then(|| text.replace("\r\n", "\n"));
    let is_restyled = |c| TABLE.info(c).flags & RESTYLED != 0;
    let rewritten = rewrite(crlf.as_deref().unwrap_or(text), is_restyled, |c, out| match c {
        _ if is_quote(c) => out.push(if c >= '“' { '"' } else { '\'' }),
        _ if is_line_end(c) => out.push('\n'),
        _ => match ligature(c) {
            Some(letters) => out.push_str(letters),
            None => out.extend(std::iter::once(c).nfkc()),
        },
    });
    rewritten.or(crlf)
}

fn ligature(c: char) -> Option<&'static str> {
    Some(match c {
        'Ĳ' => "IJ",
        'ĳ' => "ij",
        'ŉ' => "'n",
        'Ǳ' => "DZ",
        'ǲ' => "Dz",
        'ǳ' => "dz",
        'Ǆ' => "DŽ",
        'ǅ' => "Dž",
        'ǆ' => "dž",
        'Ǉ' => "LJ",
        'ǈ' => "Lj",
        'ǉ' => "lj",
        'Ǌ' => "NJ",
        'ǋ' => "Nj",
        'ǌ' => "nj",
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        'ﬅ' => "ſt",
        'ﬆ' => "st",
        _ => return None,
    })
}

fn is_of_other_width(c: char) -> bool {
    c == '\u{3000}' || matches!(c, '\u{ff01}'..='\u{ffef}' if !std::iter::once(c).nfkc().eq([c]))
}

/// Curly quotation marks, and the letter that looks like one.
fn is_quote(c: char) -> bool {
    matches!(c, 'ʼ' | '‘'..='‟')
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\r' | '\u{2028}' | '\u{2029}' | '\u{85}')
}

/// Letters and their accents become one character where there is one.
pub(super) fn compose(text: &str) -> Option<String> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return None;
    }
    let composed: String = text.nfc().collect();
    (composed != text).then_some(composed)
}
