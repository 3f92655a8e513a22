// words(text): the number of words.
#include "lib/doc.cuh"

DEVICE i64 words(const Doc& doc, const Options& options) { return doc.walk.n_words; }
