// line_start_ratio(text, starts): the share of lines that begin with one of several strings.
#include "lib/line_kinds.cuh"

DEVICE f64 line_start_ratio(const Doc& doc, const Options& options) {
    u32 n_hits = 0;
    LinesOfKind lines(doc, options.text(1));
    while (lines.next()) n_hits += begins_with_any(lines.text(options.flag(2)), options, 0);
    return ratio(warp_sum(n_hits), warp_sum(lines.n_lines));
}
