// lines_without_end(text, ends): how many lines do not end like a sentence.
#include "lib/line_span.cuh"
#include "lib/search.cuh"

DEVICE i64 lines_without_end(const Doc& doc, const Options& options) {
    u64 n = 0;
    for (LineCursor lines(doc, doc.walk.lines); lines.next();) {
        const Text line = part_of(doc.text, lines.line.first, lines.line.last);
        if (!ends_with_any(line, options, 0)) n += size_of_line(doc, lines.line, options.text(1));
    }
    return warp_sum64(n);
}
