// top_ngram_char_ratio(text, n => 2): the share of characters in the most frequent n-gram.
#include "lib/doc.cuh"

DEVICE f64 top_ngram_char_ratio(const Doc& doc, const Options& options) {
    u32 n = options.integer(0);
    Level level = level_of(doc.repetition.grams, n);
    if (level.top_count == 0) return 0.0;
    u64 chars = gram_chars(doc.repetition.grams, level.top_start, n) + n - 1;
    return ratio(level.top_count * chars, doc.repetition.n_chars);
}
