// alpha_ratio(text): the share of letters.
#include "lib/chars.cuh"

DEVICE f64 alpha_ratio(const Doc& doc, const Options& options) {
    return ratio(warp_sum(share_of_ascii_letters(doc) + share_of_wide(doc, ALPHABETIC)), doc.walk.n_chars);
}
