// unique_paragraph_ratio(text): the share of distinct paragraphs.
#include "lib/doc.cuh"

DEVICE f64 unique_paragraph_ratio(const Doc& doc, const Options& options) {
    Repeats paragraphs = all_of(doc.repetition.paragraphs);
    return ratio(paragraphs.n_distinct, paragraphs.n);
}
