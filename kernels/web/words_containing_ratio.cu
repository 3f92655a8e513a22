// words_containing_ratio(text, strings): the share of words that contain one of several strings.
#include "lib/words.cuh"
#include "lib/search.cuh"

// Whether `string` is in a word. For one lane.
DEVICE bool has(Text word, Text string) {
    for (u32 at = 0; at + string.n_bytes <= word.n_bytes; at++) {
        if (is_at(word, at, string)) return true;
    }
    return false;
}

DEVICE f64 words_containing_ratio(const Doc& doc, const Options& options) {
    u32 n_hits = 0;
    for (WordCursor words(doc); words.next();) {
        const Text word = part_of(doc.text, words.start, words.end);
        bool is_hit = false;
        for (u32 i = 0; i < options.n_texts(0) && !is_hit; i++) is_hit = has(word, options.text_of(0, i));
        n_hits += is_hit;
    }
    return ratio(warp_sum(n_hits), doc.walk.n_words);
}
