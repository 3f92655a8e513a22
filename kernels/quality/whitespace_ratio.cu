// whitespace_ratio(text): the share of white space.
#include "lib/chars.cuh"

DEVICE f64 whitespace_ratio(const Doc& doc, const Options& options) {
    const u32 ascii = share_of_ascii(doc, '\t', '\r') + share_of_ascii(doc, 0x1c, ' ');
    return ratio(warp_sum(ascii + share_of_wide(doc, SPACE)), doc.walk.n_chars);
}
