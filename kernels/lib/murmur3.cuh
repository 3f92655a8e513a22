// MurmurHash3_x86_32 (Austin Appleby, public domain): src/ops/dedup/signature/murmur3.rs.
#include "lib/bytes.cuh"

DEVICE u32 murmur3_scramble(u32 block) {
    block *= 0xcc9e2d51u;
    return __funnelshift_l(block, block, 15) * 0x1b873593u;
}

// The hash of `n_bytes` bytes, by one lane. What lies before `end` may be read.
static __device__ __noinline__ u32 murmur3_32(const u8* bytes, u32 n_bytes, const u8* end, u32 seed) {
    u32 hash = seed;
    for (u32 at = 0; at + 4 <= n_bytes; at += 4) {
        hash ^= murmur3_scramble(bytes_u32(bytes + at, end));
        hash = __funnelshift_l(hash, hash, 13) * 5 + 0xe6546b64u;
    }
    u32 last = 0;
    for (u32 at = n_bytes; at > (n_bytes & ~3u); at--) last = last << 8 | bytes[at - 1];
    hash ^= murmur3_scramble(last) ^ n_bytes;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}
