// chars(text): the number of characters.
#include "lib/doc.cuh"

DEVICE i64 chars(const Doc& doc, const Options& options) { return doc.walk.n_chars; }
