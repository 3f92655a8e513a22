// symbol_to_word_ratio(text): hash signs and ellipses per word.
#include "lib/chars.cuh"
#include "lib/search.cuh"

DEVICE f64 symbol_to_word_ratio(const Doc& doc, const Options& options) {
    const u32 n_dots = count_of(doc.text, literal("..."));
    const u32 n_signs = warp_sum(share_of_ascii(doc, '#', '#') + share_of_wide(doc, ELLIPSIS));
    return ratio(n_signs + n_dots, doc.walk.n_words);
}
