// longest_word(text): the length of the longest word.
#include "lib/words.cuh"

DEVICE i64 longest_word(const Doc& doc, const Options& options) {
    return longest_word_chars(doc.walk.words, doc.text.n_bytes);
}
