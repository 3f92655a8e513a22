// paragraphs(text): the number of paragraphs.
#include "lib/lines.cuh"

DEVICE i64 paragraphs(const Doc& doc, const Options& options) {
    u32 n = 0;
    for (LineCursor lines(doc, doc.walk.lines); lines.next();) {
        const u32 start = lines.line.start;
        if (lines.line.is_blank()) continue;
        n += start == 0 || line_ending_at(doc, doc.walk.lines, start - 1).is_blank();
    }
    return warp_sum(n);
}
