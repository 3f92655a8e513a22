// short_line_ratio(text): the share of short lines.
#include "lib/lines.cuh"

DEVICE f64 short_line_ratio(const Doc& doc, const Options& options) {
    u32 n_short = 0;
    for (LineCursor lines(doc, doc.walk.lines); lines.next();) {
        const u32 n_chars = n_chars_between(doc.walk.words, lines.line.first, lines.line.last);
        n_short += !lines.line.is_blank() && n_chars <= options.integer(0);
    }
    return ratio(warp_sum(n_short), doc.walk.n_full);
}
