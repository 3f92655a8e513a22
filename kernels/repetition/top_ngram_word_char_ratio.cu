// top_ngram_word_char_ratio(text, n => 2): the share of word characters in the most frequent n-gram.
#include "lib/doc.cuh"

DEVICE f64 top_ngram_word_char_ratio(const Doc& doc, const Options& options) {
    const Grams& grams = doc.repetition.grams;
    u32 n = options.integer(0);
    Level level = level_of(grams, n);
    if (level.top_count == 0 || level.top_count < options.integer(1)) return 0.0;
    return ratio(level.top_count * (u64)gram_chars(grams, level.top_start, n), word_chars(grams));
}
