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
              A line of more than 1,000,000 characters is repaired in pieces of that length. An empty document stays \
              empty. The profiles are NeMo Curator's UnicodeReformatter and the defaults of ftfy 6.3.1.",
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
    cost: Cost::ns_per_byte(1.0), // clean text; mojibake costs about fifty times as much
    cpu: Cpu::Text(|text, args| fix_unicode(text, &Repairs::of(args))),
    gpu: Gpu::No("repairs go back and forth over a line until nothing changes"),
};

/// Characters of a line that are repaired at once.
const MAX_SEGMENT_CHARS: usize = 1_000_000;

/// How often repairs are repeated. Each undoes one layer, and text was hardly damaged more than a few times; the bound
/// keeps time linear when somebody nests entities on purpose.
const MAX_ROUNDS: usize = 100;

/// Which repairs are made.
#[derive(Clone, Copy)]
struct Repairs {
    /// The plain style of ftfy's own defaults.
    plain_style: bool,
    unescape: Unescape,
}

#[derive(Clone, Copy, PartialEq)]
enum Unescape {
    UntilMarkup,
    Always,
    Never,
}

impl Repairs {
    fn of(args: &Args) -> Self {
        let unescape = match args.text("unescape_html") {
            "always" => Unescape::Always,
            "never" => Unescape::Never,
            _ => Unescape::UntilMarkup,
        };
        Self { plain_style: args.text("profile") == "ftfy", unescape }
    }
}

fn fix_unicode<'a>(text: &'a str, repairs: &Repairs) -> Cow<'a, str> {
    // Entities are decoded in segments that end here or before.
    let unescape_until = match repairs.unescape {
        Unescape::UntilMarkup => memchr::memchr(b'<', text.as_bytes()).unwrap_or(text.len()),
        Unescape::Always => text.len(),
        Unescape::Never => 0,
    };
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(suspect) = first_suspect(&text.as_bytes()[at..], at < unescape_until, repairs.plain_style) {
        let suspect = at + suspect;
        let begin = memchr::memrchr(b'\n', &text.as_bytes()[at..suspect]).map_or(at, |line_end| at + line_end + 1);
        let end = memchr::memchr(b'\n', &text.as_bytes()[suspect..]).map_or(text.len(), |more| suspect + more + 1);
        at = begin;
        while at < end {
            let segment = first_chars(&text[at..end], MAX_SEGMENT_CHARS);
            let segment_end = at + segment.len();
            let unescape = segment_end <= unescape_until;
            if !is_clean(segment, unescape, repairs.plain_style) {
                out.push_str(&text[copied..at]);
                out.push_str(&fix_segment(segment, unescape, repairs.plain_style));
                copied = segment_end;
            }
            at = segment_end;
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
fn first_suspect(bytes: &[u8], unescape: bool, plain_style: bool) -> Option<usize> {
    const STRIDE: usize = 64;
    let ampersand = if unescape { b'&' } else { 0x7f };
    let carriage_return = if plain_style { b'\r' } else { 0x7f };
    let is_suspect = |byte: u8| {
        let wanted_control = matches!(byte, b'\t' | b'\n' | 0x0c | b'\r');
        byte >= 0x7f || byte == ampersand || byte == carriage_return || (byte < 0x20 && !wanted_control)
    };
    // Without an early end within a chunk the compiler compares many bytes at once.
    let clean = |chunk: &&[u8]| !chunk.iter().fold(false, |found, byte| found | is_suspect(*byte));
    let clean_bytes = bytes.chunks(STRIDE).take_while(clean).count() * STRIDE;
    let within = bytes.get(clean_bytes..)?.iter().position(|byte| is_suspect(*byte))?;
    Some(clean_bytes + within)
}

/// Whether no repair would change the segment; may be wrong in saying no.
fn is_clean(segment: &str, unescape: bool, plain_style: bool) -> bool {
    let bytes = segment.as_bytes();
    if unescape && memchr::memchr(b'&', bytes).is_some() && decode_complete(segment).is_some() {
        return false;
    }
    if bytes.iter().any(|byte| matches!(byte, 0..=0x08 | 0x0b | 0x0e..=0x1f | 0x7f) || (plain_style && *byte == b'\r'))
    {
        return false;
    }
    let survey = badness::survey(segment);
    let unwanted = chars::REMOVED | if plain_style { chars::RESTYLED } else { 0 };
    let composed = || !plain_style || is_nfc_quick(segment.chars()) == IsNormalized::Yes;
    !survey.bad && survey.flags & unwanted == 0 && composed()
}

/// One step of repair: `None` if it changes nothing.
type Step = fn(&str) -> Option<String>;

/// The steps, in their order; those of the plain style are marked.
const STEPS: [(Step, bool); 9] = [
    (encoding::fix_encoding, false),
    (characters::replace_c1, false),
    (characters::split_ligatures, true),
    (characters::usual_width, true),
    (characters::straight_quotes, true),
    (characters::unix_line_ends, true),
    (characters::remove_terminal_escapes, false),
    (characters::remove_controls, false),
    (characters::compose, true),
];

fn fix_segment(segment: &str, unescape: bool, plain_style: bool) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(segment);
    for _ in 0..MAX_ROUNDS {
        let mut better = unescape.then(|| decode_complete(&text)).flatten();
        for (step, is_style) in STEPS {
            if plain_style || !is_style {
                better = step(better.as_deref().unwrap_or(&text)).or(better);
            }
        }
        match better {
            Some(better) if better != text => text = Cow::Owned(better),
            _ => break,
        }
    }
    text
}
