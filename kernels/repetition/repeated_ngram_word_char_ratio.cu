// repeated_ngram_word_char_ratio(text, n => 5): the share of n-gram characters in n-grams that occur more than once.
#include "lib/doc.cuh"

DEVICE f64 repeated_ngram_word_char_ratio(const Doc& doc, const Options& options) {
    const Grams& grams = doc.repetition.grams;
    u32 n = options.integer(0);
    u64 all_chars = 0;
    for (u32 start = lane(); start < n_grams(grams, n); start += WARP) all_chars += gram_chars(grams, start, n);
    return ratio(level_of(grams, n).repeated_chars, warp_sum64(all_chars));
}
