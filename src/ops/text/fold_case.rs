//! `fold_case(text)`: the text without the difference between upper and lower case.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "fold_case",
    family: Family::Text,
    summary: "the text in Unicode's full case folding, in which texts that differ only in case are equal",
    details: "Goes further than `lower`: ß and ẞ become ss, ς becomes σ, ﬁ becomes fi; the dotless ı stays. No \
              language's own rules. As Python's `str.casefold()`. An empty document stays empty.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Utf8,
    examples: &[
        Example::of("fold_case('Große Straße')", "'grosse strasse'"),
        Example::of("fold_case('ΣΊΣΥΦΟΣ') = fold_case('Σίσυφος')", "true"),
        Example::of("fold_case('')", "''"),
        Example::of("fold_case(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.0), // measured on mixed languages
    cpu: Cpu::Text(|text, _| fold_case(text)),
    gpu: Gpu::No("Unicode's case tables are on the CPU only"),
};

fn fold_case(text: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while !rest.is_empty() {
        let (ascii, after) = rest.split_at(rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len()));
        let start = out.len();
        out.push_str(ascii);
        out[start..].make_ascii_lowercase();
        let Some(c) = after.chars().next() else { break };
        rest = &after[c.len_utf8()..];
        match c {
            // Unicode folds to the lower case of the upper case, but for these letters.
            'ı' => out.push('ı'),
            'ẞ' => out.push_str("ss"),
            // Cherokee had upper case first; its folding has stayed upper case.
            '\u{13a0}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => out.extend(c.to_uppercase()),
            _ => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_is_unicodes() {
        // From Unicode's CaseFolding.txt, status C and F.
        for (text, expected) in [
            ("Straße ẞ", "strasse ss"),
            ("ΌΣΟΣ ς", "όσοσ σ"),
            ("İ ı I", "i\u{307} ı i"),
            ("ﬃ ŉ ǰ", "ffi ʼn j\u{30c}"),
            ("ᾳ ᾼ", "αι αι"),
            ("\u{212a} Å ſ", "k å s"),
            ("ꭰ Ꭰ \u{13f8}", "Ꭰ Ꭰ \u{13f0}"),
            ("漢字 ñ Ñ", "漢字 ñ ñ"),
        ] {
            assert_eq!(fold_case(text), expected, "{text:?}");
        }
        assert!(matches!(fold_case("already é"), Cow::Borrowed(_)));
    }
}
