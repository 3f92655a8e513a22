// repeated_paragraph_char_ratio(text): the share of characters in paragraphs that occur more than once.
#include "lib/doc.cuh"

DEVICE f64 repeated_paragraph_char_ratio(const Doc& doc, const Options& options) {
    Repeats paragraphs = filled_of(doc.repetition.paragraphs);
    return ratio(paragraphs.repeated_chars, paragraphs.chars);
}
