// word_repetition_ratio(text, n => 10): the share of word n-grams that occur more than once.
#include "lib/doc.cuh"

DEVICE f64 word_repetition_ratio(const Doc& doc, const Options& options) {
    u32 n = options.integer(0);
    return ratio(level_of(doc.repetition.refined, n).n_repeated, n_grams(doc.repetition.refined, n));
}
