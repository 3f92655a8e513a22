// unterminated_line_ratio(text): the share of lines without an end mark.
#include "lib/lines.cuh"
#include "lib/search.cuh"

DEVICE f64 unterminated_line_ratio(const Doc& doc, const Options& options) {
    u32 n_hits = 0;
    for (LineCursor lines(doc, doc.walk.lines); lines.next();) {
        if (lines.line.is_blank()) continue;
        n_hits += !ends_with_any(part_of(doc.text, lines.line.first, lines.line.last), options, 0);
    }
    return ratio(warp_sum(n_hits), doc.walk.n_full);
}
