//! Which elements are open, and which of the text is visible: what Beautiful Soup's `get_text` gives after the scripts
//! and style sheets are taken out.
//!
//! Invariant: an element is never moved. An end tag closes everything up to the nearest open element of its name, and
//! nothing if there is none; elements that are empty by nature close at once.

use std::collections::HashMap;

/// Elements that hold nothing.
const EMPTY: &[&str] = &[
    "area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "image", "img", "input",
    "isindex", "keygen", "link", "menuitem", "meta", "nextid", "param", "source", "spacer", "track", "wbr",
];
/// Elements whose content is dropped.
const HIDDEN: &[&str] = &["script", "style"];
/// Elements whose own text is not text of the document; marked sections in them are.
const APART: &[&str] = &["rp", "rt", "template"];
/// Elements whose white space counts.
const PREFORMATTED: &[&str] = &["pre", "textarea"];

/// What a piece of the document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text.
    Text,
    /// The content of a marked section `<![CDATA[…]]>`.
    Section,
    /// A comment, declaration or instruction.
    Markup,
}

#[derive(Default)]
pub(super) struct Tree {
    open: Vec<String>,
    n_open: HashMap<String, usize>,
    n_hidden: usize,
    n_apart: usize,
    n_preformatted: usize,
    /// End tags to come that belong to empty elements, which were closed when they opened.
    closed_early: HashMap<String, usize>,
    /// The text since the last tag; `None` if no piece of it came, be it an empty one.
    pending: Option<String>,
    visible: String,
}

impl Tree {
    /// The text that a reader would see.
    pub(super) fn finish(mut self) -> String {
        self.end_text(Piece::Text);
        self.visible
    }

    /// A piece of text. Pieces without a tag between them are one.
    pub(super) fn text(&mut self, text: &str) {
        self.pending.get_or_insert_default().push_str(text);
    }

    /// Something that is no text ends the text before it.
    pub(super) fn markup(&mut self, content: &str, piece: Piece) {
        self.end_text(Piece::Text);
        self.text(content);
        self.end_text(piece);
    }

    pub(super) fn start(&mut self, name: String, is_closed: bool) {
        self.end_text(Piece::Text);
        if is_closed || EMPTY.contains(&name.as_str()) {
            if !is_closed {
                *self.closed_early.entry(name).or_default() += 1;
            }
            return;
        }
        self.count(&name, true);
        *self.n_open.entry(name.clone()).or_default() += 1;
        self.open.push(name);
    }

    pub(super) fn end(&mut self, name: &str) {
        if let Some(n @ 1..) = self.closed_early.get_mut(name) {
            *n -= 1;
            return;
        }
        self.end_text(Piece::Text);
        if self.n_open.get(name).is_none_or(|n| *n == 0) {
            return;
        }
        while let Some(closed) = self.open.pop() {
            self.count(&closed, false);
            if let Some(n) = self.n_open.get_mut(&closed) {
                *n -= 1;
            }
            if closed == name {
                return;
            }
        }
    }

    fn count(&mut self, name: &str, is_opened: bool) {
        let kinds =
            [(HIDDEN, &mut self.n_hidden), (APART, &mut self.n_apart), (PREFORMATTED, &mut self.n_preformatted)];
        for (names, n) in kinds {
            if names.contains(&name) {
                *n = if is_opened { *n + 1 } else { n.saturating_sub(1) };
            }
        }
    }

    fn end_text(&mut self, piece: Piece) {
        let Some(text) = self.pending.take() else { return };
        let is_seen = match piece {
            Piece::Text => self.n_hidden == 0 && self.n_apart == 0,
            Piece::Section => self.n_hidden == 0,
            Piece::Markup => false,
        };
        if !is_seen {
            return;
        }
        let is_blank = text.bytes().all(|byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\x0c' | b'\r'));
        if is_blank && self.n_preformatted == 0 {
            self.visible.push(if text.contains('\n') { '\n' } else { ' ' });
        } else {
            self.visible.push_str(&text);
        }
    }
}
