//! `boilerplate_paragraph_ratio(text)`: the share of paragraphs that are notices.

use crate::ops::prelude::*;
use memchr::memmem;
use std::sync::LazyLock;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "boilerplate_paragraph_ratio",
    family: Family::Quality,
    summary: "share of paragraphs about cookies, privacy and terms of use",
    details: "(paragraphs that contain, in any case, one of 14 phrases such as `privacy policy`, `terms of use`, `uses \
              cookies`) / paragraphs, where two line feeds separate paragraphs and empty ones count; 1 if `lorem ipsum` \
              occurs anywhere. NeMo's BoilerPlateStringFilter keeps documents up to 0.4. An empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"boilerplate_paragraph_ratio(E'A story.\n\nThis site uses Cookies.')", "0.5"),
        Example::of("boilerplate_paragraph_ratio('Lorem ipsum')", "1.0"),
        Example::of("boilerplate_paragraph_ratio('')", "0.0"),
        Example::of("boilerplate_paragraph_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.56),
    cpu: Cpu::measure(|_| Needs::CHARS, |doc, _| boilerplate_paragraph_ratio(doc)),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/boilerplate_paragraph_ratio.cu"))
        .and_instructions_per_byte(110.0),
};

/// The phrases by a word that each contains, so that one search finds the places where several may be. Two long notices
/// of NeMo's list contain `uses cookies` and are not repeated.
static PHRASES: LazyLock<[(scan::FoldedFinder, Vec<&'static str>); 3]> = LazyLock::new(|| {
    let about_cookies = vec![
        "cookie policy",
        "uses cookies",
        "use of cookies",
        "use cookies",
        "privacy & cookies policy",
        "privacy and cookies policy",
        "necessary cookies are absolutely essential for the website to function properly. this category only includes \
         cookies that ensures basic functionalities and security features of the website. these cookies do not store \
         any personal information.",
        "any cookies that may not be particularly necessary for the website to function and is used specifically to \
         collect user personal data via analytics, ads, other embedded contents are termed as non-necessary cookies. \
         it is mandatory to procure user consent prior to running these cookies on your website.",
        "if you continue to browse this site without changing your cookie settings, you agree to this use. acceptread \
         more",
    ];
    [
        (scan::FoldedFinder::new("cookie"), about_cookies),
        (scan::FoldedFinder::new("privacy"), vec!["privacy policy", "privacy overview"]),
        (scan::FoldedFinder::new("terms of use"), vec!["terms of use"]),
    ]
});
static LOREM_IPSUM: LazyLock<scan::FoldedFinder> = LazyLock::new(|| scan::FoldedFinder::new("lorem ipsum"));

fn boilerplate_paragraph_ratio(doc: &Doc) -> f64 {
    // Two letters outside ASCII become ASCII in lower case; no other letter can be part of a phrase.
    let lower = match doc.chars().wide(scan::Properties::ASCII_IN_LOWER_CASE) {
        0 => Cow::Borrowed(doc.text()),
        _ => Cow::Owned(doc.text().to_lowercase()),
    };
    let [(about_cookies, _), (about_privacy, _), (about_terms, _)] = &*PHRASES;
    if !scan::FoldedFinder::any_occurs(&[&LOREM_IPSUM, about_cookies, about_privacy, about_terms], &lower) {
        return 0.0;
    }
    if LOREM_IPSUM.find_at(&lower, 0).is_some() {
        return 1.0;
    }
    let places = places(&lower);
    if places.is_empty() {
        return 0.0;
    }
    let breaks: Vec<usize> = memmem::find_iter(lower.as_bytes(), "\n\n").collect();
    let mut paragraphs: Vec<usize> = places.iter().map(|place| breaks.partition_point(|end| end < place)).collect();
    paragraphs.sort_unstable();
    paragraphs.dedup();
    scan::ratio(paragraphs.len(), breaks.len() + 1)
}

/// Where phrases are.
fn places(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    for (word, phrases) in PHRASES.iter() {
        let mut from = 0;
        while let Some(at) = word.find_at(text, from) {
            if phrases.iter().any(|phrase| is_around(text, at, word, phrase)) {
                places.push(at);
            }
            from = at + 1;
        }
    }
    places
}

/// Whether the word that was found at `at` is there because the phrase is.
fn is_around(text: &str, at: usize, word: &scan::FoldedFinder, phrase: &str) -> bool {
    let Some(start) = word.find_at(phrase, 0).and_then(|offset| at.checked_sub(offset)) else { return false };
    text.as_bytes().get(start..start + phrase.len()).is_some_and(|here| here.eq_ignore_ascii_case(phrase.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_lower_casing_the_paragraph_finds_them() {
        for (text, expected) in [
            ("Terms Of Use\n\n\n\nx", 1.0 / 3.0),
            ("cookie cookie Cookie Policy privacy and cookies policy", 1.0),
            ("privacy\n\npolicy", 0.0),
            ("a PRIVACY POLICY\n\nb\n\nprivacy overview", 2.0 / 3.0),
            ("coo\u{212a}ie policy", 1.0),
            ("pr\u{130}vacy policy", 0.0),
            ("x\n\nLOREM IPSUM\n\ny", 1.0),
        ] {
            let mut doc = Doc::new();
            doc.read(text, Needs::CHARS);
            assert_eq!(boilerplate_paragraph_ratio(&doc), expected, "{text:?}");
        }
    }
}
