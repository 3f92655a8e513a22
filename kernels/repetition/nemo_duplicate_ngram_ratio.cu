// nemo_duplicate_ngram_ratio(text, n => 2): the share of characters in n-grams that were there before.
#include "lib/doc.cuh"

DEVICE f64 nemo_duplicate_ngram_ratio(const Doc& doc, const Options& options) {
    Level level = level_of(doc.repetition.grams, options.integer(0));
    return level.top_count == 0 ? 1.0 : ratio(level.later_chars, doc.repetition.n_chars);
}
