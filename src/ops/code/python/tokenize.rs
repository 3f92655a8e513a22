//! Comments as Python's module `tokenize` finds them.
//!
//! `tokenize` is more lenient than the compiler: what it cannot read is an error token of one character, and it goes
//! on behind it. It fails on indentation that fits no outer level, and on a string or bracket that never ends.
//!
//! Invariant: the comments, and the decision to fail, are those of Python 3.11.
//! Not here: the tokens of the compiler (`lexer.rs`).

/// What goes on at the end of a line.
enum Open {
    /// Nothing: a statement begins.
    Nothing,
    /// A backslash ended the line.
    Continued,
    /// A string in one quote that a backslash carried over the line.
    Line(u8),
    /// A string in three quotes.
    Triple(u8),
}

/// Hands each comment, its `#` included, to `on_comment`; `None` where `tokenize` raises.
pub(super) fn comments<'t>(text: &'t str, mut on_comment: impl FnMut(&'t str)) -> Option<()> {
    let mut indents = vec![0_usize];
    let mut open_brackets = 0_i64;
    let mut open = Open::Nothing;
    // Set by a string that a backslash carries on, unset where a string ends. `tokenize` forgets to unset it where such a
    // string breaks off, and then breaks off strings in three quotes, too.
    let mut must_continue = false;
    for line in text.split_inclusive('\n') {
        let mut at = 0;
        match open {
            Open::Line(quote) | Open::Triple(quote) => {
                let is_triple = matches!(open, Open::Triple(_));
                match string_end(line, 0, quote, is_triple) {
                    Some(end) => {
                        at = end;
                        must_continue = false;
                    }
                    // Without a backslash at its end the line is an error token as a whole.
                    None if must_continue && !line.ends_with("\\\n") && !line.ends_with("\\\r\n") => {
                        open = Open::Nothing;
                        continue;
                    }
                    None => continue,
                }
            }
            Open::Nothing if open_brackets == 0 => {
                let column;
                (at, column) = leading_space(line);
                let Some(&first) = line.as_bytes().get(at) else { return Some(()) };
                if first == b'#' {
                    on_comment(line[at..].trim_end_matches(['\r', '\n']));
                }
                if matches!(first, b'#' | b'\r' | b'\n') {
                    continue;
                }
                if indents.last().is_some_and(|&top| column > top) {
                    indents.push(column);
                }
                while indents.last().is_some_and(|&top| column < top) {
                    if !indents.contains(&column) {
                        return None;
                    }
                    indents.pop();
                }
            }
            Open::Nothing | Open::Continued => {}
        }
        open = tokens_of_line(line, at, &mut open_brackets, &mut on_comment);
        must_continue |= matches!(open, Open::Line(_));
    }
    (matches!(open, Open::Nothing) && open_brackets == 0).then_some(())
}

/// Where the leading white space ends, and the column that it reaches.
fn leading_space(line: &str) -> (usize, usize) {
    let mut column = 0;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b' ' => column += 1,
            b'\t' => column = (column / 8 + 1) * 8,
            b'\x0c' => column = 0,
            _ => return (at, column),
        }
    }
    (line.len(), column)
}

/// Walks over one line and says what is open at its end. Only comments, strings, brackets and a backslash at the end
/// of the line matter; all other tokens are passed byte by byte.
fn tokens_of_line<'t>(
    line: &'t str,
    mut at: usize,
    open_brackets: &mut i64,
    on_comment: &mut impl FnMut(&'t str),
) -> Open {
    let bytes = line.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => {
                let rest = &line[at..];
                let comment = &rest[..rest.find(['\r', '\n']).unwrap_or(rest.len())];
                on_comment(comment);
                at += comment.len();
            }
            b'(' | b'[' | b'{' => {
                *open_brackets += 1;
                at += 1;
            }
            b')' | b']' | b'}' => {
                *open_brackets -= 1;
                at += 1;
            }
            b'\\' if matches!(&bytes[at + 1..], b"\n" | b"\r\n") => return Open::Continued,
            b'"' | b'\'' => {
                if bytes[at..].starts_with(&[byte; 3]) {
                    match string_end(line, at + 3, byte, true) {
                        Some(end) => at = end,
                        None => return Open::Triple(byte),
                    }
                } else {
                    match line_string(bytes, at + 1, byte) {
                        LineString::Ends(end) => at = end,
                        LineString::Continues => return Open::Line(byte),
                        // The quote is an error token; what follows is read as code.
                        LineString::Never => at += 1,
                    }
                }
            }
            _ => at += 1,
        }
    }
    Open::Nothing
}

/// The end of a string that is open at `at`, if it is on this line.
fn string_end(line: &str, mut at: usize, quote: u8, is_triple: bool) -> Option<usize> {
    let bytes = line.as_bytes();
    while let Some(step) = memchr::memchr2(quote, b'\\', &bytes[at..]) {
        at += step;
        if bytes[at] == b'\\' {
            at += 2;
            if at >= bytes.len() {
                return None;
            }
        } else if !is_triple {
            return Some(at + 1);
        } else if bytes[at..].starts_with(&[quote; 3]) {
            return Some(at + 3);
        } else {
            at += 1;
        }
    }
    None
}

/// How a string in one quote goes on.
enum LineString {
    /// It ends before this byte.
    Ends(usize),
    /// A backslash carries it over the end of the line.
    Continues,
    /// It neither ends nor goes on.
    Never,
}

fn line_string(bytes: &[u8], mut at: usize, quote: u8) -> LineString {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if matches!(&bytes[at + 1..], b"\n" | b"\r\n") => return LineString::Continues,
            b'\\' => at += 2,
            b'\n' => return LineString::Never,
            _ if byte == quote => return LineString::Ends(at + 1),
            _ => at += 1,
        }
    }
    LineString::Never
}
