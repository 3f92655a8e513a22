// top_ngram_covered_char_ratio(text, n => 2): the share of word characters in the most frequent n-gram.
#include "lib/doc.cuh"

DEVICE f64 top_ngram_covered_char_ratio(const Doc& doc, const Options& options) {
    Level level = level_of(doc.repetition.grams, options.integer(0));
    return ratio(level.top_covered_chars, word_chars(doc.repetition.grams));
}
