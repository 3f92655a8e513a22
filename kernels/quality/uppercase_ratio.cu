// uppercase_ratio(text): the share of letters that are capitals.
#include "lib/chars.cuh"

DEVICE f64 uppercase_ratio(const Doc& doc, const Options& options) {
    const u32 n_capitals = warp_sum(share_of_ascii(doc, 'A', 'Z') + share_of_wide(doc, UPPERCASE));
    return ratio(n_capitals, warp_sum(share_of_ascii_letters(doc) + share_of_wide(doc, ALPHABETIC)));
}
