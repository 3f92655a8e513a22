//! The encoding that a Python file declares for itself in its first two lines.
//!
//! A document is text already, but a tool that writes it to bytes and hands them to `tokenize` sees what the declared
//! encoding makes of its UTF-8 bytes: under `latin-1` each byte is a character.

use std::borrow::Cow;

/// What `tokenize` reads if `text` is given to it as UTF-8 bytes; `None` where it refuses the encoding or a byte.
pub(super) fn decode_as_declared(text: &str) -> Option<Cow<'_, str>> {
    let (has_mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let Some(declared) = declared(body) else { return Some(Cow::Borrowed(body)) };
    let name: String = declared.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect();
    // `tokenize` looks at twelve characters of the name for these two.
    let short: String = name.chars().take(12).collect();
    let starts = |known: &str| short == known || short.strip_prefix(known).is_some_and(|rest| rest.starts_with('-'));
    if starts("utf-8") {
        return Some(Cow::Borrowed(body));
    }
    if has_mark {
        return None;
    }
    let is_latin = ["latin-1", "iso-8859-1", "iso-latin-1"].iter().any(|known| starts(known));
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    if UTF_8.contains(&plain.as_str()) {
        return Some(Cow::Borrowed(body));
    }
    let is_single_byte = is_latin || SINGLE_BYTE.contains(&plain.as_str());
    let is_known = is_single_byte || ASCII.contains(&plain.as_str()) || MULTI_BYTE.contains(&plain.as_str());
    match (is_known, body.is_ascii()) {
        (false, _) => None,
        (true, true) => Some(Cow::Borrowed(body)),
        // Which character a byte stands for does not matter for comments, as long as it is one that is not ASCII.
        (true, false) if is_single_byte => Some(Cow::Owned(body.bytes().map(char::from).collect())),
        (true, false) => None,
    }
}

/// The name in a comment `coding: NAME` or `coding=NAME` of the first line, or of the second if the first is blank.
fn declared(text: &str) -> Option<&str> {
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    if let Some(name) = cookie(first) {
        return Some(name);
    }
    let blank = first.trim_start_matches([' ', '\t', '\x0c']);
    if blank.is_empty() || blank.starts_with(['#', '\r']) { lines.next().and_then(cookie) } else { None }
}

fn cookie(line: &str) -> Option<&str> {
    let mut rest = line.trim_start_matches([' ', '\t', '\x0c']).strip_prefix('#')?;
    while let Some(at) = rest.find("coding") {
        rest = &rest[at + "coding".len()..];
        let Some(value) = rest.strip_prefix([':', '=']) else { continue };
        let value = value.trim_start_matches([' ', '\t']);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let end = value.find(|c| !is_name(c)).unwrap_or(value.len());
        if end > 0 {
            return Some(&value[..end]);
        }
    }
    None
}

// Names as Python's codecs know them, without hyphens and underscores.
const UTF_8: &[&str] = &["utf8", "u8", "utf", "cp65001", "utf8ucs2", "utf8ucs4", "utf8sig"];
const ASCII: &[&str] = &["ascii", "usascii", "646", "ansix3.41968", "iso646us", "us", "cp367", "ibm367"];
const SINGLE_BYTE: &[&str] = &[
    "latin1",
    "latin",
    "l1",
    "iso88591",
    "8859",
    "cp819",
    "ibm819",
    "iso8859",
    "iso88592",
    "latin2",
    "iso88593",
    "iso88594",
    "iso88595",
    "cyrillic",
    "iso88597",
    "greek",
    "iso88599",
    "latin5",
    "iso885910",
    "iso885913",
    "iso885914",
    "iso885915",
    "latin9",
    "iso885916",
    "koi8r",
    "koi8u",
    "koi8t",
    "cp437",
    "cp850",
    "cp852",
    "cp855",
    "cp858",
    "cp860",
    "cp861",
    "cp862",
    "cp863",
    "cp865",
    "cp866",
    "cp1251",
    "windows1251",
    "cp1256",
    "windows1256",
    "macroman",
    "macintosh",
    "maccyrillic",
    "macgreek",
    "maclatin2",
    "mactcturkish",
    "macturkish",
    "kz1048",
    "ptcp154",
];
const MULTI_BYTE: &[&str] = &[
    "eucjp",
    "ujis",
    "shiftjis",
    "sjis",
    "cp932",
    "mskanji",
    "iso2022jp",
    "gb2312",
    "gbk",
    "cp936",
    "gb18030",
    "hz",
    "big5",
    "big5hkscs",
    "cp950",
    "euckr",
    "cp949",
    "johab",
    "cp1250",
    "windows1250",
    "cp1252",
    "windows1252",
    "cp1253",
    "windows1253",
    "cp1254",
    "windows1254",
    "cp1255",
    "windows1255",
    "cp1257",
    "windows1257",
    "cp1258",
    "windows1258",
    "cp874",
    "tis620",
    "iso885911",
    "iso88596",
    "iso88598",
    "cp720",
    "cp737",
    "cp775",
    "cp857",
    "cp864",
    "cp869",
    "cp1125",
];
