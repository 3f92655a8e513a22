// shingle_count(text, shingle, normalize): how many different shingles there are.
#include "lib/doc.cuh"
#include "lib/shingles.cuh"

DEVICE i64 shingle_count(const Doc& doc, const Options& options, u8* scratch) {
    Shingles shingles;
    scratch = cut_shingles(shingles, doc.text, options.text(0), options.text(1), scratch, doc.tables);
    u32 n = shingles.n_shingles;
    u64* hashes = (u64*)scratch;
    shingle_hashes(shingles, hashes);
    // A set with a free place beside each taken one; 0 is a free place, so the hash 0 is counted apart.
    u64* set = (u64*)after(scratch, 8 * (u64)(shingles.n_units + 1));
    u64 n_places = 2 * (u64)n;
    for (u64 i = lane(); i < n_places; i += WARP) set[i] = 0;
    __syncwarp();
    u32 n_new = 0;
    bool has_zero = false;
    for (u32 i = lane(); i < n; i += WARP) {
        u64 hash = hashes[i];
        has_zero |= hash == 0;
        if (hash == 0) continue;
        u64 place = __umul64hi(hash, n_places);
        for (;;) {
            u64 before = atomicCAS(set + place, 0ull, hash);
            n_new += before == 0;
            if (before == 0 || before == hash) break;
            place = place + 1 == n_places ? 0 : place + 1;
        }
    }
    __syncwarp();
    return (i64)warp_sum(n_new) + __any_sync(ALL_LANES, has_zero);
}
