// XXH64 with seed 0 (Yann Collet), the hash of datatrove's shingles: `Datatrove::hash` in src/ops/dedup/signature/datatrove.rs.
#include "lib/bytes.cuh"
#include "lib/xxh3.cuh"

DEVICE u64 xxh64_round(u64 sum, u64 word) { return rotate_left64(sum + word * XXH_P2, 31) * XXH_P1; }

// The hash of `n_bytes` bytes, by one lane. What lies before `end` may be read.
static __device__ __noinline__ u64 xxh64(const u8* bytes, u32 n_bytes, const u8* end) {
    u64 hash = XXH_P5;
    u32 at = 0;
    if (n_bytes >= 32) {
        u64 a = XXH_P1 + XXH_P2, b = XXH_P2, c = 0, d = 0 - XXH_P1;
        for (; at + 32 <= n_bytes; at += 32) {
            a = xxh64_round(a, bytes_u64(bytes + at, end));
            b = xxh64_round(b, bytes_u64(bytes + at + 8, end));
            c = xxh64_round(c, bytes_u64(bytes + at + 16, end));
            d = xxh64_round(d, bytes_u64(bytes + at + 24, end));
        }
        hash = rotate_left64(a, 1) + rotate_left64(b, 7) + rotate_left64(c, 12) + rotate_left64(d, 18);
        hash = (hash ^ xxh64_round(0, a)) * XXH_P1 + XXH_P4;
        hash = (hash ^ xxh64_round(0, b)) * XXH_P1 + XXH_P4;
        hash = (hash ^ xxh64_round(0, c)) * XXH_P1 + XXH_P4;
        hash = (hash ^ xxh64_round(0, d)) * XXH_P1 + XXH_P4;
    }
    hash += n_bytes;
    for (; at + 8 <= n_bytes; at += 8) {
        hash = rotate_left64(hash ^ xxh64_round(0, bytes_u64(bytes + at, end)), 27) * XXH_P1 + XXH_P4;
    }
    for (; at + 4 <= n_bytes; at += 4) {
        hash = rotate_left64(hash ^ bytes_u32(bytes + at, end) * XXH_P1, 23) * XXH_P2 + XXH_P3;
    }
    for (; at < n_bytes; at++) hash = rotate_left64(hash ^ bytes[at] * XXH_P5, 11) * XXH_P1;
    return xxh64_avalanche(hash);
}
