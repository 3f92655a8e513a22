// word_entropy(text): the entropy of the words.
//
// Words are added in the order of their first occurrence, and logarithms made of the same operations, as on the CPU.
#include "lib/doc.cuh"
#include "lib/natural_log.cuh"

DEVICE f64 word_entropy(const Doc& doc, const Options& options) {
    const Grams& grams = doc.repetition.grams;
    const u32* firsts;
    const u32* counts = count_words(grams, firsts);
    f64 n_words = grams.words.n, sum = 0.0;
    for (u32 base = 0; base < grams.words.n; base += WARP) {
        u32 word = base + lane();
        bool is_first = word < grams.words.n && firsts[word] == word;
        f64 share = is_first ? counts[word] / n_words : 1.0;
        f64 part = -share * natural_log(share);
        for (u32 rest = __ballot_sync(ALL_LANES, is_first); rest != 0; rest &= rest - 1) {
            sum += __shfl_sync(ALL_LANES, part, __ffs(rest) - 1);
        }
    }
    return sum + 0.0;
}
