// alphanumeric_ratio(text): the share of letters and numbers.
#include "lib/chars.cuh"

DEVICE f64 alphanumeric_ratio(const Doc& doc, const Options& options) {
    const u32 ascii = share_of_ascii_letters(doc) + share_of_ascii_digits(doc);
    return ratio(warp_sum(ascii + share_of_wide(doc, LETTER | NUMBER)), doc.walk.n_chars);
}
