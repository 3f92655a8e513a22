// mean_line_length(text): characters per line.
#include "lib/doc.cuh"

DEVICE f64 mean_line_length(const Doc& doc, const Options& options) {
    return ratio(doc.walk.n_chars, doc.walk.n_split_lines);
}
