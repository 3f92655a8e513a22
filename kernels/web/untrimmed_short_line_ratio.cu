// untrimmed_short_line_ratio(text): the share of short lines, with the white space at their ends.
#include "lib/line_kinds.cuh"

DEVICE f64 untrimmed_short_line_ratio(const Doc& doc, const Options& options) {
    u32 n_hits = 0;
    LinesOfKind lines(doc, options.text(1));
    while (lines.next()) n_hits += lines.line.n_chars <= options.integer(0);
    return ratio(warp_sum(n_hits), warp_sum(lines.n_lines));
}
