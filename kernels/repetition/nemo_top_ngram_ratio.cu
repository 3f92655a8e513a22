// nemo_top_ngram_ratio(text, n => 2): how much the document shrinks without its most frequent n-gram.
#include "lib/doc.cuh"
#include "lib/search.cuh"

DEVICE f64 nemo_top_ngram_ratio(const Doc& doc, const Options& options) {
    const Grams& grams = doc.repetition.grams;
    u32 n = options.integer(0);
    Level level = level_of(grams, n);
    if (level.top_count == 0) return 1.0;
    // The tables of the n-grams are done with: the words go there, with one space between them.
    u8* pattern = (u8*)grams.memory.places;
    u32 n_bytes = 0;
    for (u32 word = level.top_start; word < level.top_start + n; word++) {
        u32 start = grams.words.starts[word], length = grams.words.ends[word] - start;
        if (word > level.top_start && lane() == 0) pattern[n_bytes] = ' ';
        n_bytes += word > level.top_start;
        for (u32 i = lane(); i < length; i += WARP) pattern[n_bytes + i] = grams.words.letters[start + i];
        n_bytes += length;
    }
    __syncwarp();
    Text wanted = {pattern, n_bytes};
    u64 n_chars = gram_chars(grams, level.top_start, n) + n - 1;
    f64 answer = ratio(count_of(doc.text, wanted) * n_chars, doc.repetition.n_chars);
    __syncwarp();
    return answer;
}
