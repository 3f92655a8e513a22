//! `decode_html_entities(text, strict => false)`: `&eacute;` becomes é.

use crate::ops::prelude::*;
use htmlize::{BARE_ENTITY_MAX_LENGTH, ENTITIES, ENTITY_MAX_LENGTH};

pub(super) static SPEC: OpSpec = OpSpec {
    name: "decode_html_entities",
    family: Family::Text,
    summary: "named and numeric HTML entities become the characters they stand for",
    details: "By the rules of HTML5, as Python's `html.unescape`: old names such as `&eacute` need no semicolon, and the \
              longest name that fits counts (`&notit` is ¬ and `it`); numbers 128 to 159 mean the characters of \
              Windows-1252; impossible numbers give U+FFFD, control and non-characters nothing. Decoded once: \
              `&amp;lt;` becomes `&lt;`. With `strict`, only entities that end in a semicolon are decoded, and names in \
              capitals count as well (`&EACUTE;` is É), as ftfy does.",
    params: &[
        Param::text("text", "the document"),
        Param::bool("strict", "decode only what cannot be meant otherwise").default(Literal::Bool(false)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("decode_html_entities('caf&eacute; &#38; th&#xe9;')", "'café & thé'"),
        Example::of("decode_html_entities('AT&T &amp;lt; &copy 2024')", "'AT&T &lt; © 2024'"),
        Example::of("decode_html_entities('&copy 2024 &EACUTE;', strict => true)", "'&copy 2024 É'"),
        Example::of("decode_html_entities('&#150; &#xD800; &#1;.')", "'– � .'"),
        Example::of("decode_html_entities('')", "''"),
        Example::of("decode_html_entities(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.1), // text with few entities
    cpu: Cpu::Text(|text, args| {
        let decoded = if args.bool("strict") { decode_complete(text) } else { decode_lenient(text) };
        decoded.map_or(Cow::Borrowed(text), Cow::Owned)
    }),
    gpu: Gpu::No("entity names are looked up in a table on the CPU"),
};

/// Decodes as HTML5 does; `None` if there is nothing to decode.
fn decode_lenient(text: &str) -> Option<String> {
    decode(text, |rest| if rest.starts_with("&#") { numeric(rest) } else { named(rest) })
}

/// Decodes entities that end in a semicolon, names also in capitals; `None` if there is nothing to decode.
pub(super) fn decode_complete(text: &str) -> Option<String> {
    decode(text, complete)
}

/// What an entity stands for, and its length in bytes.
type Decoded = (Cow<'static, str>, usize);

/// Puts every text that begins with `&` through `entity`.
fn decode(text: &str, entity: impl Fn(&str) -> Option<Decoded>) -> Option<String> {
    let mut out = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'&', &text.as_bytes()[at..]) {
        let begin = at + found;
        at = begin + 1;
        if let Some((meaning, n_bytes)) = entity(&text[begin..]) {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[copied..begin]);
            out.push_str(&meaning);
            at = begin + n_bytes;
            copied = at;
        }
    }
    let mut out: String = out?;
    out.push_str(&text[copied..]);
    Some(out)
}

/// The meaning of a name with its `&`, and its `;` if it has one.
fn meaning(name: &str) -> Option<&'static str> {
    ENTITIES.get(name.as_bytes()).and_then(|meaning| std::str::from_utf8(meaning).ok())
}

/// The longest name at the beginning.
fn named(text: &str) -> Option<Decoded> {
    let n_name = 1 + text[1..].bytes().take(ENTITY_MAX_LENGTH).take_while(u8::is_ascii_alphanumeric).count();
    if text[n_name..].starts_with(';')
        && let Some(meaning) = meaning(&text[..=n_name])
    {
        return Some((meaning.into(), n_name + 1));
    }
    let longest = n_name.min(BARE_ENTITY_MAX_LENGTH);
    (1..=longest).rev().find_map(|end| Some((meaning(&text[..end])?.into(), end)))
}

/// A number at the beginning, after `&#`; the semicolon may be missing.
fn numeric(text: &str) -> Option<Decoded> {
    let digits = text[2..].strip_prefix(['x', 'X']);
    let radix = if digits.is_some() { 16 } else { 10 };
    let digits = digits.unwrap_or(&text[2..]);
    let after = digits.trim_start_matches(|c: char| c.is_digit(radix));
    if after.len() == digits.len() {
        return None;
    }
    let digits = &digits[..digits.len() - after.len()];
    // Too many digits are too large a number.
    let number = digits
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .fold(0_u32, |n, digit| n.saturating_mul(radix).saturating_add(digit));
    let n_bytes = text.len() - after.strip_prefix(';').unwrap_or(after).len();
    Some((character(number), n_bytes))
}

/// Windows-1252 from 80 to 9F, which numbers are meant in; the five free bytes mean themselves.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// What a number stands for.
fn character(number: u32) -> Cow<'static, str> {
    let c = match number {
        0 => Some('\u{fffd}'),
        0x80..=0x9f => WINDOWS_1252.chars().nth(number as usize - 0x80),
        1..=8 | 0x0b | 0x0e..=0x1f | 0x7f | 0xfdd0..=0xfdef => None,
        // The last two characters of every plane are none.
        0..=0x10_ffff if number & 0xfffe == 0xfffe => None,
        _ => char::from_u32(number).or(Some('\u{fffd}')),
    };
    c.map_or(Cow::Borrowed(""), |c| Cow::Owned(c.to_string()))
}

/// An entity with its semicolon at the beginning.
fn complete(text: &str) -> Option<Decoded> {
    const MAX_NAME: usize = 24;
    let n_sign = if text.starts_with("&#") { 2 } else { 1 };
    let n_name = text[n_sign..].bytes().take(MAX_NAME + 1).take_while(u8::is_ascii_alphanumeric).count();
    let end = n_sign + n_name;
    if !(1..=MAX_NAME).contains(&n_name) || !text[end..].starts_with(';') {
        return None;
    }
    let entity = &text[..=end];
    if n_sign == 2 {
        // Whatever leaves a semicolon is not taken, be it that the number ends before it or that it is one.
        return numeric(entity).filter(|(meaning, n_bytes)| *n_bytes == entity.len() && meaning != ";");
    }
    let meaning = match meaning(entity) {
        Some(meaning) => Cow::Borrowed(meaning),
        None => Cow::Owned(in_capitals(entity)?),
    };
    Some((meaning, entity.len()))
}

/// The meaning in capitals of a name that is written in capitals, unless part of it is a name itself.
fn in_capitals(entity: &str) -> Option<String> {
    if entity.bytes().any(|byte| byte.is_ascii_lowercase()) || named(entity).is_some() {
        return None;
    }
    meaning(&entity.to_ascii_lowercase()).map(str::to_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_and_strict_differ_where_an_entity_is_incomplete() {
        for (text, lenient, strict) in [
            ("&amp;", "&", "&"),
            ("&amp", "&", "&amp"),
            ("&ampere;", "&ere;", "&ampere;"),
            ("&notit;", "¬it;", "&notit;"),
            ("&notin;", "∉", "∉"),
            ("&SZLIG;", "&SZLIG;", "SS"),
            ("&COPYSR;", "©SR;", "&COPYSR;"),
            ("&nTILDE;", "&nTILDE;", "&nTILDE;"),
            ("&#65", "A", "&#65"),
            ("&#x41;&#X41;", "AA", "AA"),
            ("&#59;", ";", "&#59;"),
            ("&#65z;", "Az;", "&#65z;"),
            ("&#;&#x;&#xg;", "&#;&#x;&#xg;", "&#;&#x;&#xg;"),
            ("&#99999999999999999999;", "\u{fffd}", "\u{fffd}"),
            ("&#x110000;&#x10ffff;&#11;", "\u{fffd}", "\u{fffd}"),
            ("&CounterClockwiseContourIntegral;", "∳", "&CounterClockwiseContourIntegral;"),
            ("&NotEqualTilde;", "≂̸", "≂̸"),
            ("&&lt;&", "&<&", "&<&"),
            ("&é;", "&é;", "&é;"),
        ] {
            assert_eq!(decode_lenient(text).as_deref().unwrap_or(text), lenient, "{text}");
            assert_eq!(decode_complete(text).as_deref().unwrap_or(text), strict, "{text}");
        }
    }

    #[test]
    fn text_without_entities_is_not_copied() {
        assert!(decode_lenient("R&D & more").is_none());
        assert!(decode_complete("&copy").is_none());
    }
}
