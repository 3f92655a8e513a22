//! `normalize_unicode(text, form => 'NFC')`: Unicode's normal forms.

use crate::ops::prelude::*;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick};

pub(super) static SPEC: OpSpec = OpSpec {
    name: "normalize_unicode",
    family: Family::Text,
    summary: "the text in one of Unicode's normal forms",
    details: "`NFC` composes (e + ◌́ becomes é), `NFD` decomposes; `NFKC` and `NFKD` also replace compatibility \
              characters (ﬁ becomes fi, ² becomes 2), which loses information.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("form", "the normal form", &["NFC", "NFD", "NFKC", "NFKD"]).default(Literal::Text("NFC")),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("chars(normalize_unicode('e\u{301}'))", "1"),
        Example::of("normalize_unicode('ﬁne x²', form => 'NFKC')", "'fine x2'"),
        Example::of("normalize_unicode('')", "''"),
        Example::of("normalize_unicode(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.0), // estimate, for text that is normal already
    cpu: Cpu::Text(|text, args| normalize(text, args.text("form"))),
    gpu: Gpu::No("Unicode's composition tables are on the CPU only"),
};

fn normalize<'a>(text: &'a str, form: &str) -> Cow<'a, str> {
    // ASCII is normal in every form, and most text proves composed on a quick look: both stay as they are.
    let composed = |looks: IsNormalized| looks == IsNormalized::Yes;
    match form {
        _ if text.is_ascii() => Cow::Borrowed(text),
        "NFC" if composed(is_nfc_quick(text.chars())) => Cow::Borrowed(text),
        "NFKC" if composed(is_nfkc_quick(text.chars())) => Cow::Borrowed(text),
        "NFD" => Cow::Owned(text.nfd().collect()),
        "NFKC" => Cow::Owned(text.nfkc().collect()),
        "NFKD" => Cow::Owned(text.nfkd().collect()),
        _ => Cow::Owned(text.nfc().collect()),
    }
}
