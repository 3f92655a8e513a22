// punctuation_ratio(text): the share of punctuation.
#include "lib/chars.cuh"

DEVICE f64 punctuation_ratio(const Doc& doc, const Options& options) {
    return ratio(warp_sum(share_of_ascii_punctuation(doc) + share_of_wide(doc, PUNCTUATION)), doc.walk.n_chars);
}
