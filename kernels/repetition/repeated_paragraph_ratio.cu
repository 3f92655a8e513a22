// repeated_paragraph_ratio(text): the share of paragraphs that occur more than once.
#include "lib/doc.cuh"

DEVICE f64 repeated_paragraph_ratio(const Doc& doc, const Options& options) {
    Repeats paragraphs = filled_of(doc.repetition.paragraphs);
    return ratio(paragraphs.n_repeated, paragraphs.n);
}
