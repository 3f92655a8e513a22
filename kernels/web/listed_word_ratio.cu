// listed_word_ratio(text, words): the share of words that are in a list.
//
// Each lane takes the words that begin in 32 bytes of its own.
#include "lib/doc.cuh"
#include "lib/lower.cuh"
#include "lib/refined.cuh"

// Goes through the words that begin in this lane's bytes.
struct PieceCursor {
    Text text;
    // The next place that is looked at, and the end of those 32 bytes.
    u32 at;
    u32 until;
    u32 start;

    __device__ __forceinline__ PieceCursor(Text text) : text(text), at(lane() * WARP), until(at + WARP), start(0) {}

    __device__ __forceinline__ bool next() {
        while (at < text.n_bytes) {
            start = at++;
            if (at == until) {
                at += WARP * WARP - WARP;
                until = at + WARP;
            }
            const bool is_first = start == 0 || splits_refined(text.bytes[start - 1]);
            if (is_first && !splits_refined(text.bytes[start])) return true;
        }
        return false;
    }
};

DEVICE bool is_in_list(Text text, u32 first, u32 last, const Options& options, const u8* tables) {
    const u32 begin = utf8_packed(lower_of(tables, character(text.bytes + first)));
    for (u32 i = 0; i < options.n_texts(0); i++) {
        const Text member = options.text_of(0, i);
        if (member.n_bytes == 0 || member.bytes[0] != (u8)begin) continue;
        if (end_of_lower(text, first, member, tables) == last) return true;
    }
    return false;
}

DEVICE f64 listed_word_ratio(const Doc& doc, const Options& options) {
    const Text text = doc.text;
    u32 n_words = 0, n_listed = 0;
    for (PieceCursor pieces(text); pieces.next();) {
        // The word in lower case, without the special characters at its ends.
        u32 first = NOWHERE, last = 0;
        for (u32 at = pieces.start; at < text.n_bytes && !splits_refined(text.bytes[at]);) {
            const u32 end = at + n_bytes_of(text.bytes[at]);
            if (!is_special(doc.tables, lower_of(doc.tables, character(text.bytes + at)))) {
                if (first == NOWHERE) first = at;
                last = end;
            }
            at = end;
        }
        if (first == NOWHERE) continue;
        n_words++;
        n_listed += is_in_list(text, first, last, options, doc.tables);
    }
    return ratio(warp_sum(n_listed), warp_sum(n_words));
}
