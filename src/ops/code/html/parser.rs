//! Splits a document into text, tags and other markup, as Python's `html.parser` does, and builds the [`Tree`].
//!
//! `html.parser` walks a document twice: as long as it is sure, and then, told that no more is coming, over the rest,
//! where a construct that never ends is text up to the next `>`. Only the second walk guesses.
//!
//! Invariant: linear in the document. Where `html.parser` raises (a marked section of an unknown kind), we go on behind
//! the next `>`.
//! Not here: the inside of tags (`tags.rs`).

use super::entities;
use super::tags::{self, StartTag};
use super::tree::{Piece, Tree};
use crate::ops::scan;

/// The text that a reader would see.
pub(super) fn visible_text(text: &str) -> String {
    let mut parser = Parser {
        text,
        at: 0,
        raw_element: None,
        last_gt: memchr::memrchr(b'>', text.as_bytes()),
        last_semicolon: memchr::memrchr(b';', text.as_bytes()),
        never_ends: [false; 3],
        tree: Tree::default(),
    };
    parser.walk(false);
    parser.walk(true);
    parser.tree.finish()
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// The script or style element that is open: only its end tag is markup.
    raw_element: Option<String>,
    last_gt: Option<usize>,
    last_semicolon: Option<usize>,
    /// Whether a search for the end of a comment, or of a section with one or two brackets, failed: later ones would, too.
    never_ends: [bool; 3],
    tree: Tree,
}

/// How far a construct goes.
enum Extent {
    /// Up to this byte.
    To(usize),
    /// It does not end.
    Open,
}

impl<'t> Parser<'t> {
    /// Goes on until the end or, unless `is_end`, until something is not complete.
    fn walk(&mut self, is_end: bool) {
        let (text, bytes) = (self.text, self.text.as_bytes());
        while self.at < bytes.len() {
            let next = match &self.raw_element {
                Some(name) => match find_raw_end(text, self.at, name) {
                    Some(next) => next,
                    None => return,
                },
                None => memchr::memchr2(b'&', b'<', &bytes[self.at..]).map_or(bytes.len(), |step| self.at + step),
            };
            if self.at < next {
                self.tree.text(&text[self.at..next]);
                self.at = next;
            }
            match bytes.get(next) {
                None => return,
                Some(b'<') => {
                    let extent = match bytes.get(next + 1) {
                        None => break,
                        Some(byte) if byte.is_ascii_alphabetic() => self.start_tag(next),
                        Some(b'/') => self.end_tag(next),
                        Some(b'?') => self.upto_gt(next + 2),
                        Some(b'!') => self.declaration(next),
                        Some(_) => {
                            self.tree.text("<");
                            Extent::To(next + 1)
                        }
                    };
                    match extent {
                        Extent::To(end) => self.at = end,
                        Extent::Open if !is_end => break,
                        Extent::Open => {
                            let end = self.find(b'>', next + 1).map(|gt| gt + 1);
                            let end = end.or_else(|| self.find(b'<', next + 1)).unwrap_or(next + 1);
                            self.tree.text(&text[next..end]);
                            self.at = end;
                        }
                    }
                }
                Some(_) if bytes.get(next + 1) == Some(&b'#') => {
                    if !self.numbered_reference(next) {
                        if self.last_semicolon.is_some_and(|last| last >= next) {
                            self.tree.text("&#");
                            self.at = next + 2;
                        }
                        break;
                    }
                }
                Some(_) => {
                    if !self.named_reference(next, is_end) {
                        break;
                    }
                }
            }
        }
        if is_end && self.at < bytes.len() && self.raw_element.is_none() {
            self.tree.text(&text[self.at..]);
            self.at = bytes.len();
        }
    }

    fn find(&self, byte: u8, from: usize) -> Option<usize> {
        if byte == b'>' && self.last_gt.is_none_or(|last| last < from) {
            return None;
        }
        memchr::memchr(byte, self.text.as_bytes().get(from..)?).map(|step| from + step)
    }

    fn start_tag(&mut self, start: usize) -> Extent {
        let can_end = self.last_gt.is_some_and(|last| last > start);
        match tags::start_tag(self.text, start, can_end) {
            StartTag::Incomplete => Extent::Open,
            StartTag::Text { end } => {
                self.tree.text(&self.text[start..end]);
                Extent::To(end)
            }
            StartTag::Tag { name, end, is_closed } => {
                if !is_closed && matches!(name.as_str(), "script" | "style") {
                    self.raw_element = Some(name.clone());
                }
                self.tree.start(name, is_closed);
                Extent::To(end)
            }
        }
    }

    fn end_tag(&mut self, start: usize) -> Extent {
        let Some(gt) = self.find(b'>', start + 1) else { return Extent::Open };
        if let Some((name, end)) = tags::plain_end_tag(self.text, start) {
            if self.raw_element.as_ref().is_some_and(|raw| *raw != name) {
                self.tree.text(&self.text[start..=gt]);
                return Extent::To(gt + 1);
            }
            self.tree.end(&name);
            self.raw_element = None;
            return Extent::To(end);
        }
        if self.raw_element.is_some() {
            self.tree.text(&self.text[start..=gt]);
            return Extent::To(gt + 1);
        }
        match tags::loose_name(self.text, start + 2) {
            Some((name, after)) => {
                self.tree.end(&name);
                Extent::To(self.find(b'>', after).unwrap_or(gt) + 1)
            }
            None if gt == start + 2 => Extent::To(gt + 1),
            None => self.upto_gt(start + 2),
        }
    }

    /// `<!…`
    fn declaration(&mut self, start: usize) -> Extent {
        let rest = &self.text[start..];
        if rest.starts_with("<!--") {
            return self.delimited(start + 4, 0);
        }
        if rest.starts_with("<![") {
            return self.marked_section(start);
        }
        let is_doctype = rest.get(..9).is_some_and(|begin| begin.eq_ignore_ascii_case("<!doctype"));
        self.upto_gt(if is_doctype { start + 9 } else { start + 2 })
    }

    /// `<![name[ … ]]>` or, from word processors, `<![if …]>`.
    fn marked_section(&mut self, start: usize) -> Extent {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let name = start + 3;
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let name_end = name + bytes[name..].iter().take_while(|byte| is_name(byte)).count();
        if name == bytes.len() || (bytes[name].is_ascii_alphabetic() && tags::skip_space(text, name_end) == bytes.len())
        {
            return Extent::Open;
        }
        match text[name..name_end].to_ascii_lowercase().as_str() {
            "temp" | "cdata" | "ignore" | "include" | "rcdata" => self.delimited(name, 2),
            "if" | "else" | "endif" => self.delimited(name, 1),
            _ => self.upto_gt(start + 2),
        }
    }

    /// A comment (`n_brackets` is 0) or marked section whose content begins at `from`.
    fn delimited(&mut self, from: usize, n_brackets: usize) -> Extent {
        if self.never_ends[n_brackets] {
            return Extent::Open;
        }
        let found =
            if n_brackets == 0 { comment_end(self.text, from) } else { section_end(self.text, from, n_brackets) };
        let Some((content_end, end)) = found else {
            self.never_ends[n_brackets] = true;
            return Extent::Open;
        };
        let content = &self.text[from..content_end];
        match content.get(..6) {
            Some(begin) if n_brackets > 0 && begin.eq_ignore_ascii_case("cdata[") => {
                self.tree.markup(&content[6..], Piece::Section);
            }
            _ => self.tree.markup(content, Piece::Markup),
        }
        Extent::To(end)
    }

    /// Markup that ends at the first `>` from `from` on.
    fn upto_gt(&mut self, from: usize) -> Extent {
        let Some(gt) = self.find(b'>', from) else { return Extent::Open };
        self.tree.markup(&self.text[from..gt], Piece::Markup);
        Extent::To(gt + 1)
    }

    /// `&#…` at `start`; false if it is no reference or may go on behind the end of the document.
    fn numbered_reference(&mut self, start: usize) -> bool {
        let bytes = self.text.as_bytes();
        let (from, is_hex) = match bytes.get(start + 2) {
            Some(b'x' | b'X') => (start + 3, true),
            _ => (start + 2, false),
        };
        let is_digit = |byte: &u8| if is_hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        let end = from + bytes[from.min(bytes.len())..].iter().take_while(|byte| is_digit(byte)).count();
        // Something must follow that is no digit, not even a hexadecimal one after decimal ones.
        if end == from || bytes.get(end).is_none_or(u8::is_ascii_hexdigit) {
            return false;
        }
        let digits = &self.text[from..end];
        let number = u32::from_str_radix(digits, if is_hex { 16 } else { 10 }).unwrap_or(u32::MAX);
        self.tree.text(entities::numbered(number).encode_utf8(&mut [0; 4]));
        self.at = if bytes[end] == b';' { end + 1 } else { end };
        true
    }

    /// `&…` at `start`; false if it may go on behind the end of the document.
    fn named_reference(&mut self, start: usize, is_end: bool) -> bool {
        let bytes = self.text.as_bytes();
        if bytes.get(start + 1).is_some_and(u8::is_ascii_alphabetic) {
            let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
            let longest = start + 1 + bytes[start + 1..].iter().take_while(|byte| is_name(byte)).count();
            // The name must be followed by something that is neither letter nor digit: if need be, its own `-` or `.`.
            let end = if longest < bytes.len() {
                Some(longest)
            } else {
                bytes[start + 2..].iter().rposition(|byte| matches!(byte, b'-' | b'.')).map(|at| start + 2 + at)
            };
            let Some(end) = end else {
                if is_end && start + 2 == bytes.len() {
                    self.at = start + 1;
                }
                return false;
            };
            let name = &self.text[start + 1..end];
            match entities::named(name) {
                Some(characters) => self.tree.text(characters),
                None => self.tree.text(&self.text[start..end]),
            }
            self.at = if bytes.get(end) == Some(&b';') { end + 1 } else { end };
            return true;
        }
        if start + 1 == bytes.len() {
            return false;
        }
        self.tree.text("&");
        self.at = start + 1;
        true
    }
}

/// `--`, white space, `>`: where it begins and ends.
fn comment_end(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    while let Some(step) = text.get(at..)?.find("--") {
        at += step;
        let end = tags::skip_space(text, at + 2);
        if text.as_bytes().get(end) == Some(&b'>') {
            return Some((at, end + 1));
        }
        at += 1;
    }
    None
}

/// `]` once or twice and `>`, with white space between them: where it begins and ends.
fn section_end(text: &str, from: usize, n_brackets: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(step) = memchr::memchr(b']', &bytes[at..]) {
        at += step;
        let mut end = tags::skip_space(text, at + 1);
        if n_brackets == 2 && bytes.get(end) == Some(&b']') {
            end = tags::skip_space(text, end + 1);
        } else if n_brackets == 2 {
            at += 1;
            continue;
        }
        if bytes.get(end) == Some(&b'>') {
            return Some((at, end + 1));
        }
        at += 1;
    }
    None
}

/// The end tag of a raw element: `</name>` in any case, with white space around the name.
fn find_raw_end(text: &str, from: usize, name: &str) -> Option<usize> {
    let mut at = from;
    while let Some(step) = text.get(at..)?.find("</") {
        at += step;
        let mut rest = text[at + 2..].trim_start_matches(scan::is_space).chars();
        // Without regard to case, `ſ` is an s.
        let same = |ours: char, theirs: char| theirs.eq_ignore_ascii_case(&ours) || (ours == 's' && theirs == 'ſ');
        if name.chars().all(|ours| rest.next().is_some_and(|theirs| same(ours, theirs)))
            && rest.as_str().trim_start_matches(scan::is_space).starts_with('>')
        {
            return Some(at);
        }
        at += 2;
    }
    None
}
