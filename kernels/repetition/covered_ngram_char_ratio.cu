// covered_ngram_char_ratio(text, n => 5): the share of word characters in n-grams that occur more than once.
#include "lib/doc.cuh"

DEVICE f64 covered_ngram_char_ratio(const Doc& doc, const Options& options) {
    Level level = level_of(doc.repetition.grams, options.integer(0));
    return ratio(level.covered_chars, word_chars(doc.repetition.grams));
}
