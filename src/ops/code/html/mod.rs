//! HTML as Beautiful Soup reads it with Python's own `html.parser`.

mod entities;
mod parser;
mod tags;
mod tree;

/// The text that a reader would see: no tags, comments, declarations, scripts and style sheets; references decoded.
pub(super) fn visible_text(text: &str) -> String {
    parser::visible_text(text)
}
