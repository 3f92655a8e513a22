//! Reads a JSON document of several lines as JSON Lines: one big array, or objects printed over several lines.
//!
//! The stream is changed byte for byte, so offsets stay true: line ends inside a value become spaces, the brackets of
//! the outer array become spaces, and the commas between its items become line ends.
//!
//! Only for `.json` files: in `.jsonl` a broken line must not swallow the next one.

use crate::sources::compression::{ByteStream, peek};
use std::io::{self, Read};

const HEAD_BYTES: usize = 4096;

/// Adapts the stream of a file whose content asks for it.
pub(crate) fn to_lines(name: &str, stream: ByteStream) -> io::Result<ByteStream> {
    let lower = name.to_ascii_lowercase();
    let (plain, _) = crate::sources::spec::Compression::of_file_name(&lower);
    if !plain.ends_with(".json") {
        return Ok(stream);
    }
    let (head, stream) = peek(stream, HEAD_BYTES)?;
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
    let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    if text.first() == Some(&b'[') {
        Ok(Box::new(Reline { inner: stream, outer_depth: 1, depth: 0, in_string: false, escaped: false }))
    } else if first_line == b"{" {
        Ok(Box::new(Reline { inner: stream, outer_depth: 0, depth: 0, in_string: false, escaped: false }))
    } else {
        Ok(Box::new(stream))
    }
}

struct Reline<R> {
    inner: R,
    /// The depth at which documents lie: 1 inside an array, 0 otherwise.
    outer_depth: u32,
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl<R: Read> Read for Reline<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.inner.read(buffer)?;
        for byte in &mut buffer[..n_bytes] {
            *byte = self.step(*byte);
        }
        Ok(n_bytes)
    }
}

impl<R> Reline<R> {
    fn step(&mut self, byte: u8) -> u8 {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return byte;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth <= self.outer_depth {
                    return b' ';
                }
            }
            b'}' | b']' => {
                let was = self.depth;
                self.depth = self.depth.saturating_sub(1);
                if was <= self.outer_depth {
                    return b' ';
                }
            }
            b',' if self.outer_depth == 1 && self.depth == 1 => return b'\n',
            b'\n' | b'\r' if self.depth > 0 => return b' ',
            _ => {}
        }
        byte
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn arrays_and_pretty_objects_become_lines() {
        for (name, text, lines) in [
            (
                "a.json",
                "[\n{\"a\": \"x,]\\\"\"},\n {\"b\": [1,\n2]}\n]\n",
                &["{\"a\": \"x,]\\\"\"}", "{\"b\": [1, 2]}"][..],
            ),
            ("a.json", "{\n \"a\": 1\n}\n{\n}\n", &["{  \"a\": 1 }", "{ }"]),
            ("a.json", "{\"a\":\n", &["{\"a\":"]),
            ("a.jsonl", "[1,2]\n[3]", &["[1,2]", "[3]"]),
        ] {
            let mut out = String::new();
            to_lines(name, Box::new(Cursor::new(text.to_string()))).unwrap().read_to_string(&mut out).unwrap();
            assert_eq!(out.len(), text.len());
            let found: Vec<&str> = out.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            assert_eq!(found, lines, "{text}");
        }
    }
}
