//! JSON strings: quotes, and escapes for `"`, `\` and control characters only.
//!
//! Text is looked at eight bytes at a time: documents are long and seldom need an escape, so the common case is one
//! test and one copy of many bytes.

/// What each byte becomes: itself (0), `\` and this letter, or `\u00XX` (`u`).
static ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = b'u';
        control += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0a] = b'n';
    table[0x0c] = b'f';
    table[0x0d] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// Appends `text` as a JSON string, with quotes.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut copied = 0;
    let mut at = 0;
    while let Some(special) = next_special(bytes, at) {
        out.extend_from_slice(&bytes[copied..special]);
        write_escape(bytes[special], out);
        at = special + 1;
        copied = at;
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    match ESCAPES[byte as usize] {
        b'u' => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.push(HEX[(byte >> 4) as usize]);
            out.push(HEX[(byte & 15) as usize]);
        }
        letter => out.extend_from_slice(&[b'\\', letter]),
    }
}

/// The first byte from `start` on that needs an escape.
fn next_special(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for word in bytes[start..].chunks_exact(8) {
        let word = u64::from_le_bytes([word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]]);
        if has_special(word) {
            break;
        }
        at += 8;
    }
    bytes[at..].iter().position(|byte| ESCAPES[*byte as usize] != 0).map(|offset| at + offset)
}

/// Whether one of eight bytes is below 0x20, a quote or a backslash.
fn has_special(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    // Subtracting borrows into the high bit of each byte that is smaller than the constant. A borrow may run on into
    // the next byte, but only from a byte that is special itself, so the answer for the whole word is right.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
    let controls = below(word, 0x20);
    let quotes = below(word ^ (ONES * b'"' as u64), 1);
    let backslashes = below(word ^ (ONES * b'\\' as u64), 1);
    controls | quotes | backslashes != 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_only_what_json_demands() {
        let mut out = Vec::new();
        write_string("tab\t \"q\" \\ \u{1} \u{7f} é 漢 🦀 </script>", &mut out);
        assert_eq!(std::str::from_utf8(&out).unwrap(), "\"tab\\t \\\"q\\\" \\\\ \\u0001 \u{7f} é 漢 🦀 </script>\"");
    }

    #[test]
    fn finds_each_special_byte_at_each_place() {
        for special in (0..0x20).chain([b'"', b'\\']) {
            for place in 0..17 {
                let mut bytes = [b'a'; 17];
                bytes[place] = special;
                assert_eq!(next_special(&bytes, 0), Some(place));
            }
        }
        assert_eq!(next_special("é 漢 🦀 no special character here".as_bytes(), 0), None);
    }

    proptest! {
        #[test]
        fn every_string_comes_back(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&text, &mut out);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
