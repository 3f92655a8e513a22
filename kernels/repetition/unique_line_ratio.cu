// unique_line_ratio(text): the share of distinct lines.
#include "lib/doc.cuh"

DEVICE f64 unique_line_ratio(const Doc& doc, const Options& options) {
    Repeats lines = chosen_lines(doc.repetition.lines, doc.text, options.text(0));
    return lines.n == 0 ? 1.0 : ratio(lines.n_distinct, lines.n);
}
