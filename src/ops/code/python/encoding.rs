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
    let single_byte = SINGLE_BYTE.iter().find(|(names, _)| names.split(' ').any(|known| known == plain));
    let holes = if is_latin { Some::<&[u8]>(&[]) } else { single_byte.map(|(_, holes)| *holes) };
    let is_known = holes.is_some() || ASCII.contains(&plain.as_str()) || OTHERS.contains(&plain.as_str());
    match holes {
        _ if !is_known => None,
        _ if body.is_ascii() => Some(Cow::Borrowed(body)),
        // Which character a byte stands for does not matter for comments, as long as it is one that is not ASCII.
        Some(holes) if !body.bytes().any(|byte| holes.contains(&byte)) => {
            Some(Cow::Owned(body.bytes().map(char::from).collect()))
        }
        _ => None,
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
/// Encodings with a byte for each character: their names, and the bytes from 0x80 that stand for none.
const SINGLE_BYTE: &[(&str, &[u8])] = &[
    ("latin1 latin l1 iso88591 8859 cp819 ibm819 iso8859 iso88592 latin2 iso88594 latin4 iso88595 cyrillic", &[]),
    ("iso88599 latin5 iso885910 latin6 iso885913 latin7 iso885914 latin8 iso885915 latin9 iso885916 latin10", &[]),
    ("koi8r koi8u ptcp154 macroman macintosh maccyrillic macgreek maclatin2 macturkish cp720 cp737 cp775 cp1125", &[]),
    ("cp437 cp850 cp852 cp855 cp858 cp860 cp861 cp862 cp863 cp865 cp866 cp1256 windows1256", &[]),
    ("cp1250 windows1250", &[0x81, 0x83, 0x88, 0x90, 0x98]),
    ("cp1251 windows1251 kz1048", &[0x98]),
    ("cp1252 windows1252", &[0x81, 0x8d, 0x8f, 0x90, 0x9d]),
    ("cp1254 windows1254", &[0x81, 0x8d, 0x8e, 0x8f, 0x90, 0x9d, 0x9e]),
    ("cp1257 windows1257", &[0x81, 0x83, 0x88, 0x8a, 0x8c, 0x90, 0x98, 0x9a, 0x9c, 0x9f, 0xa1, 0xa5]),
    ("cp1258 windows1258", &[0x81, 0x8a, 0x8d, 0x8e, 0x8f, 0x90, 0x9a, 0x9d, 0x9e]),
    ("iso88593 latin3", &[0xa5, 0xae, 0xbe, 0xc3, 0xd0, 0xe3, 0xf0]),
    ("iso88597 greek", &[0xae, 0xd2, 0xff]),
];
/// Encodings that we know of and cannot decode: text outside ASCII is refused, which Python nearly always does, too.
const OTHERS: &[&str] = &[
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
    "cp1253",
    "windows1253",
    "cp1255",
    "windows1255",
    "cp874",
    "tis620",
    "iso885911",
    "iso88596",
    "iso88598",
    "cp857",
    "cp864",
    "cp869",
    "koi8t",
];

#[cfg(test)]
mod tests {
    use super::*;

    // As `tokenize.tokenize` reads the UTF-8 bytes of each in Python 3.11.
    #[test]
    fn the_declared_encoding_reads_the_bytes() {
        for (text, expected) in [
            ("é", Some("é")),
            ("# coding: utf8\né", Some("# coding: utf8\né")),
            ("#!x\n# -*- coding: latin-1 -*-\né", Some("#!x\n# -*- coding: latin-1 -*-\nÃ©")),
            ("x\n# coding: latin-1\né", Some("x\n# coding: latin-1\né")),
            ("# coding=nope", None),
            ("# coding=ascii\né", None),
            ("# vim: fileencoding=cp1252\né", Some("# vim: fileencoding=cp1252\nÃ©")),
            ("# coding=cp1252\n\u{c1}", None),
            ("\u{feff}# coding: utf-8", Some("# coding: utf-8")),
            ("\u{feff}# coding: latin-1", None),
        ] {
            assert_eq!(decode_as_declared(text).as_deref(), expected, "{text:?}");
        }
    }
}
