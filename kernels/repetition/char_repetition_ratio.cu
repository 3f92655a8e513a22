// char_repetition_ratio(text, n => 10): how often the most frequent runs of n characters occur.
#include "lib/doc.cuh"

DEVICE f64 char_repetition_ratio(const Doc& doc, const Options& options) {
    u32 place = place_of_length(doc.repetition.char_grams, options.integer(0));
    return doc.repetition.run_ratios[place];
}
