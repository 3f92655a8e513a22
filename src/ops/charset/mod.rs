//! Bytes of the web as text: finds the charset as browsers do, and decodes.
//!
//! ```text
//! byte order mark ► what the server says ► <meta> or <?xml in the first 1,024 bytes ► valid UTF-8 ► a guess from the bytes
//! ```
//! The first that says something decides. Names are those of the Encoding Standard, so `latin1` is `windows-1252`.

mod declared;

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, REPLACEMENT, UTF_8};
use std::borrow::Cow;

/// What of a long text is looked at to guess its charset.
const MAX_GUESS_BYTES: usize = 256 << 10;

/// Bytes as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decoded<'a> {
    pub text: Cow<'a, str>,
    /// How many sequences of bytes were none of the charset; each became U+FFFD.
    pub n_replaced: usize,
}

/// Which charset bytes are in. `label` is what the server says; `url` is where they are from: the country tells what to guess.
pub(crate) fn charset(bytes: &[u8], label: Option<&str>, url: Option<&str>) -> &'static str {
    encoding(bytes, label, url).0.name()
}

/// Bytes as text, without the byte order mark.
pub(crate) fn decode<'a>(bytes: &'a [u8], label: Option<&str>, url: Option<&str>) -> Decoded<'a> {
    let (encoding, n_mark) = encoding(bytes, label, url);
    let bytes = &bytes[n_mark..];
    if encoding == UTF_8
        && let Ok(text) = simdutf8::basic::from_utf8(bytes)
    {
        return Decoded { text: Cow::Borrowed(text), n_replaced: 0 };
    }
    if let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes) {
        return Decoded { text, n_replaced: 0 };
    }
    replacing(bytes, encoding)
}

fn replacing(bytes: &[u8], encoding: &'static Encoding) -> Decoded<'static> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (mut text, mut n_replaced, mut rest) = (String::with_capacity(bytes.len()), 0, bytes);
    loop {
        let room = decoder.max_utf8_buffer_length_without_replacement(rest.len()).unwrap_or(rest.len());
        text.reserve(room.max(16));
        let (result, n_read) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        rest = &rest[n_read..];
        match result {
            encoding_rs::DecoderResult::InputEmpty => return Decoded { text: Cow::Owned(text), n_replaced },
            encoding_rs::DecoderResult::OutputFull => {}
            encoding_rs::DecoderResult::Malformed(..) => {
                n_replaced += 1;
                text.push('\u{fffd}');
            }
        }
    }
}

/// The charset, and how long the byte order mark is.
fn encoding(bytes: &[u8], label: Option<&str>, url: Option<&str>) -> (&'static Encoding, usize) {
    if let Some(found) = Encoding::for_bom(bytes) {
        return found;
    }
    // A name that stands for attacks with old charsets, and decodes to nothing, is not obeyed.
    let known = |label: &str| Encoding::for_label(label.as_bytes()).filter(|found| *found != REPLACEMENT);
    let said = label.and_then(known).or_else(|| declared::charset(bytes));
    let found = said.unwrap_or_else(|| match simdutf8::basic::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(_) => guess(bytes, url),
    });
    (found, 0)
}

fn guess(bytes: &[u8], url: Option<&str>) -> &'static Encoding {
    let mut detector = EncodingDetector::new();
    detector.feed(&bytes[..bytes.len().min(MAX_GUESS_BYTES)], bytes.len() <= MAX_GUESS_BYTES);
    let country = url.and_then(top_level_domain);
    detector.guess(country.as_deref().map(str::as_bytes), true)
}

/// The last label of an address's host, as the detector wants it: in lower case, no dots.
fn top_level_domain(url: &str) -> Option<String> {
    let host = super::url::host(url);
    let last = host.rsplit('.').next()?;
    let is_name = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_name && last.bytes().any(|byte| byte.is_ascii_alphabetic())).then(|| last.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{SHIFT_JIS, WINDOWS_1251};

    #[test]
    fn what_a_browser_asks_first_decides() {
        let meta = b"<meta charset=windows-1251>\xef\xf0\xe8".as_slice();
        assert_eq!(charset(&[b"\xef\xbb\xbf", meta].concat(), Some("shift_jis"), None), "UTF-8");
        assert_eq!(charset(meta, Some("Shift_JIS"), None), "Shift_JIS");
        assert_eq!(charset(meta, Some("no such charset"), None), "windows-1251");
        assert_eq!(charset(meta, None, None), "windows-1251");
        assert_eq!(charset("naïve".as_bytes(), None, None), "UTF-8");
        assert_eq!(charset(b"\xff\xfea\0", Some("utf-8"), None), "UTF-16LE");
        assert_eq!(decode(b"\xff\xfea\0", None, None).text, "a");
        assert_eq!(decode(meta, None, None).text, "<meta charset=windows-1251>при");
    }

    #[test]
    fn what_says_nothing_of_itself_is_guessed() {
        let (russian, ..) = WINDOWS_1251.encode("Съешь же ещё этих мягких французских булок, да выпей чаю.");
        let decoded = decode(&russian, None, Some("http://example.ru/"));
        assert_eq!(decoded.text, "Съешь же ещё этих мягких французских булок, да выпей чаю.");
        let (japanese, ..) = SHIFT_JIS.encode("いろはにほへと ちりぬるを わかよたれそ つねならむ");
        assert_eq!(charset(&japanese, None, Some("https://example.jp:8080/x")), "Shift_JIS");
    }

    #[test]
    fn bytes_that_are_none_of_the_charset_are_replaced_and_counted() {
        let decoded = decode(b"a\xffb\xc3", Some("utf-8"), None);
        assert_eq!((decoded.text.as_ref(), decoded.n_replaced), ("a\u{fffd}b\u{fffd}", 2));
        let genuine = decode("a\u{fffd}".as_bytes(), Some("utf-8"), None);
        assert_eq!((genuine.text.as_ref(), genuine.n_replaced), ("a\u{fffd}", 0));
        assert_eq!(decode(b"", None, None).text, "");
    }
}
