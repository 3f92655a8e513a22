// line_count(text, lines => …): how many lines a document has, by any of the ways to cut it.
#include "lib/line_kinds.cuh"

DEVICE i64 line_count(const Doc& doc, const Options& options) {
    LinesOfKind lines(doc, options.text(0));
    while (lines.next()) {}
    return warp_sum(lines.n_lines);
}
