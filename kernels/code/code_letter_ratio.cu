// code_letter_ratio(text): the share of letters, without letter-like numbers and marks.
#include "lib/chars.cuh"

DEVICE f64 code_letter_ratio(const Doc& doc, const Options& options) {
    return ratio(warp_sum(share_of_ascii_letters(doc) + share_of_wide(doc, LETTER)), doc.walk.n_chars);
}
