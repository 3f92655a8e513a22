// duplicate_ngram_char_ratio(text, n => 5): the share of characters in n-grams met before on a walk.
#include "lib/doc.cuh"

DEVICE f64 duplicate_ngram_char_ratio(const Doc& doc, const Options& options) {
    u32 place = place_of_length(doc.repetition.joined_grams, options.integer(0));
    return ratio(doc.repetition.joined_chars[place], doc.repetition.n_chars);
}
