//! Where words and tokens begin and end.

use super::Slices;
use wide::u8x16;

const BLOCK: usize = 64;

/// Fills the last block with spaces and adds one more, so that a word can be read 16 bytes at a time.
pub(super) fn pad(folded: &mut Vec<u8>) {
    folded.resize(folded.len().next_multiple_of(BLOCK) + BLOCK, b' ');
}

/// The words of a padded text in which only spaces part them.
pub(super) fn words(folded: &[u8], spans: &mut Vec<[usize; 2]>) {
    let space = u8x16::splat(b' ');
    let mut last_was_word = 0;
    let mut start = None;
    for (place, block) in folded.as_chunks::<BLOCK>().0.iter().enumerate() {
        let mut in_word = 0u64;
        for (quarter, bytes) in block.as_chunks::<16>().0.iter().enumerate() {
            let is_space = u8x16::new(*bytes).simd_eq(space).to_bitmask();
            in_word |= u64::from(!is_space & 0xffff) << (16 * quarter);
        }
        // A bit wherever a word begins or ends.
        let mut turns = in_word ^ (in_word << 1 | last_was_word);
        last_was_word = in_word >> 63;
        while turns != 0 {
            let at = place * BLOCK + turns.trailing_zeros() as usize;
            turns &= turns - 1;
            match start.take() {
                Some(start) => spans.push([start, at]),
                None => start = Some(at),
            }
        }
    }
}

/// The tokens: runs of letters and digits, and every other character that is not white space. Scripts that put no
/// spaces between words have a token for each character.
pub(super) fn tokens(text: &str, spans: &mut Vec<[usize; 2]>) {
    let mut run = None;
    for (at, c) in text.char_indices() {
        let in_run = if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() && !is_spaceless(c) };
        match (in_run, run) {
            (true, None) => run = Some(at),
            (false, Some(start)) => {
                spans.push([start, at]);
                run = None;
            }
            _ => {}
        }
        if !in_run && !crate::ops::scan::is_space(c) {
            spans.push([at, at + c.len_utf8()]);
        }
    }
    if let Some(start) = run {
        spans.push([start, text.len()]);
    }
}

/// Thai, Lao, Myanmar, Khmer, kana and Chinese characters.
pub(super) fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// The runs of `n` characters, in order; a text that has fewer is one itself. Stretches of ASCII are handed on whole.
pub(super) fn characters(text: &str, n: usize, mut each: impl FnMut(Slices<'_>)) {
    let bytes = text.as_bytes();
    let Some((mut end, _)) = text.char_indices().nth(n) else {
        if !bytes.is_empty() {
            each(Slices::One(bytes));
        }
        return;
    };
    let mut start = 0;
    let mut stretch_end = ascii_end(bytes, 0);
    loop {
        if stretch_end < start {
            stretch_end = ascii_end(bytes, start);
        }
        if stretch_end - start >= n {
            each(Slices::Windows(&bytes[start..stretch_end], n));
            // The next run is the first that holds the character after the stretch.
            (start, end) = (stretch_end + 1 - n, stretch_end);
        } else {
            each(Slices::One(&bytes[start..end]));
            start += width(bytes[start]);
        }
        match bytes.get(end) {
            Some(next) => end += width(*next),
            None => return,
        }
    }
}

/// Where the ASCII from `start` on ends.
fn ascii_end(bytes: &[u8], start: usize) -> usize {
    let (blocks, _) = bytes[start..].as_chunks::<BLOCK>();
    let whole = start + BLOCK * blocks.iter().take_while(|block| block.is_ascii()).count();
    let rest = bytes[whole..].iter().position(|byte| !byte.is_ascii());
    rest.map_or(bytes.len(), |at| whole + at)
}

/// The bytes of a character that begins with this one.
fn width(first: u8) -> usize {
    match first {
        ..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    }
}

/// Moves the spans together, with one space between them.
pub(super) fn join(folded: &mut Vec<u8>, spans: &mut [[usize; 2]]) {
    // Tokens may have no space between them, so that the joined text can be longer than the first.
    let mut joined = Vec::with_capacity(folded.len() + spans.len());
    for [start, end] in spans {
        let word = &folded[*start..*end];
        *start = joined.len();
        joined.extend_from_slice(word);
        *end = joined.len();
        joined.push(b' ');
    }
    *folded = joined;
}
