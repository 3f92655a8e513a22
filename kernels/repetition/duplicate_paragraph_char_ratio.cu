// duplicate_paragraph_char_ratio(text): the share of characters in paragraphs that were there before.
#include "lib/doc.cuh"

DEVICE f64 duplicate_paragraph_char_ratio(const Doc& doc, const Options& options) {
    return ratio(duplicate_chars(all_of(doc.repetition.blocks)), doc.repetition.n_chars);
}
