//! Which fields of a record are quoted.
//!
//! The parser gives the content of fields alone, but `""` is an empty text and nothing at all is a null.

/// For each field of a record whether it is quoted, read as the parser reads it; nothing if no field is. The record comes
/// without line ends around it.
pub(super) fn quoted_fields(record: &[u8], delimiter: u8) -> Vec<bool> {
    if memchr::memchr(b'"', record).is_none() {
        return Vec::new();
    }
    let mut quoted = Vec::new();
    let mut at = 0;
    loop {
        let is_quoted = record.get(at) == Some(&b'"');
        if is_quoted {
            at = after_quotes(record, at + 1);
        }
        quoted.push(is_quoted);
        match memchr::memchr(delimiter, record.get(at..).unwrap_or_default()) {
            Some(offset) => at += offset + 1,
            None => return quoted,
        }
    }
}

/// Whether text follows a quote that ends a field: a quote before it was most likely never closed.
pub(super) fn has_text_behind_quotes(record: &[u8], delimiter: u8) -> bool {
    let mut at = 0;
    loop {
        if record.get(at) == Some(&b'"') {
            at = after_quotes(record, at + 1);
            if record.get(at).is_some_and(|next| *next != delimiter && !matches!(next, b'\r' | b'\n')) {
                return true;
            }
        }
        match memchr::memchr(delimiter, record.get(at..).unwrap_or_default()) {
            Some(offset) => at += offset + 1,
            None => return false,
        }
    }
}

/// The place after the quote that ends a field; two in a row are one inside of it.
fn after_quotes(record: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(offset) = memchr::memchr(b'"', &record[at..]) {
        at += offset + 1;
        if record.get(at) != Some(&b'"') {
            return at;
        }
        at += 1;
    }
    record.len()
}

/// Whether a field could have been written without quotes.
pub(super) fn needs_no_quotes(content: &[u8], delimiter: u8) -> bool {
    !content.iter().any(|byte| *byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sources::csv::place::without_line_ends;
    use proptest::prelude::*;

    #[test]
    fn quotes_are_seen_only_where_a_field_begins() {
        for (record, expected) in [
            ("a,\"b\",,\"\"", &[false, true, false, true][..]),
            ("\"a,\"\"b\"\"\",c\"d,\"e\"f,\"\"", &[true, false, true, true]),
            ("\"two\nlines\",", &[true, false]),
            ("\"open, to the end", &[true]),
            ("a,", &[]),
        ] {
            assert_eq!(quoted_fields(record.as_bytes(), b','), expected, "{record}");
        }
    }

    proptest! {
        #[test]
        fn there_are_as_many_fields_as_the_parser_finds(text in "[ab,\"\n\r]{0,20}") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let mut record = csv::ByteRecord::new();
            let mut start = 0;
            while reader.read_byte_record(&mut record).unwrap() {
                let end = reader.position().byte() as usize;
                let raw = &text.as_bytes()[start..end];
                let quoted = quoted_fields(without_line_ends(raw), b',');
                prop_assert_eq!(quoted.len(), if raw.contains(&b'"') { record.len() } else { 0 }, "{:?} {:?}", text, raw);
                for (field, is_quoted) in record.iter().zip(quoted) {
                    // What is not quoted has no special character but a quote inside.
                    prop_assert!(is_quoted || !field.iter().any(|byte| b",\r\n".contains(byte)));
                }
                start = end;
            }
        }
    }
}
