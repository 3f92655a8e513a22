// repeated_line_ratio(text): the share of lines that occur more than once.
#include "lib/doc.cuh"

DEVICE f64 repeated_line_ratio(const Doc& doc, const Options& options) {
    Repeats lines = chosen_lines(doc.repetition.lines, doc.text, options.text(0));
    return ratio(lines.n_repeated, lines.n);
}
