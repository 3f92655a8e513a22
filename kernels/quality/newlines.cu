// newlines(text): the number of line feeds.
#include "lib/doc.cuh"

DEVICE i64 newlines(const Doc& doc, const Options& options) { return doc.walk.n_lines - 1; }
