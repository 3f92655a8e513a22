// MinHash signatures of a document's shingles: src/ops/dedup/signature.
//
// Every value is the least of many, so no order of the shingles matters. The families of others have a permutation for
// each value: lanes share the permutations out among them, and each keeps a few leasts while it walks over all shingles.
#include "lib/murmur3.cuh"
#include "lib/permutations.cuh"
#include "lib/shingles.cuh"
#include "lib/xxh64.cuh"

enum HashFamily { HASH_NATIVE, HASH_NEMO, HASH_DATATROVE };

DEVICE u32 hash_option(Text hash) {
    return hash.bytes[0] == 'd' ? HASH_DATATROVE : hash.bytes[1] == 'e' ? HASH_NEMO : HASH_NATIVE;
}

// What a family makes of a shingle, and of its hash and a permutation.
struct Nemo {
    typedef u32 Value;
    u32 seed;

    __device__ __forceinline__ u32 hash(const u8* bytes, u32 n_bytes, const u8* end) const {
        // libcudf reserves 0 for rows that have no value.
        u32 found = murmur3_32(bytes, n_bytes, end, seed);
        return found == 0 ? 1 : found;
    }
    static __device__ __forceinline__ u32 permute(u32 hash, u32 a, u32 b) { return hash * a + b; }
};

struct Datatrove {
    typedef u64 Value;

    __device__ __forceinline__ u64 hash(const u8* bytes, u32 n_bytes, const u8* end) const {
        return xxh64(bytes, n_bytes, end);
    }
    // (a·h + b mod 2⁶⁴) mod 2⁶¹ − 1: 2⁶¹ is 1, so the upper bits are added to the lower ones.
    static __device__ __forceinline__ u64 permute(u64 hash, u64 a, u64 b) {
        u64 product = hash * a + b;
        u64 sum = (product & MERSENNE_61) + (product >> 61);
        return sum >= MERSENNE_61 ? sum - MERSENNE_61 : sum;
    }
};

// The leasts of N · 32 permutations, N for each lane.
template <typename Family, u32 N>
DEVICE void least_of_permutations(const typename Family::Value* hashes, u32 n_hashes, const u64* pairs, u64* out) {
    typedef typename Family::Value Value;
    Value a[N], b[N], least[N];
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        a[i] = (Value)pairs[2 * (WARP * i + lane())];
        b[i] = (Value)pairs[2 * (WARP * i + lane()) + 1];
        least[i] = ~(Value)0;
    }
    for (u32 at = 0; at < n_hashes; at++) {
        Value hash = hashes[at];
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            Value value = Family::permute(hash, a[i], b[i]);
            least[i] = value < least[i] ? value : least[i];
        }
    }
#pragma unroll
    for (u32 i = 0; i < N; i++) out[WARP * i + lane()] = least[i];
}

// The least of one permutation, with the shingles shared out among the lanes.
template <typename Family>
DEVICE u64 least_of_shingles(const typename Family::Value* hashes, u32 n_hashes, u64 a, u64 b) {
    typedef typename Family::Value Value;
    Value least = ~(Value)0;
    for (u32 at = lane(); at < n_hashes; at += WARP) {
        Value value = Family::permute(hashes[at], (Value)a, (Value)b);
        least = value < least ? value : least;
    }
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        Value other = __shfl_xor_sync(ALL_LANES, least, step);
        least = other < least ? other : least;
    }
    return least;
}

template <typename Family>
DEVICE void permuted_signature(const Shingles& shingles, const Family& family, const u64* pairs, u32 n_values, u64* out,
                               u8* scratch) {
    typedef typename Family::Value Value;
    Value* hashes = (Value*)scratch;
    u32 n = shingles.n_shingles;
    for (u32 i = lane(); i < n; i += WARP) {
        hashes[i] = family.hash(shingles.from(i), shingles.length(i), shingles.end);
    }
    __syncwarp();
    u32 at = 0;
    for (; at + 8 * WARP <= n_values; at += 8 * WARP) least_of_permutations<Family, 8>(hashes, n, pairs + 2 * at, out + at);
    for (; at + 2 * WARP <= n_values; at += 2 * WARP) least_of_permutations<Family, 2>(hashes, n, pairs + 2 * at, out + at);
    for (; at + WARP <= n_values; at += WARP) least_of_permutations<Family, 1>(hashes, n, pairs + 2 * at, out + at);
    for (; at < n_values; at++) {
        u64 least = least_of_shingles<Family>(hashes, n, pairs[2 * at], pairs[2 * at + 1]);
        if (lane() == 0) out[at] = least;
    }
}

// SplitMix64: the numbers that `native` is made of, each by its place.
DEVICE u64 splitmix(u64 seed, u64 place) {
    u64 z = seed + (place + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

DEVICE u64 native_hash(u64 shingle, u64 add, u64 factor) { return fold_product(shingle ^ add, factor); }

// Fast Similarity Sketching: each round throws all shingles into bins, until no bin is empty.
static __device__ __noinline__ void native_signature(const u64* shingles, u32 n_shingles, u32 n_bins, u64 seed, u64* bins) {
    const u64 unfilled = ~0ull;
    for (u32 bin = lane(); bin < n_bins; bin += WARP) bins[bin] = unfilled;
    __syncwarp();
    u32 n_filled = 0;
    for (u32 round = 0; round < n_bins && n_filled < n_bins; round++) {
        u64 add = splitmix(seed, 2 * round), factor = splitmix(seed, 2 * round + 1) | 1;
        u32 n_new = 0;
        for (u32 i = lane(); i < n_shingles; i += WARP) {
            u64 hash = native_hash(shingles[i], add, factor);
            // The upper half chooses the bin and the lower half is the value.
            u32 bin = (u32)((hash >> 32) * n_bins >> 32);
            u64 before = atomicMin(bins + bin, (u64)round << 32 | (hash & 0xffffffff));
            n_new += before == unfilled;
        }
        n_filled += warp_sum(n_new);
    }
    __syncwarp();
    if (n_filled == n_bins) return;
    // Bins that are still empty take the least of all shingles, each by a function of its own.
    for (u32 bin = 0; bin < n_bins; bin++) {
        if (bins[bin] != unfilled) continue;
        u64 round = (u64)n_bins + bin;
        u64 add = splitmix(seed, 2 * round), factor = splitmix(seed, 2 * round + 1) | 1;
        u32 least = 0xffffffffu;
        for (u32 i = lane(); i < n_shingles; i += WARP) {
            u32 value = (u32)native_hash(shingles[i], add, factor);
            least = value < least ? value : least;
        }
        for (u32 step = WARP / 2; step > 0; step /= 2) {
            u32 other = __shfl_xor_sync(ALL_LANES, least, step);
            least = other < least ? other : least;
        }
        if (lane() == 0) bins[bin] = round << 32 | least;
        __syncwarp();
    }
}

// The signature of a text, n_values words to `out`; false if it has no shingles: then libcudf's is all 0, and the others'
// is not written.
static __device__ __noinline__ bool minhash_signature(Text text, const u8* tables, Text shingle, Text normalize, Text hash,
                                                          u64 seed, u32 n_values, u64* out, u8* scratch) {
    Shingles shingles;
    u32 family = hash_option(hash);
    scratch = cut_shingles(shingles, text, shingle, normalize, scratch, tables);
    if (shingles.n_shingles == 0) {
        for (u32 i = lane(); family == HASH_NEMO && i < n_values; i += WARP) out[i] = 0;
        return false;
    }
    if (family == HASH_NATIVE) {
        shingle_hashes(shingles, (u64*)scratch);
        native_signature((u64*)scratch, shingles.n_shingles, n_values, seed, out);
        return true;
    }
    u64* pairs = (u64*)scratch;
    u8* rest = after(scratch, 16 * (u64)n_values);
    draw_pairs(pairs, n_values, (u32)seed, family == HASH_NEMO, (u32*)rest);
    if (family == HASH_NEMO) {
        Nemo nemo = {(u32)pairs[0]};
        permuted_signature(shingles, nemo, pairs, n_values, out, rest);
    } else {
        permuted_signature(shingles, Datatrove(), pairs, n_values, out, rest);
    }
    return true;
}
