// symbol_word_ratio(text): the share of words that are symbols, by NeMo's rule.
#include "lib/words.cuh"
#include "lib/search.cuh"

// One of `...` `[...]` `…` `(...)` `[…]` `-»`.
DEVICE bool is_ellipsis(Text word) {
    if (word.n_bytes < 3 || word.n_bytes > 5) return false;
    return is_equal(word, literal("...")) || is_equal(word, literal("[...]")) || is_equal(word, literal("(...)")) ||
           is_equal(word, literal("\xe2\x80\xa6")) || is_equal(word, literal("[\xe2\x80\xa6]")) ||
           is_equal(word, literal("-\xc2\xbb"));
}

// Whether the runs of `#` are more than half as many as the characters: then each is one sign, with one other character
// between two.
DEVICE bool is_of_hash_signs(Text word) {
    u32 at = 0;
    while (word.bytes[at] == '#') {
        at++;
        if (at == word.n_bytes) return true;
        if (word.bytes[at] == '#') return false;
        at += n_bytes_of(word.bytes[at]);
        if (at >= word.n_bytes) return false;
    }
    return false;
}

DEVICE f64 symbol_word_ratio(const Doc& doc, const Options& options) {
    u32 n_symbols = 0;
    for (WordCursor words(doc); words.next();) {
        const Text word = part_of(doc.text, words.start, words.end);
        n_symbols += is_ellipsis(word) || is_of_hash_signs(word);
    }
    return ratio(warp_sum(n_symbols), doc.walk.n_words);
}
