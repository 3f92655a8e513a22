// duplicate_line_char_ratio(text): the share of characters in lines that were there before.
#include "lib/doc.cuh"

DEVICE f64 duplicate_line_char_ratio(const Doc& doc, const Options& options) {
    Repeats lines = chosen_lines(doc.repetition.lines, doc.text, options.text(0));
    return ratio(duplicate_chars(lines), chosen_whole(doc.repetition, doc.walk, lines, options.text(1)));
}
