// median_word_length(text): the length of the middle word.
#include "lib/words.cuh"

DEVICE f64 median_word_length(const Doc& doc, const Options& options) {
    const WordMarks* marks = doc.walk.words;
    const u32 n_words = doc.walk.n_words, n_bytes = doc.text.n_bytes;
    if (n_words == 0) return 0.0;
    const u32 longest = longest_word_chars(marks, n_bytes);
    const u32 low = word_chars_at(marks, n_bytes, (n_words - 1) / 2, longest);
    const u32 high = n_words % 2 == 1 ? low : word_chars_at(marks, n_bytes, n_words / 2, longest);
    return (f64)((u64)low + high) / 2.0;
}
