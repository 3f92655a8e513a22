//! Python source: comments as the module `tokenize` finds them, docstrings as the module `ast` does.
//!
//! ```text
//! text ──encoding──► tokenize ──► comments          (lenient, line by line)
//! text ──lexer──► grammar ──► docstrings            (strict: the file must be valid)
//! ```
//! Invariant: Python 3.11 decides.

mod docstring;
mod encoding;
mod expressions;
mod grammar;
mod lexer;
mod parameters;
mod patterns;
mod statements;
mod strings;
mod tokenize;

use super::comments::Comments;

/// The comments of a file given as bytes, without their `#`; `None` where `tokenize` raises.
pub(super) fn comments_of_file(text: &str) -> Option<Comments> {
    let text = encoding::decode_as_declared(text)?;
    let mut comments = Comments::default();
    tokenize::comments(&text, |comment| comments.add(comment.get(1..).unwrap_or_default()))?;
    Some(comments)
}

/// The characters of all comments, their `#` included, and of all docstrings; `None` if the file is not valid Python.
pub(super) fn comment_and_docstring_chars(text: &str) -> Option<usize> {
    let docstrings = grammar::docstrings(text)?;
    let mut n_chars = docstrings.joined_chars();
    tokenize::comments(text, |comment| n_chars += comment.chars().count())?;
    Some(n_chars)
}
