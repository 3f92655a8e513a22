// string_to_word_ratio(text, strings): how often strings occur, per word.
#include "lib/doc.cuh"
#include "lib/search.cuh"

DEVICE f64 string_to_word_ratio(const Doc& doc, const Options& options) {
    u64 n = 0;
    for (u32 i = 0; i < options.n_texts(0); i++) n += count_of(doc.text, options.text_of(0, i));
    return ratio(n, doc.walk.n_words);
}
