// special_char_ratio(text): the share of what Data-Juicer calls special characters.
#include "lib/chars.cuh"

DEVICE f64 special_char_ratio(const Doc& doc, const Options& options) {
    const u32 space = share_of_ascii(doc, '\t', '\r') + share_of_ascii(doc, ' ', ' ');
    const u32 ascii = share_of_ascii_punctuation(doc) + share_of_ascii_digits(doc) + space;
    return ratio(warp_sum(ascii + share_of_wide(doc, SPECIAL)), doc.walk.n_chars);
}
