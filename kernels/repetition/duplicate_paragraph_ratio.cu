// duplicate_paragraph_ratio(text): the share of paragraphs that were there before.
#include "lib/doc.cuh"

DEVICE f64 duplicate_paragraph_ratio(const Doc& doc, const Options& options) {
    Repeats paragraphs = all_of(doc.repetition.blocks);
    return ratio(n_duplicates(paragraphs), paragraphs.n);
}
