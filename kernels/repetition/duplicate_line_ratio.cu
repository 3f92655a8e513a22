// duplicate_line_ratio(text): the share of lines that were there before.
#include "lib/doc.cuh"

DEVICE f64 duplicate_line_ratio(const Doc& doc, const Options& options) {
    Repeats lines = chosen_lines(doc.repetition.lines, doc.text, options.text(0));
    return ratio(n_duplicates(lines), lines.n);
}
