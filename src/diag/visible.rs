//! Text of others as messages show it: a query, a file's name or a value may hold what a terminal would obey, or be very long.
//!
//! Invariant: what comes out changes nothing on a terminal but where the cursor is, and no line of it is longer than
//! [`LINE_BYTES`] by more than a few bytes.

use super::Span;
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

/// The longest line that is shown whole.
const LINE_BYTES: usize = 2_000;
/// What is shown of a longer one: its beginning and its end,
const HEAD_BYTES: usize = 1_000;
const TAIL_BYTES: usize = 200;
/// or in a picture what is about the place that is meant, with so much before it.
const PICTURE_BYTES: usize = 400;
const BEFORE_BYTES: usize = 100;
const CUT: &str = "…";

/// Whether a terminal would obey a character instead of showing it, or turn the text around it.
pub fn is_obeyed(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with everything visible, and the middle of very long lines left out.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |character: char| is_obeyed(character) && !matches!(character, '\n' | '\t');
    let is_long = text.len() > LINE_BYTES && text.lines().any(|line| line.len() > LINE_BYTES);
    if !is_long && !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let line_end = line.trim_end_matches('\n').len();
        let (kept, rest) = match line_end > LINE_BYTES {
            true => (0..floor(line, HEAD_BYTES), floor(line, line_end - TAIL_BYTES)..line.len()),
            false => (0..line.len(), line.len()..line.len()),
        };
        let n_left_out = rest.start - kept.end;
        shown.extend(line[kept].chars().map(|shown| if is_hidden(shown) { '\u{fffd}' } else { shown }));
        if n_left_out > 0 {
            let _ = write!(shown, " {CUT} {n_left_out} bytes {CUT} ");
        }
        shown.extend(line[rest].chars().map(|shown| if is_hidden(shown) { '\u{fffd}' } else { shown }));
    }
    Cow::Owned(shown)
}

/// A text with places in it, for a picture: as many lines, each visible and short.
pub(super) struct Picture {
    pub text: String,
    /// Pieces of the original, and where they are in the picture.
    pieces: Vec<(Range<usize>, usize)>,
}

impl Picture {
    /// Of a text; long lines are shown about the first of the places that lies in them. `None` if it can be shown as it is.
    pub fn of(text: &str, places: &[Span]) -> Option<Self> {
        let is_long = text.lines().any(|line| line.len() > LINE_BYTES);
        let is_hidden = |character: char| is_obeyed(character) && !matches!(character, '\n' | '\t' | '\r');
        if !is_long && !text.contains(is_hidden) {
            return None;
        }
        let mut picture = Self { text: String::new(), pieces: vec![] };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let range = start..start + line.trim_end_matches('\n').len();
            let place = places.iter().map(|place| place.start).find(|place| (range.start..=range.end).contains(place));
            picture.add_line(text, range, place);
            if line.ends_with('\n') {
                picture.add(text, start + line.len() - 1..start + line.len());
            }
            start += line.len();
        }
        Some(picture)
    }

    fn add_line(&mut self, text: &str, line: Range<usize>, place: Option<usize>) {
        if line.len() <= LINE_BYTES {
            return self.add(text, line);
        }
        let from = place.map_or(line.start, |place| place.saturating_sub(BEFORE_BYTES).max(line.start));
        let kept = floor(text, from)..floor(text, (from + PICTURE_BYTES).min(line.end));
        if kept.start > line.start {
            self.text.push_str(CUT);
        }
        let is_to_end = kept.end == line.end;
        self.add(text, kept);
        if !is_to_end {
            self.text.push_str(CUT);
        }
    }

    /// Hidden characters become others of the same size, so that places stay what they are.
    fn add(&mut self, text: &str, piece: Range<usize>) {
        let same_size = |character: char| match character.len_utf8() {
            _ if matches!(character, '\n' | '\t' | '\r') || !is_obeyed(character) => character,
            1 => '?',
            2 => '¿',
            _ => '\u{fffd}',
        };
        let at = self.text.len();
        self.text.extend(text[piece.clone()].chars().map(same_size));
        self.pieces.push((piece, at));
    }

    /// Where a place of the original is; the nearest one that is shown, if it was left out.
    pub fn place_of(&self, place: usize) -> usize {
        let number = self.pieces.partition_point(|(piece, _)| piece.end < place);
        match self.pieces.get(number) {
            Some((piece, at)) => at + place.saturating_sub(piece.start),
            None => self.text.len(),
        }
    }
}

/// The last character boundary up to a byte.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(visible("a\u{1b}[31mb\tc\nd\u{9b}\u{202e}é"), "a\u{fffd}[31mb\tc\nd\u{fffd}\u{fffd}é");
        assert!(matches!(visible("plain\ntext"), Cow::Borrowed(_)));
    }

    #[test]
    fn of_a_long_line_beginning_and_end_are_shown() {
        let text = format!("first\n{}é{}\nlast", "a".repeat(999), "b".repeat(600_000));
        let shown = visible(&text);
        assert!(shown.len() < 2 * HEAD_BYTES && shown.starts_with("first\naaa") && shown.ends_with("bbb\nlast"));
        assert!(shown.contains(" … 5"), "{shown}");
    }

    #[test]
    fn places_in_a_picture_are_those_of_the_text() {
        let text = format!("é\u{1b}\n{}FOUND{}\nthen\u{9b} here", "a\u{1b}é".repeat(5_000), "b".repeat(5_000));
        let (found, here) = (text.find("FOUND").unwrap(), text.find("here").unwrap());
        let picture = Picture::of(&text, &[Span::new(found, found + 5), Span::new(here, here + 4)]).unwrap();
        assert!(picture.text.len() < 2 * LINE_BYTES && !picture.text.contains(['\u{1b}', '\u{9b}']));
        assert_eq!(picture.text.lines().count(), 3);
        assert_eq!(&picture.text[picture.place_of(found)..picture.place_of(found + 5)], "FOUND");
        assert_eq!(&picture.text[picture.place_of(here)..], "here");
        // What is left out is where the line is cut.
        let cut = picture.place_of(found + 4_000);
        assert!(picture.text[..cut].ends_with('b') || picture.text[..cut].ends_with('…'));
        assert!(Picture::of("FROM 'x'\n", &[]).is_none());
    }
}
