// long_lines(text, min_chars): how many lines are long.
#include "lib/line_kinds.cuh"

DEVICE i64 long_lines(const Doc& doc, const Options& options) {
    u32 n_hits = 0;
    for (LinesOfKind lines(doc, options.text(1)); lines.next();) n_hits += lines.line.n_chars >= options.integer(0);
    return warp_sum(n_hits);
}
