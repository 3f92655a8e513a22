//! What is known of each character, looked up by its number.
//!
//! Built once, at the first use, from the lists of `tables.rs` and `badness.rs`: a few hundred characters have entries
//! of their own; all others share one of two, for characters inside and outside of words.

use super::badness::{self, Ends};
use super::characters;
use super::tables::*;
use crate::ops::scan;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use unicode_normalization::char::is_combining_mark;

/// May begin a sequence of two bytes, read in some code page.
pub(super) const LEADS_2: u8 = 1;
/// May begin a sequence of three bytes.
pub(super) const LEADS_3: u8 = 1 << 1;
/// May begin a sequence of four bytes.
pub(super) const LEADS_4: u8 = 1 << 2;
/// May continue a sequence.
pub(super) const CONTINUES: u8 = 1 << 3;
/// May continue a sequence and hardly stands for itself.
pub(super) const ONLY_CONTINUES: u8 = 1 << 4;
/// Is removed.
pub(super) const REMOVED: u8 = 1 << 5;
/// Is replaced where a plain style is asked for.
pub(super) const RESTYLED: u8 = 1 << 6;

/// One character's entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CharInfo {
    /// The places of bad sequences that it may take.
    pub(super) places: u128,
    /// The byte in each code page, where `code_pages` says that there is one.
    pub(super) bytes: [u8; N_CODE_PAGES],
    /// The code pages that have it, one bit each.
    pub(super) code_pages: u16,
    /// The constants above.
    pub(super) flags: u8,
}

/// The entries of all characters.
pub(super) struct CharTable {
    /// The place in `infos` of each character below U+10000.
    ids: Vec<u16>,
    infos: Vec<CharInfo>,
    /// Where bad sequences begin and end.
    pub(super) ends: Ends,
}

const IN_WORD: u16 = 0;
const OUTSIDE: u16 = 1;

/// The table.
pub(super) static TABLE: LazyLock<CharTable> = LazyLock::new(CharTable::build);

impl CharTable {
    /// The entry of a character.
    #[inline]
    pub(super) fn info(&self, c: char) -> &CharInfo {
        let id = match self.ids.get(c as usize) {
            Some(id) => *id,
            None if is_word(c) => IN_WORD,
            None => OUTSIDE,
        };
        &self.infos[usize::from(id)]
    }

    fn build() -> Self {
        let other = NOT_ASCII_LETTER | NOT_LINE_FEED;
        let shared = |kinds| CharInfo { places: badness::places('\0', kinds), ..CharInfo::default() };
        let mut infos = vec![shared(other | WORD), shared(other)];
        let mut ids: Vec<u16> = (0..=0xffff_u16)
            .map(|n| if char::from_u32(n.into()).is_some_and(is_word) { IN_WORD } else { OUTSIDE })
            .collect();
        for c in listed() {
            if let (Some(id), Ok(next)) = (ids.get_mut(c as usize), u16::try_from(infos.len())) {
                *id = next;
                infos.push(info_of(c));
            }
        }
        Self { ids, infos, ends: badness::ends() }
    }
}

/// The characters that have entries of their own.
fn listed() -> BTreeSet<char> {
    let kinds = LISTED.iter().flat_map(|(_, set)| members(set));
    let sequences = badness::SEQUENCES.iter().flat_map(|sequence| sequence.iter()).flat_map(|set| set.chars.chars());
    let pages = CODE_PAGES.iter().flat_map(|page| page.upper_half().map(|(_, c)| c));
    let bmp = ('\0'..='\u{ffff}').filter(|c| c.is_ascii() || scan::is_space(*c) || style_flags(*c) != 0);
    kinds.chain(sequences).chain(pages).chain(bmp).collect()
}

fn info_of(c: char) -> CharInfo {
    let mut info = CharInfo { places: badness::places(c, kinds_of(c)), flags: style_flags(c), ..CharInfo::default() };
    for (place, page) in CODE_PAGES.iter().enumerate() {
        let byte = match c {
            '\u{1a}' if page.lenient => None,
            '\u{fffd}' if page.lenient => Some(0x1a),
            '\0'..='\x7f' => u8::try_from(c).ok(),
            _ => page.upper_half().find(|(_, member)| *member == c).map(|(byte, _)| byte),
        };
        let Some(byte) = byte else { continue };
        info.bytes[place] = byte;
        info.code_pages |= 1 << place;
        if page.gives_clues && !c.is_ascii() {
            info.flags |= match byte {
                0x80..=0xbf => CONTINUES | ONLY_CONTINUES,
                0xc2..=0xdf => LEADS_2,
                0xe0..=0xef => LEADS_3,
                0xf0 | 0xf3 => LEADS_4,
                _ => 0,
            };
        }
    }
    if OFTEN_THEMSELVES.contains(c) {
        // The space is among them: it may stand for byte A0.
        info.flags = (info.flags | CONTINUES) & !ONLY_CONTINUES;
    }
    info
}

fn style_flags(c: char) -> u8 {
    let removed = if characters::is_removed(c) { REMOVED } else { 0 };
    removed | if characters::is_restyled(c) { RESTYLED } else { 0 }
}

fn kinds_of(c: char) -> Kinds {
    let listed = LISTED.iter().filter(|(_, set)| members(set).any(|member| member == c));
    let mut kinds = listed.fold(0, |kinds, (kind, _)| kinds | kind);
    kinds |= match c {
        'a'..='z' => ASCII_LOWER,
        'A'..='Z' => ASCII_UPPER,
        _ => NOT_ASCII_LETTER,
    };
    kinds |= if scan::is_space(c) { SPACE } else { 0 };
    kinds |= if is_word(c) { WORD } else { 0 };
    kinds | if c == '\n' { 0 } else { NOT_LINE_FEED }
}

/// What Python's `\w` matches: letters, numbers and `_`.
fn is_word(c: char) -> bool {
    // Rust counts marks and encircled letters as alphabetic, too.
    let circled =
        matches!(c, 'Ⓐ'..='ⓩ' | '\u{1f130}'..='\u{1f149}' | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}');
    c == '_' || (c.is_alphanumeric() && !is_combining_mark(c) && !circled)
}
