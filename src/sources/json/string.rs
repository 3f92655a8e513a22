//! The content of a JSON string: without its quotes, escapes resolved.

use super::inspect::unicode_escape;
use crate::sources::lines::utf8;
use wide::u8x16;

/// Bytes looked at in one step.
const STEP: usize = 16;

/// The content of a string value. Text without escapes is not copied; other text is put into `scratch`.
pub(crate) fn string_content<'a>(raw: &'a str, scratch: &'a mut Vec<u8>) -> &'a str {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    let bytes = inner.as_bytes();
    let Some(first) = memchr::memchr(b'\\', bytes) else { return inner };
    // No escape is shorter than what it stands for. A step may write past the end of what it keeps.
    let room = bytes.len() + STEP;
    if scratch.len() < room {
        scratch.resize(room, 0);
    }
    scratch[..first].copy_from_slice(&bytes[..first]);
    let (mut from, mut to) = (first, first);
    let backslash = u8x16::splat(b'\\');
    // Escapes stand close together: copying on to the next one a step at a time beats a search and a copy for each.
    while let Some(step) = bytes[from..].first_chunk::<STEP>() {
        scratch[to..to + STEP].copy_from_slice(step);
        let escapes = u8x16::from(*step).simd_eq(backslash).to_bitmask();
        let n_plain = if escapes == 0 { STEP } else { escapes.trailing_zeros() as usize };
        from += n_plain;
        to += n_plain;
        if escapes != 0 {
            resolve(bytes, &mut from, scratch, &mut to);
        }
    }
    while from < bytes.len() {
        if bytes[from] == b'\\' {
            resolve(bytes, &mut from, scratch, &mut to);
        } else {
            scratch[to] = bytes[from];
            from += 1;
            to += 1;
        }
    }
    utf8(&scratch[..to]).unwrap_or_default()
}

/// Writes the character of the escape at `from`, and moves both places behind it.
#[inline(always)]
fn resolve(bytes: &[u8], from: &mut usize, out: &mut [u8], to: &mut usize) {
    let plain = match bytes.get(*from + 1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => {
            // `inspect` refused every line with an escape that is no character.
            let (character, n_bytes) = unicode_escape(&bytes[*from..]).unwrap_or((char::REPLACEMENT_CHARACTER, 6));
            *to += character.encode_utf8(&mut out[*to..]).len();
            *from += n_bytes;
            return;
        }
        Some(other) => *other,
        None => {
            *from += 1;
            return;
        }
    };
    out[*to] = plain;
    *to += 1;
    *from += 2;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn strings_lose_their_escapes_and_nothing_else() {
        let mut scratch = Vec::new();
        for (raw, content) in [
            (r#""plain""#, "plain"),
            (r#""""#, ""),
            (r#""a\n\t\"\\\/\u00e9\ud83d\ude00z""#, "a\n\t\"\\/é😀z"),
            (r#""\\""#, "\\"),
        ] {
            assert_eq!(string_content(raw, &mut scratch), content);
        }
    }

    #[test]
    fn escapes_are_found_at_every_place_of_a_step() {
        let mut scratch = Vec::new();
        for n_before in 0..40 {
            for n_after in 0..40 {
                for text in ["\n", "\\\\\"", "\u{1}", "é\t😀"] {
                    let text = format!("{}{text}{}", "ä".repeat(n_before), "b".repeat(n_after));
                    let raw = serde_json::to_string(&text).unwrap();
                    assert_eq!(string_content(&raw, &mut scratch), text);
                }
            }
        }
    }
}
