// unique_paragraph_char_ratio(text): the share of characters in distinct paragraphs.
#include "lib/doc.cuh"

DEVICE f64 unique_paragraph_char_ratio(const Doc& doc, const Options& options) {
    Repeats paragraphs = all_of(doc.repetition.paragraphs);
    return paragraphs.chars == 0 ? 1.0 : ratio(paragraphs.distinct_chars, paragraphs.chars);
}
