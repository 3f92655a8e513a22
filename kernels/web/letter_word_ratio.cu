// letter_word_ratio(text): the share of words with a letter.
#include "lib/doc.cuh"

DEVICE f64 letter_word_ratio(const Doc& doc, const Options& options) {
    return ratio(doc.walk.n_with_python_letter, doc.walk.n_words);
}
