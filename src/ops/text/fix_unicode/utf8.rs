//! Bytes that should have been UTF-8: putting back what was lost on the way, and decoding them.

use memchr::memmem;

/// Whether there is a sequence that would be UTF-8 if a space in it were byte A0.
pub(super) fn has_spaces_for_a0(bytes: &[u8]) -> bool {
    (0..bytes.len()).any(|at| with_spaces_for_a0(&bytes[at..]).is_some())
}

/// The length of a sequence, at the beginning, that would be UTF-8 if one space in it were byte A0, and likely so.
fn with_spaces_for_a0(bytes: &[u8]) -> Option<usize> {
    // 85 is left out because programs turn it into an ellipsis, A0 because it is the one in question.
    let rest = |byte: u8| matches!(byte, 0x80..=0xbf) && byte != 0x85 && byte != 0xa0;
    let any = |byte: u8| matches!(byte, 0x80..=0xbf);
    match *bytes {
        [0xc2 | 0xc3 | 0xc5 | 0xce | 0xd0 | 0xd9, b' ', ..] => Some(2),
        [0xe2 | 0xe3, b' ', c, ..] if rest(c) => Some(3),
        [0xe0..=0xe3, b, b' ', ..] if rest(b) => Some(3),
        [0xf0, b' ', c, d, ..] if any(c) && any(d) => Some(4),
        [0xf0, b, b' ', d, ..] if any(b) && any(d) => Some(4),
        [0xf0, b, c, b' ', ..] if any(b) && any(c) => Some(4),
        _ => None,
    }
}

/// Writes byte A0 for spaces in broken sequences.
pub(super) fn restore_a0(bytes: &[u8]) -> Vec<u8> {
    let separate = keep_space_after_a_grave(bytes);
    let mut out = Vec::with_capacity(separate.len());
    let mut at = 0;
    while at < separate.len() {
        let n_bytes = with_spaces_for_a0(&separate[at..]).unwrap_or(0);
        let sequence = &separate[at..at + n_bytes.max(1)];
        let byte_in = |byte: u8| if n_bytes > 0 && byte == b' ' { 0xa0 } else { byte };
        out.extend(sequence.iter().map(|byte| byte_in(*byte)));
        at += sequence.len();
    }
    out
}

/// The letter à as bytes C3 A0 whose A0 became a space: mostly a word of its own, so that the space was there as well.
///
/// Not before another space, and not in the Portuguese words às, àquele, àquela, àquilo.
fn keep_space_after_a_grave(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for found in memmem::find_iter(bytes, b"\xc3 ") {
        let after = &bytes[found + 2..];
        let one_word = [&b" "[..], b"quele", b"quela", b"quilo", b"s "].iter().any(|rest| after.starts_with(rest));
        out.extend_from_slice(&bytes[at..found + 1]);
        out.extend_from_slice(if one_word { b" " } else { b"\xa0 " });
        at = found + 2;
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

/// Sequences of which some bytes were lost become the replacement character. Byte 1A stands for a lost byte; a question
/// mark may do so once in a sequence.
pub(super) fn replace_lossy(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match lossy_sequence(&bytes[at..]) {
            Some(n_bytes) => {
                out.extend_from_slice("\u{fffd}".as_bytes());
                at += n_bytes;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// The length of a sequence with lost bytes at the beginning.
fn lossy_sequence(bytes: &[u8]) -> Option<usize> {
    let any = |byte: u8| is_lost(byte) || may_continue(byte);
    match *bytes {
        [0xc2..=0xdf, 0x1a, ..] | [0xc2 | 0xc3, b'?', ..] => Some(2),
        // A pair of surrogates.
        [0xed, 0xa0..=0xaf, b, 0xed, 0xb0..=0xbf, e, ..] if any(b) && any(e) && (is_lost(b) || is_lost(e)) => Some(6),
        [0xe0..=0xef, b, c, ..] if has_lost(&[b, c]) => Some(3),
        [0xf0..=0xf4, b, c, d, ..] if has_lost(&[b, c, d]) => Some(4),
        [0x1a, ..] => Some(1),
        _ => None,
    }
}

/// Whether bytes continue a sequence and one of them was lost.
fn has_lost(rest: &[u8]) -> bool {
    let all_but = |lost: usize| rest.iter().enumerate().all(|(at, byte)| at == lost || may_continue(*byte));
    (0..rest.len()).any(|at| is_lost(rest[at]) && all_but(at))
}

fn is_lost(byte: u8) -> bool {
    byte == 0x1a || byte == b'?'
}

fn may_continue(byte: u8) -> bool {
    matches!(byte, 0x1a | 0x80..=0xbf)
}

/// Decodes UTF-8, also as some programs write it: characters beyond U+FFFF as two surrogates of three bytes each, and
/// U+0000 as C0 80. `None` if it is neither.
///
/// A line feed at the very end may be taken for the last byte of such a sequence, and vanishes: so does ftfy.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let mut out = String::new();
    let mut rest = bytes;
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                return Some(out);
            }
            Err(error) => error,
        };
        let (text, broken) = rest.split_at(error.valid_up_to());
        out.push_str(std::str::from_utf8(text).ok()?);
        let (c, n_bytes) = match *broken {
            [0xc0, 0x80, ..] | [0xc0, b'\n'] => ('\0', 2),
            [0xed, a @ 0xa0..=0xaf, b @ 0x80..=0xbf, 0xed, d @ 0xb0..=0xbf, e @ 0x80..=0xbf, ..]
            | [0xed, a @ 0xa0..=0xaf, b @ 0x80..=0xbf, 0xed, d @ 0xb0..=0xbf, e @ b'\n'] => {
                let bits = |byte: u8, mask: u8, shift: u32| u32::from(byte & mask) << shift;
                let number = bits(a, 0x0f, 16) + bits(b, 0x3f, 10) + bits(d, 0x0f, 6) + bits(e, 0x3f, 0);
                (char::from_u32(0x10000 + number)?, 6)
            }
            _ => return None,
        };
        out.push(c);
        rest = &broken[n_bytes..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_other_programs_write() {
        for (bytes, expected) in [
            (&b"caf\xc3\xa9"[..], Some("café")),
            (b"\xed\xa0\xbd\xed\xb8\x80!", Some("😀!")),
            (b"a\xc0\x80b", Some("a\0b")),
            (b"a\xc0\n", Some("a\0")),
            (b"\xc0\nb", None),
            (b"\xed\x95\x9c", Some("한")),
            (b"\xed\xa0\xbd", None),
            (b"\xc3", None),
            (b"", Some("")),
        ] {
            assert_eq!(decode(bytes).as_deref(), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn spaces_become_a0_in_broken_sequences_only() {
        for (bytes, expected) in [
            (&b"\xc2 x"[..], &b"\xc2\xa0x"[..]),
            (b"voil\xc3 le", b"voil\xc3\xa0 le"),
            (b"\xc3 s ", b"\xc3\xa0s "),
            (b"\xc3 quela", b"\xc3\xa0quela"),
            (b"\xe2 \x94", b"\xe2\xa0\x94"),
            (b"\xe1 \x94", b"\xe1 \x94"),
            (b"\xf0\x9f \x80", b"\xf0\x9f\xa0\x80"),
            (b"a b", b"a b"),
        ] {
            assert_eq!(restore_a0(bytes), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn lost_bytes_take_their_sequence_with_them() {
        const LOST: &[u8] = b"\xef\xbf\xbd";
        for (bytes, expected) in [
            (&b"\xe2\x80\x1a"[..], LOST),
            (b"\xe2?\x94", LOST),
            (b"\xe2??", b"\xe2??"),
            (b"\xc3?", LOST),
            (b"\xd0?", b"\xd0?"),
            (b"\xf0\x9f\x1a\x1a", LOST),
            (b"\xed\xa0?\xed\xb8\x80", LOST),
            (b"\x1a", LOST),
            (b"what?", b"what?"),
        ] {
            assert_eq!(replace_lossy(bytes), expected, "{bytes:x?}");
        }
    }
}
