// unique_word_ratio(text): the share of distinct words.
#include "lib/doc.cuh"

DEVICE f64 unique_word_ratio(const Doc& doc, const Options& options) {
    return ratio(level_of(doc.repetition.grams, 1).n_distinct, doc.repetition.grams.words.n);
}
