// repeated_line_char_ratio(text): the share of characters in lines that occur more than once.
#include "lib/doc.cuh"

DEVICE f64 repeated_line_char_ratio(const Doc& doc, const Options& options) {
    Repeats lines = chosen_lines(doc.repetition.lines, doc.text, options.text(0));
    return ratio(lines.repeated_chars, chosen_whole(doc.repetition, doc.walk, lines, options.text(1)));
}
