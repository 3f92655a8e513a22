//! What a server sent, without the encodings that it was sent in: `Transfer-Encoding: chunked`, and `Content-Encoding`.
//!
//! Archives differ in what they keep: some store the message as it came, others unpack it and leave the fields as they were. So
//! an encoding that the bytes do not begin with is taken for undone. Where one breaks off, what came before stays.
//!
//! Invariant: no more than a limit is unpacked, whatever the bytes say.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// A message without its encodings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Payload<'a> {
    pub bytes: Cow<'a, [u8]>,
    /// Whether an encoding broke off.
    pub is_cut_off: bool,
}

/// It would have been more than this many bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Undoes `transfer`, then `content`, both as their fields name them.
pub(super) fn payload_of<'a>(
    body: &'a [u8],
    transfer: Option<&str>,
    content: Option<&str>,
    max_bytes: usize,
) -> Result<Payload<'a>, TooLarge> {
    let mut payload = Payload { bytes: Cow::Borrowed(body), is_cut_off: false };
    if transfer.is_some_and(|names| names.to_ascii_lowercase().contains("chunked")) {
        payload = unchunked(body);
    }
    // The one that was applied last is undone first.
    let names = content.unwrap_or_default().split(',').map(|name| name.trim().to_ascii_lowercase());
    for name in names.collect::<Vec<_>>().iter().rev() {
        if let Some((unpacked, is_cut_off)) = undo(name, &payload.bytes, max_bytes)? {
            payload = Payload { bytes: Cow::Owned(unpacked), is_cut_off: payload.is_cut_off || is_cut_off };
        }
    }
    Ok(payload)
}

/// The chunks of a body, one after the other.
fn unchunked(body: &[u8]) -> Payload<'_> {
    let mut bytes = Vec::new();
    let mut rest = body;
    loop {
        let Some((n_bytes, after)) = chunk_size(rest) else {
            // A first chunk without a size: it was undone before it was stored.
            return match bytes.is_empty() && rest.len() == body.len() {
                true => Payload { bytes: Cow::Borrowed(body), is_cut_off: false },
                false => Payload { bytes: Cow::Owned(bytes), is_cut_off: true },
            };
        };
        if n_bytes == 0 {
            return Payload { bytes: Cow::Owned(bytes), is_cut_off: false };
        }
        bytes.extend_from_slice(&after[..n_bytes.min(after.len())]);
        let Some(behind) = after.get(n_bytes..).filter(|behind| !behind.is_empty()) else {
            return Payload { bytes: Cow::Owned(bytes), is_cut_off: true };
        };
        rest = behind.strip_prefix(b"\r\n").or_else(|| behind.strip_prefix(b"\n")).unwrap_or(behind);
    }
}

/// The size of the chunk that begins here, and what follows its line.
fn chunk_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    const MAX_LINE_BYTES: usize = 1 << 10;
    let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(MAX_LINE_BYTES)])?;
    let line = bytes[..end].split(|byte| *byte == b';').next()?.trim_ascii();
    let digits = std::str::from_utf8(line).ok().filter(|line| !line.is_empty() && !line.starts_with('+'))?;
    Some((usize::from_str_radix(digits, 16).ok()?, &bytes[end + 1..]))
}

/// The bytes that `name` packed, and whether they break off. `None` if it is none that is known, or was undone before.
fn undo(name: &str, bytes: &[u8], max_bytes: usize) -> Result<Option<(Vec<u8>, bool)>, TooLarge> {
    let unpacked = match name {
        "gzip" | "x-gzip" if bytes.starts_with(&[0x1f, 0x8b]) => {
            read_to(flate2::bufread::MultiGzDecoder::new(bytes), max_bytes)?
        }
        // Some send zlib's form, as the standard says, and some the bare one.
        "deflate" => match read_to(flate2::bufread::ZlibDecoder::new(bytes), max_bytes)? {
            (unpacked, true) if unpacked.is_empty() => read_to(flate2::bufread::DeflateDecoder::new(bytes), max_bytes)?,
            unpacked => unpacked,
        },
        "br" => read_to(brotli_decompressor::Decompressor::new(bytes, 4 << 10), max_bytes)?,
        "zstd" if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => match zstd_decoder(bytes) {
            Ok(decoder) => read_to(decoder, max_bytes)?,
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(match unpacked {
        (unpacked, true) if unpacked.is_empty() => None,
        unpacked => Some(unpacked),
    })
}

/// RFC 8878 lets no sender of HTTP ask for a window of more than 8 MB.
fn zstd_decoder<R: BufRead>(bytes: R) -> io::Result<zstd::stream::read::Decoder<'static, R>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(23)?;
    Ok(decoder)
}

/// All that can be read, and whether it broke off.
fn read_to(decoder: impl Read, max_bytes: usize) -> Result<(Vec<u8>, bool), TooLarge> {
    let mut decoder = decoder.take(max_bytes as u64 + 1);
    let mut unpacked = Vec::new();
    // In small steps: decoders lose what they have unpacked when they meet an error.
    let mut step = [0; 8 << 10];
    let is_cut_off = loop {
        match decoder.read(&mut step) {
            Ok(0) => break false,
            Ok(n_bytes) => unpacked.extend_from_slice(&step[..n_bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break true,
        }
    };
    if unpacked.len() > max_bytes { Err(TooLarge) } else { Ok((unpacked, is_cut_off)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn text(body: &[u8], transfer: Option<&str>, content: Option<&str>) -> (String, bool) {
        let payload = payload_of(body, transfer, content, 1000).unwrap();
        (String::from_utf8_lossy(&payload.bytes).into_owned(), payload.is_cut_off)
    }

    #[test]
    fn chunks_are_joined_and_what_is_not_chunked_stays() {
        for (body, expected, is_cut_off) in [
            ("5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", "hello world", false),
            ("5\nhello\n0\n\n", "hello", false),
            ("5\r\nhello\r\nA\r\n wor", "hello wor", true),
            ("5\r\nhello\r\nxyz", "hello", true),
            ("<html>", "<html>", false),
            ("+5\r\nhello", "+5\r\nhello", false),
            ("fffffffffffffffff\r\nx", "fffffffffffffffff\r\nx", false),
            ("ffffffffffffffff\r\nx", "x", true),
            ("", "", false),
        ] {
            assert_eq!(text(body.as_bytes(), Some("Chunked"), None), (expected.to_string(), is_cut_off), "{body}");
        }
    }

    #[test]
    fn content_encodings_are_undone_if_they_are_there() {
        let packed = gzip(b"some text");
        assert_eq!(text(&packed, None, Some("gzip")), ("some text".into(), false));
        let chunked = [format!("{:x}\r\n", packed.len()).as_bytes(), &packed, b"\r\n0\r\n\r\n"].concat();
        assert_eq!(text(&chunked, Some("chunked"), Some("GZIP")), ("some text".into(), false));
        assert_eq!(text(&gzip(&packed), None, Some("gzip, gzip")), ("some text".into(), false));
        assert_eq!(text(b"some text", None, Some("gzip")), ("some text".into(), false));
        assert_eq!(text(b"some text", None, Some("br")), ("some text".into(), false));
        assert_eq!(text(&zstd::encode_all(&b"some text"[..], 1).unwrap(), None, Some("zstd")).0, "some text");
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(b"some text").unwrap();
        assert_eq!(text(&deflate.finish().unwrap(), None, Some("deflate")).0, "some text");
        let brotli = [0x0b, 0x04, 0x80, b's', b'o', b'm', b'e', b' ', b't', b'e', b'x', b't', 0x03];
        assert_eq!(text(&brotli, None, Some("br")).0, "some text");
        let long: Vec<u8> = (0..900_u32).flat_map(|n| (n * 7919 % 251).to_string().into_bytes()).take(900).collect();
        let (kept, is_cut_off) = text(&gzip(&long)[..300], None, Some("gzip"));
        assert!(is_cut_off && !kept.is_empty() && long.starts_with(kept.as_bytes()));
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = gzip(&vec![0; 100_000]);
        assert_eq!(payload_of(&bomb, None, Some("gzip"), 99_999), Err(TooLarge));
        assert_eq!(payload_of(&bomb, None, Some("gzip"), 100_000).map(|payload| payload.bytes.len()), Ok(100_000));
    }
}
