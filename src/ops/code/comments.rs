//! Finds the comments of a source file by the rules of its language.
//!
//! The rules are those of the Python package comment_parser 1.2.4, which knows no language well: C strings have no
//! escapes, a slash in JavaScript hides the character after it, a here-document is code. They are kept, so that the
//! numbers agree.
//!
//! Invariant: linear in the file; a file is refused (`None`) only where the package raises.
//! Not here: Python, which has a real tokenizer (`python/`).

use super::python;

/// What the comments of a file amount to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Comments {
    /// How many there are.
    pub n_comments: usize,
    /// Characters in all of them, without the marks that open and close them.
    pub n_chars: usize,
}

impl Comments {
    pub(super) fn add(&mut self, text: &str) {
        self.n_comments += 1;
        self.n_chars += text.chars().count();
    }

    /// Characters when they are joined with one space between each two.
    pub(super) fn joined_chars(self) -> usize {
        self.n_chars + self.n_comments.saturating_sub(1)
    }
}

/// The languages of [`find`].
pub(super) const LANGUAGES: &[&str] = &["c", "go", "html", "javascript", "python", "ruby", "shell"];

/// The comments of a file, or `None` where they cannot be told: a comment that never ends, Python that has no tokens.
pub(super) fn find(text: &str, language: &str) -> Option<Comments> {
    match language {
        "c" => between_literals(text, Some("//"), ("/*", "*/")),
        "html" => between_literals(text, None, ("<!--", "-->")),
        "go" => slashes(text, b"\"'`"),
        "javascript" => slashes(text, b"\"'"),
        "ruby" => Some(ruby(text)),
        "shell" => Some(shell(text)),
        "python" => python::comments_of_file(text),
        _ => None,
    }
}

/// The rest of the line that begins at `start`.
fn line_from(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    rest.split('\n').next().unwrap_or_default()
}

/// C and HTML: comments outside of `"…"`, which ends on its line and knows no escapes.
fn between_literals(text: &str, to_line_end: Option<&str>, (open, close): (&str, &str)) -> Option<Comments> {
    let mut comments = Comments::default();
    let mut at = 0;
    let first = open.as_bytes()[0];
    while let Some(step) = memchr::memchr2(b'"', first, &text.as_bytes()[at..]) {
        at += step;
        let rest = &text[at..];
        if rest.starts_with('"') {
            let line = line_from(text, at + 1);
            at += line.find('"').map_or(1, |end| end + 2);
        } else if to_line_end.is_some_and(|mark| rest.starts_with(mark)) {
            let line = line_from(text, at + 2);
            comments.add(line);
            at += 2 + line.len();
        } else if let Some(inside) = rest.strip_prefix(open) {
            let end = inside.find(close)?;
            comments.add(&inside[..end]);
            at += open.len() + end + close.len();
        } else {
            at += 1;
        }
    }
    Some(comments)
}

/// Go and JavaScript: strings have escapes and may span lines; a slash that opens no comment hides what follows it.
fn slashes(text: &str, quotes: &[u8]) -> Option<Comments> {
    let bytes = text.as_bytes();
    let mut comments = Comments::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte == b'/' {
            match bytes.get(at) {
                Some(b'/') => {
                    let line = line_from(text, at + 1);
                    comments.add(line);
                    at += 1 + line.len() + 1;
                }
                Some(b'*') => {
                    let inside = &text[at + 1..];
                    let end = inside.find("*/")?;
                    comments.add(&inside[..end]);
                    at += 1 + end + 2;
                }
                _ => at += 1,
            }
        } else if quotes.contains(&byte) {
            at = after_string(bytes, at, byte);
        }
    }
    Some(comments)
}

/// Where a string ends whose opening quote is just before `at`: after the next quote without a backslash before it.
fn after_string(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// Shell: `#` anywhere outside of strings and not after a backslash.
fn shell(text: &str) -> Comments {
    let bytes = text.as_bytes();
    let mut comments = Comments::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'#' => {
                let line = line_from(text, at);
                comments.add(line);
                at += line.len() + 1;
            }
            b'"' | b'\'' => at = after_string(bytes, at, byte),
            b'\\' => at += 1,
            _ => {}
        }
    }
    comments
}

/// Ruby: `#` outside of strings that end on their line.
fn ruby(text: &str) -> Comments {
    let bytes = text.as_bytes();
    let mut comments = Comments::default();
    let mut at = 0;
    while let Some(step) = memchr::memchr3(b'"', b'\'', b'#', bytes.get(at..).unwrap_or_default()) {
        at += step;
        if bytes[at] == b'#' {
            let line = line_from(text, at + 1);
            comments.add(line);
            at += 1 + line.len();
        } else {
            at = after_ruby_string(bytes, at).unwrap_or(at + 1);
        }
    }
    comments
}

/// A quote after a backslash ends the string only if no other quote of the line does.
fn after_ruby_string(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut escaped = None;
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => break,
            b'\\' if bytes.get(at + 1) == Some(&quote) => {
                escaped = Some(at + 2);
                at += 2;
            }
            _ if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, cases: &[(&str, Option<(usize, usize)>)]) {
        for (text, expected) in cases {
            let found = find(text, language).map(|found| (found.n_comments, found.n_chars));
            assert_eq!(found, *expected, "{language}: {text:?}");
        }
    }

    // The numbers are those of comment_parser 1.2.4.
    #[test]
    fn each_language_has_its_rules() {
        check(
            "c",
            &[
                ("// a\n/* b\n c */", Some((2, 8))),
                ("\"//\" //", Some((1, 0))),
                ("/* a", None),
                ("'\"' // a", Some((1, 2))),
            ],
        );
        check("html", &[("<!-- a -->\"<!--\"", Some((1, 3))), ("<!-->", None)]);
        check("go", &[("`// a` // b", Some((1, 2))), ("x /\"// a", Some((1, 2))), ("/*", None)]);
        check("javascript", &[("`// a`", Some((1, 3))), ("'\\'// a' /***/", Some((1, 1)))]);
        check("ruby", &[("'a\\' # b", Some((1, 2))), ("'a\\'b' # c", Some((1, 2))), ("\"#", Some((1, 0)))]);
        check("shell", &[("#!/bin/sh\n$# \\# '#'", Some((2, 15))), ("\"a\n# b", Some((0, 0)))]);
    }

    #[test]
    fn long_unclosed_constructs_take_linear_time() {
        for language in LANGUAGES {
            for piece in ["\"", "'", "/", "<!-", "\\", "(", "`#", " "] {
                find(&piece.repeat(1 << 16), language);
            }
        }
    }
}
