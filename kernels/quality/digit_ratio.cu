// digit_ratio(text): the share of digits.
#include "lib/chars.cuh"

DEVICE f64 digit_ratio(const Doc& doc, const Options& options) {
    return ratio(warp_sum(share_of_ascii_digits(doc)), doc.walk.n_chars);
}
