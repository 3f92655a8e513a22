// boilerplate_paragraph_ratio(text): the share of paragraphs that are notices.
// 
// The warp looks at 32 places at a time; phrases and breaks between paragraphs are then gone through in order.
#include "lib/doc.cuh"
#include "lib/search.cuh"
#include "lib/lower.cuh"

static const u32 NO_PHRASE = 0;
static const u32 NOTICE = 1;
static const u32 LOREM_IPSUM = 2;

// Three bytes in lower case, as one number.
DEVICE u32 three(u8 first, u8 second, u8 third) { return (first | second << 8 | third << 16) | 0x202020; }

// Which kind of phrase begins at `at`, in any case. For one lane. No letter outside ASCII becomes one of the three that
// a phrase begins with, and no phrase ends in an i, of which the lower case of U+0130 would be the first half.
static __device__ __noinline__ u32 phrase_at(Text text, u32 at, u32 here, const u8* tables) {
    const auto is_here = [&](Text phrase) { return end_of_lower(text, at, phrase, tables) != NOWHERE; };
    if (here == three('l', 'o', 'r')) return is_here(literal("lorem ipsum")) ? LOREM_IPSUM : NO_PHRASE;
    bool is_notice = false;
    if (here == three('c', 'o', 'o')) is_notice = is_here(literal("cookie policy"));
    if (here == three('t', 'e', 'r')) is_notice = is_here(literal("terms of use"));
    if (here == three('u', 's', 'e')) {
        is_notice = is_here(literal("uses cookies")) || is_here(literal("use of cookies")) ||
                    is_here(literal("use cookies"));
    }
    if (here == three('p', 'r', 'i')) {
        is_notice = is_here(literal("privacy policy")) || is_here(literal("privacy overview")) ||
                    is_here(literal("privacy & cookies policy")) || is_here(literal("privacy and cookies policy"));
    }
    if (here == three('n', 'e', 'c')) {
        is_notice = is_here(literal(
            "necessary cookies are absolutely essential for the website to function properly. this category only "
            "includes cookies that ensures basic functionalities and security features of the website. these cookies "
            "do not store any personal information."));
    }
    if (here == three('a', 'n', 'y')) {
        is_notice = is_here(literal(
            "any cookies that may not be particularly necessary for the website to function and is used specifically "
            "to collect user personal data via analytics, ads, other embedded contents are termed as non-necessary "
            "cookies. it is mandatory to procure user consent prior to running these cookies on your website."));
    }
    if (here == three('i', 'f', ' ')) {
        is_notice = is_here(literal(
            "if you continue to browse this site without changing your cookie settings, you agree to this use. "
            "acceptread more"));
    }
    return is_notice ? NOTICE : NO_PHRASE;
}

// Whether one of the phrases begins with these three bytes.
DEVICE bool may_be_phrase(u32 here) {
    return here == three('l', 'o', 'r') || here == three('c', 'o', 'o') || here == three('t', 'e', 'r') ||
           here == three('u', 's', 'e') || here == three('p', 'r', 'i') || here == three('n', 'e', 'c') ||
           here == three('a', 'n', 'y') || here == three('i', 'f', ' ');
}

DEVICE f64 boilerplate_paragraph_ratio(const Doc& doc, const Options& options) {
    const Text text = doc.text;
    u32 n_breaks = 0, n_hits = 0;
    // The paragraph of the last phrase, and where a break may begin again.
    u32 last_hit = NOWHERE, next_break = 0;
    for (u32 start = 0; start < text.n_bytes; start += WARP) {
        const u32 at = start + lane();
        u32 kind = NO_PHRASE;
        if (at + 2 < text.n_bytes) {
            const u32 here = three(text.bytes[at], text.bytes[at + 1], text.bytes[at + 2]);
            if (may_be_phrase(here)) kind = phrase_at(text, at, here, doc.tables);
        }
        if (__any_sync(ALL_LANES, kind == LOREM_IPSUM)) return 1.0;
        const u32 hits = __ballot_sync(ALL_LANES, kind == NOTICE);
        u32 events = hits | __ballot_sync(ALL_LANES, at < text.n_bytes && is_at(text, at, literal("\n\n")));
        for (; events != 0; events &= events - 1) {
            const u32 bit = __ffs(events) - 1;
            if (hits >> bit & 1) {
                n_hits += n_breaks != last_hit;
                last_hit = n_breaks;
            } else if (start + bit >= next_break) {
                n_breaks++;
                next_break = start + bit + 2;
            }
        }
    }
    return ratio(n_hits, n_breaks + 1);
}
