// lines(text): the number of lines.
#include "lib/doc.cuh"

DEVICE i64 lines(const Doc& doc, const Options& options) {
    const bool is_open = doc.text.n_bytes > 0 && doc.text.bytes[doc.text.n_bytes - 1] != '\n';
    return doc.walk.n_lines - 1 + is_open;
}
