// mean_word_length(text): characters per word.
#include "lib/doc.cuh"

DEVICE f64 mean_word_length(const Doc& doc, const Options& options) {
    return ratio(doc.walk.n_word_chars, doc.walk.n_words);
}
