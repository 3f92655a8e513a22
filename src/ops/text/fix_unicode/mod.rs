//! `fix_unicode(text, profile => 'nemo', unescape_html => 'auto')`: broken text made whole, as ftfy 6.3.1 does it.
//!
//! ```text
//!  document ──► lines ──► clean? ──yes─────────────────────────────────────────────────────────► as it was
//!                            └──no──► entities ► encoding ► single characters ─again while it changes──► fixed
//! ```
//! `badness.rs` tells whether a text looks wrongly decoded, `encoding.rs` undoes it with the help of `utf8.rs`,
//! `characters.rs` repairs single characters; `chars.rs` and `tables.rs` know the characters.
//!
//! Invariant: a line that needs no repair is not copied, and is looked at once.

mod badness;
mod characters;
mod chars;
mod encoding;
mod tables;
mod utf8;

use super::decode_html_entities::decode_complete;
use crate::ops::prelude::*;
use unicode_normalization::{IsNormalized, is_nfc_quick};

pub(super) static SPEC: OpSpec = OpSpec {
    name: "fix_unicode",
    family: Family::Text,
    summary: "mojibake, HTML entities, terminal escapes and control characters repaired, as ftfy does",
    details: "Works line by line, and on a line again until nothing changes: HTML entities that end in `;` are decoded \
              (`unescape_html => 'auto'`: up to the first line that holds a `<`, which is taken for real HTML); UTF-8 \
              that was read as Latin-1, Windows-1252, -1251, -1250, -1253, -1254, -1257, ISO 8859-2, Mac Roman or code \
              page 437 is decoded again if the text looks wrong, also where bytes were lost or only parts of a line are \
              damaged; control characters U+0080 to U+009F become those of Windows-1252; terminal escapes, other \
              control characters, byte order marks and deprecated format characters go. \
              `profile => 'ftfy'` also splits Latin ligatures, gives full-width and half-width characters their usual \
              width, straightens quotation marks, writes every line end as a line feed and composes (NFC). \
              A line of more than 1,000,000 characters is repaired in pieces of that length, each at most 100 times. An \
              empty document stays empty. The profiles are NeMo Curator's UnicodeReformatter and the defaults of ftfy 6.3.1.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("profile", "which repairs are made", &["nemo", "ftfy"]).default(Literal::Text("nemo")),
        Param::choice("unescape_html", "whether HTML entities are decoded", &["auto", "always", "never"])
            .default(Literal::Text("auto")),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("fix_unicode('The cafÃ© wasnâ€™t open')", "'The café wasn’t open'"),
        Example::of("fix_unicode('schÃƒÂ¶n')", "'schön'"),
        Example::of("fix_unicode('&lt;b&gt; &EACUTE;TUDE')", "'<b> ÉTUDE'"),
        Example::of("fix_unicode('<b>&eacute;</b>')", "'<b>&eacute;</b>'"),
        Example::of("fix_unicode('<b>&eacute;</b>', unescape_html => 'always')", "'<b>é</b>'"),
        Example::of("fix_unicode('“ﬁne”', profile => 'ftfy')", "'\"fine\"'"),
        Example::of("fix_unicode('')", "''"),
        Example::of("fix_unicode(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.0), // measured on web text; mojibake costs about ten times as much
    cpu: Cpu::Text(fix_unicode),
    gpu: Gpu::No("repairs go back and forth over a line until nothing changes"),
};

/// Characters of a line that are repaired at once.
const MAX_SEGMENT_CHARS: usize = 1_000_000;

/// How often repairs are repeated. Each undoes one layer, and text was hardly damaged more than a few times; the bound
/// keeps time linear when somebody nests entities on purpose.
const MAX_ROUNDS: usize = 100;

/// Which repairs are made to a segment.
#[derive(Debug, Clone, Copy)]
struct Repairs {
    /// Decode HTML entities.
    unescape: bool,
    /// The plain style of ftfy's own defaults.
    restyle: bool,
}

fn fix_unicode<'a>(text: &'a str, args: &Args) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    let restyle = args.text("profile") == "ftfy";
    // Entities are decoded in segments that end here or before.
    let unescape_until = match args.text("unescape_html") {
        "always" => text.len(),
        "never" => 0,
        _ => memchr::memchr(b'<', bytes).unwrap_or(text.len()),
    };
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(n_clean) = first_suspect(&bytes[at..], Repairs { unescape: at < unescape_until, restyle }) {
        let suspect = at + n_clean;
        let line_end = memchr::memchr(b'\n', &bytes[suspect..]).map_or(text.len(), |more| suspect + more + 1);
        at = memchr::memrchr(b'\n', &bytes[at..suspect]).map_or(at, |before| at + before + 1);
        while at < line_end {
            let segment = first_chars(&text[at..line_end], MAX_SEGMENT_CHARS);
            let end = at + segment.len();
            let repairs = Repairs { unescape: end <= unescape_until, restyle };
            if !is_clean(segment, repairs) {
                out.push_str(&text[copied..at]);
                out.push_str(&fix_segment(segment, repairs));
                copied = end;
            }
            at = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The first `n_chars` characters, or all.
fn first_chars(text: &str, n_chars: usize) -> &str {
    if text.len() <= n_chars {
        return text;
    }
    text.char_indices().nth(n_chars).map_or(text, |(end, _)| &text[..end])
}

/// The first byte that calls for a closer look: not ASCII, a control character, the beginning of an entity.
fn first_suspect(bytes: &[u8], repairs: Repairs) -> Option<usize> {
    let ampersand = if repairs.unescape { b'&' } else { 0x7f };
    first_byte(bytes, |byte| byte >= 0x80 || byte == ampersand || is_unwanted(byte, repairs))
}

/// Whether an ASCII character is removed or replaced.
fn is_unwanted(byte: u8, repairs: Repairs) -> bool {
    let kept_control = matches!(byte, b'\t' | b'\n' | 0x0c | b'\r');
    (byte < 0x20 && !kept_control) || byte == 0x7f || (repairs.restyle && byte == b'\r')
}

/// The place of the first byte for which `is` holds.
fn first_byte(bytes: &[u8], is: impl Fn(u8) -> bool) -> Option<usize> {
    const STRIDE: usize = 32;
    // Without an early end within a chunk the compiler compares many bytes at once.
    let has_none = |chunk: &&[u8]| !chunk.iter().fold(false, |found, byte| found | is(*byte));
    let passed = bytes.chunks(STRIDE).take_while(has_none).count() * STRIDE;
    let within = bytes.get(passed..)?.iter().position(|byte| is(*byte))?;
    Some(passed + within)
}

/// Whether no repair would change the segment; may be wrong in saying no.
fn is_clean(segment: &str, repairs: Repairs) -> bool {
    let bytes = segment.as_bytes();
    if repairs.unescape && decode_complete(segment).is_some() {
        return false;
    }
    if first_byte(bytes, |byte| is_unwanted(byte, repairs)).is_some() {
        return false;
    }
    let survey = badness::survey(segment);
    let unwanted = chars::REMOVED | if repairs.restyle { chars::RESTYLED } else { 0 };
    let composed = || !repairs.restyle || is_nfc_quick(segment.chars()) == IsNormalized::Yes;
    !survey.bad && survey.flags & unwanted == 0 && composed()
}

/// One step of repair: `None` if it changes nothing.
type Step = fn(&str) -> Option<String>;

/// The steps, in their order; those of the plain style are marked.
const STEPS: [(Step, bool); 6] = [
    (encoding::fix_encoding, false),
    (characters::replace_c1, false),
    (characters::restyle, true),
    (characters::remove_terminal_escapes, false),
    (characters::remove_controls, false),
    (characters::compose, true),
];

fn fix_segment(segment: &str, repairs: Repairs) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(segment);
    for _ in 0..MAX_ROUNDS {
        let mut better = repairs.unescape.then(|| decode_complete(&text)).flatten();
        for (step, is_style) in STEPS {
            if repairs.restyle || !is_style {
                better = step(better.as_deref().unwrap_or(&text)).or(better);
            }
        }
        match better {
            Some(better) if better != text => text = Cow::Owned(better),
            _ => break,
        }
        if is_clean(&text, repairs) {
            break;
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ops::Value;

    fn fix(text: &str, profile: &str) -> String {
        let args = Args::new(&SPEC, vec![Value::Text(profile.to_string())]).unwrap();
        fix_unicode(text, &args).into_owned()
    }

    #[test]
    fn profiles_differ_in_style_only() {
        for (text, nemo, ftfy) in [
            ("dâ€™accord", "d’accord", "d'accord"),
            ("a\r\nb\rc\u{2028}d", "a\r\nb\rc\u{2028}d", "a\nb\nc\nd"),
            ("ﬁ Ａ　ｶﾞ ŉ Ǆ", "ﬁ Ａ　ｶﾞ ŉ Ǆ", "fi A ガ 'n DŽ"),
            ("e\u{301}", "e\u{301}", "é"),
            ("\x1b[1;31mred\x1b[0m \x1b[", "red [", "red ["),
            ("\u{feff}a\0b\x7f\tc\u{206a}\x0c", "ab\tc\x0c", "ab\tc\x0c"),
            ("\u{91}x\u{92} \u{81}", "‘x’ \u{81}", "'x' \u{81}"),
        ] {
            assert_eq!(fix(text, "nemo"), nemo, "{text:?}");
            assert_eq!(fix(text, "ftfy"), ftfy, "{text:?}");
        }
    }

    #[test]
    fn entities_are_decoded_until_a_line_has_markup() {
        assert_eq!(fix("&lt;\n&gt; <\n&amp;\n", "nemo"), "<\n&gt; <\n&amp;\n");
        assert_eq!(fix("&amp;amp;lt;", "nemo"), "<");
        assert_eq!(fix("&Atilde;&copy;", "nemo"), "é");
    }

    #[test]
    fn lines_are_repaired_one_by_one() {
        assert_eq!(fix("ok é ☃\ncafÃ©\n\nÂ« là Â»\n", "nemo"), "ok é ☃\ncafé\n\n« là »\n");
    }

    #[test]
    fn long_lines_are_cut_by_characters() {
        // The cut falls into the second broken letter, which cannot be repaired then.
        let text = format!("Ã©{}Ã©", "日".repeat(MAX_SEGMENT_CHARS - 3));
        assert_eq!(fix(&text, "nemo"), format!("é{}Ã©", "日".repeat(MAX_SEGMENT_CHARS - 3)));
    }

    #[test]
    fn nesting_without_end_takes_bounded_time() {
        let nested = format!("&{}", "amp;".repeat(50_000));
        assert_eq!(fix(&nested, "nemo").len(), nested.len() - 4 * MAX_ROUNDS);
    }

    #[test]
    fn clean_text_is_not_copied() {
        let args = Args::new(&SPEC, vec![]).unwrap();
        for text in ["", "plain R&D\r\n", "“déjà” vu\n日本語 😀\n", "<i>&eacute;</i>"] {
            assert!(matches!(fix_unicode(text, &args), Cow::Borrowed(_)), "{text:?}");
        }
    }
}
