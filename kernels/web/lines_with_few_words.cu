// lines_with_few_words(text, min_words): how many lines have few words.
#include "lib/line_span.cuh"

DEVICE i64 lines_with_few_words(const Doc& doc, const Options& options) {
    u64 n = 0;
    for (LineCursor lines(doc, doc.walk.lines); lines.next();) {
        if (lines.line.n_words < options.integer(0)) n += size_of_line(doc, lines.line, options.text(1));
    }
    return warp_sum64(n);
}
