// minhash(text, permutations, shingle, normalize, hash, seed): the MinHash signature.
#include "lib/doc.cuh"
#include "lib/minhash.cuh"

DEVICE u32 minhash(const Doc& doc, const Options& options, u8* scratch, Words words) {
    u32 n_values = (u32)options.integer(0);
    Text hash = options.text(3);
    bool has_shingles = minhash_signature(doc.text, doc.tables, options.text(1), options.text(2), hash,
                                          (u64)options.integer(4), n_values, words.values, scratch);
    return has_shingles || hash_option(hash) == HASH_NEMO ? n_values : 0;
}
