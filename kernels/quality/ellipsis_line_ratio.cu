// ellipsis_line_ratio(text): the share of lines that break off.
#include "lib/lines.cuh"
#include "lib/search.cuh"
#include "lib/lower.cuh"

DEVICE f64 ellipsis_line_ratio(const Doc& doc, const Options& options) {
    u32 n_hits = 0;
    for (LineCursor lines(doc, doc.walk.lines); lines.next();) {
        if (lines.line.is_blank()) continue;
        const Text line = part_of(doc.text, lines.line.first, lines.line.last);
        bool is_broken = false;
        for (u32 i = 0; i < options.n_texts(0) && !is_broken; i++) {
            is_broken = ends_with_lower(line, options.text_of(0, i), doc.tables);
        }
        n_hits += is_broken;
    }
    return ratio(warp_sum(n_hits), doc.walk.n_full);
}
