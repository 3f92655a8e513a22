// unique_line_char_ratio(text): the share of characters in distinct lines.
#include "lib/doc.cuh"

DEVICE f64 unique_line_char_ratio(const Doc& doc, const Options& options) {
    Repeats lines = chosen_lines(doc.repetition.lines, doc.text, options.text(0));
    return lines.chars == 0 ? 1.0 : ratio(lines.distinct_chars, lines.chars);
}
