// mean_non_symbol_word_length(text): the mean length of the words that are more than punctuation.
#include "lib/doc.cuh"

DEVICE f64 mean_non_symbol_word_length(const Doc& doc, const Options& options) {
    return ratio(doc.walk.n_word_chars - doc.walk.n_symbol_chars, doc.walk.n_words - doc.walk.n_symbols);
}
