// non_symbol_words(text): how many words are more than punctuation.
#include "lib/doc.cuh"

DEVICE i64 non_symbol_words(const Doc& doc, const Options& options) {
    return doc.walk.n_words - doc.walk.n_symbols;
}
