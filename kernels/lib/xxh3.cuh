// XXH3 (Yann Collet), 64 and 128 bits: the hashes of xxhash-rust.
//
// Up to 240 bytes one lane hashes by itself, so that lanes may have different texts. Longer texts are hashed by the
// whole warp: within a block of 1024 bytes the sums do not depend on order, so each lane adds up a quarter of one of the
// eight columns.
#include "lib/bytes.cuh"

static const u64 XXH_P1 = 0x9e3779b185ebca87ull;
static const u64 XXH_P2 = 0xc2b2ae3d27d4eb4full;
static const u64 XXH_P3 = 0x165667b19e3779f9ull;
static const u64 XXH_P4 = 0x85ebca77c2b2ae63ull;
static const u64 XXH_P5 = 0x27d4eb2f165667c5ull;
static const u32 XXH32_P1 = 0x9e3779b1u;
static const u32 XXH32_P2 = 0x85ebca77u;
static const u64 XXH3_MIX = 0x9fb21c651e98df25ull;
static const u32 XXH3_ALONE = 240;

static __device__ const u64 XXH3_SECRET[24] = {
    0xbe4ba423396cfeb8ull, 0x1cad21f72c81017cull, 0xdb979083e96dd4deull, 0x1f67b3b7a4a44072ull,
    0x78e5c0cc4ee679cbull, 0x2172ffcc7dd05a82ull, 0x8e2443f7744608b8ull, 0x4c263a81e69035e0ull,
    0xcb00c391bb52283cull, 0xa32e531b8b65d088ull, 0x4ef90da297486471ull, 0xd8acdea946ef1938ull,
    0x3f349ce33f76faa8ull, 0x1d4f0bc7c7bbdcf9ull, 0x3159b4cd4be0518aull, 0x647378d9c97e9fc8ull,
    0xc3ebd33483acc5eaull, 0xeb6313faffa081c5ull, 0x49daf0b751dd0d17ull, 0x9e68d429265516d3ull,
    0xfca1477d58be162bull, 0xce31d07ad1b8f88full, 0x280416958f3acb45ull, 0x7e404bbbcafbd7afull,
};
static __device__ const u64 XXH3_START[8] = {
    0xc2b2ae3dull, XXH_P1, XXH_P2, XXH_P3, XXH_P4, XXH32_P2, XXH_P5, XXH32_P1,
};

// A word of the secret that belongs to a seed, at any byte.
DEVICE u64 xxh3_secret_word(u32 word, u64 seed) { return XXH3_SECRET[word] + (word % 2 == 0 ? seed : 0 - seed); }

DEVICE u64 xxh3_secret(u32 place, u64 seed) {
    u32 shift = place % 8 * 8;
    u64 low = xxh3_secret_word(place / 8, seed);
    return shift == 0 ? low : low >> shift | xxh3_secret_word(place / 8 + 1, seed) << (64 - shift);
}

// The factor differs from XXH64's third prime in one digit.
DEVICE u64 xxh3_avalanche(u64 hash) {
    hash = (hash ^ hash >> 37) * 0x165667919e3779f9ull;
    return hash ^ hash >> 32;
}

DEVICE u64 xxh64_avalanche(u64 hash) {
    hash = (hash ^ hash >> 33) * XXH_P2;
    hash = (hash ^ hash >> 29) * XXH_P3;
    return hash ^ hash >> 32;
}

// One to three bytes and their number, in one word.
DEVICE u32 xxh3_few(const u8* bytes, u32 n_bytes) {
    return (u32)bytes[0] << 16 | (u32)bytes[n_bytes / 2] << 24 | bytes[n_bytes - 1] | n_bytes << 8;
}

DEVICE u64 xxh3_mix(u64 low, u64 high, u32 secret, u64 seed) {
    return fold_product(low ^ (xxh3_secret(secret, 0) + seed), high ^ (xxh3_secret(secret + 8, 0) - seed));
}

// The 64-bit hash of at most XXH3_ALONE bytes, by one lane.
static __device__ __noinline__ u64 xxh3_64_alone(const u8* bytes, u32 n_bytes, u64 seed) {
    const u8* end = bytes + n_bytes;
    if (n_bytes == 0) return xxh64_avalanche(seed ^ XXH3_SECRET[7] ^ XXH3_SECRET[8]);
    if (n_bytes < 4) {
        u64 flip = (u64)((u32)XXH3_SECRET[0] ^ (u32)(XXH3_SECRET[0] >> 32)) + seed;
        return xxh64_avalanche(xxh3_few(bytes, n_bytes) ^ flip);
    }
    if (n_bytes <= 8) {
        seed ^= (u64)__byte_perm((u32)seed, 0, 0x0123) << 32;
        u64 input = bytes_u32(end - 4, end) + ((u64)bytes_u32(bytes, end) << 32);
        u64 hash = input ^ ((XXH3_SECRET[1] ^ XXH3_SECRET[2]) - seed);
        hash ^= rotate_left64(hash, 49) ^ rotate_left64(hash, 24);
        hash *= XXH3_MIX;
        hash ^= (hash >> 35) + n_bytes;
        hash *= XXH3_MIX;
        return hash ^ hash >> 28;
    }
    if (n_bytes <= 16) {
        u64 low = bytes_u64(bytes, end) ^ ((XXH3_SECRET[3] ^ XXH3_SECRET[4]) + seed);
        u64 high = bytes_u64(end - 8, end) ^ ((XXH3_SECRET[5] ^ XXH3_SECRET[6]) - seed);
        return xxh3_avalanche(n_bytes + swap_bytes64(low) + high + fold_product(low, high));
    }
    // Pairs of words: up to 128 bytes from both ends towards the middle, else in order and the last again.
    u64 hash = n_bytes * XXH_P1;
    u32 n_pairs = n_bytes <= 128 ? 2 * ((n_bytes - 1) / 32 + 1) : n_bytes / 16 + 1;
    for (u32 i = 0; i < n_pairs; i++) {
        u32 place = 16 * i, secret = 16 * i;
        if (n_bytes <= 128) {
            place = i % 2 == 0 ? 8 * i : n_bytes - 8 * (i + 1);
        } else if (i + 1 == n_pairs) {
            place = n_bytes - 16;
            secret = 119;
        } else if (i >= 8) {
            secret = 16 * (i - 8) + 3;
        }
        if (i == 8 && n_bytes > 128) hash = xxh3_avalanche(hash);
        hash += xxh3_mix(bytes_u64(bytes + place, end), bytes_u64(bytes + place + 8, end), secret, seed);
    }
    return xxh3_avalanche(hash);
}

// The sums of more than XXH3_ALONE bytes, by the warp: each lane gets that of column lane % 8.
static __device__ __noinline__ u64 xxh3_sums(const u8* bytes, u32 n_bytes, u64 seed) {
    const u8* end = bytes + n_bytes;
    u32 column = lane() % 8, quarter = lane() / 8;
    u64 sum = XXH3_START[column];
    u32 n_blocks = (n_bytes - 1) / 1024;
    for (u32 block = 0; block <= n_blocks; block++) {
        u32 n_stripes = block < n_blocks ? 16 : (n_bytes - 1) % 1024 / 64;
        u64 products = 0, values = 0;
        for (u32 stripe = quarter; stripe < n_stripes; stripe += 4) {
            u64 value = bytes_u64(bytes + 1024 * block + 64 * stripe + 8 * column, end);
            u64 key = value ^ xxh3_secret_word(column + stripe, seed);
            products += (key & 0xffffffff) * (key >> 32);
            values += value;
        }
        products += __shfl_xor_sync(ALL_LANES, values, 1);
        products += __shfl_xor_sync(ALL_LANES, products, 8);
        products += __shfl_xor_sync(ALL_LANES, products, 16);
        sum += products;
        if (block < n_blocks) sum = (sum ^ sum >> 47 ^ xxh3_secret_word(16 + column, seed)) * XXH32_P1;
    }
    u64 value = bytes_u64(end - 64 + 8 * column, end);
    u64 key = value ^ xxh3_secret(121 + 8 * column, seed);
    return sum + (key & 0xffffffff) * (key >> 32) + __shfl_xor_sync(ALL_LANES, value, 1);
}

DEVICE u64 xxh3_merge(u64 sum, u32 secret, u64 seed, u64 start) {
    u64 keyed = sum ^ xxh3_secret(secret + 8 * (lane() % 8), seed);
    u64 mixed = fold_product(keyed, __shfl_xor_sync(ALL_LANES, keyed, 1));
    mixed += __shfl_xor_sync(ALL_LANES, mixed, 2);
    mixed += __shfl_xor_sync(ALL_LANES, mixed, 4);
    return xxh3_avalanche(start + mixed);
}

// The 64-bit hash of more than XXH3_ALONE bytes, by the warp.
DEVICE u64 xxh3_64_together(const u8* bytes, u32 n_bytes, u64 seed) {
    return xxh3_merge(xxh3_sums(bytes, n_bytes, seed), 11, seed, n_bytes * XXH_P1);
}

struct Hash128 {
    u64 high;
    u64 low;
};

DEVICE void xxh3_mix32(Hash128& hash, const u8* one, const u8* other, const u8* end, u32 secret) {
    u64 a = bytes_u64(one, end), b = bytes_u64(one + 8, end), c = bytes_u64(other, end), d = bytes_u64(other + 8, end);
    hash.low = hash.low + xxh3_mix(a, b, secret, 0) ^ (c + d);
    hash.high = hash.high + xxh3_mix(c, d, secret + 16, 0) ^ (a + b);
}

DEVICE Hash128 xxh3_128_finish(Hash128 hash, u32 n_bytes) {
    u64 high = hash.low * XXH_P1 + hash.high * XXH_P4 + n_bytes * XXH_P2;
    Hash128 finished = {0 - xxh3_avalanche(high), xxh3_avalanche(hash.low + hash.high)};
    return finished;
}

// The 128-bit hash, seed 0, by the warp.
DEVICE Hash128 xxh3_128(const u8* bytes, u32 n_bytes) {
    const u8* end = bytes + n_bytes;
    Hash128 hash = {0, n_bytes * XXH_P1};
    if (n_bytes == 0) {
        hash.low = xxh64_avalanche(XXH3_SECRET[8] ^ XXH3_SECRET[9]);
        hash.high = xxh64_avalanche(XXH3_SECRET[10] ^ XXH3_SECRET[11]);
    } else if (n_bytes < 4) {
        u32 low = xxh3_few(bytes, n_bytes);
        u32 turned = __byte_perm(low, 0, 0x0123);
        u32 high = turned << 13 | turned >> 19;
        hash.low = xxh64_avalanche(low ^ ((u32)XXH3_SECRET[0] ^ (u32)(XXH3_SECRET[0] >> 32)));
        hash.high = xxh64_avalanche(high ^ ((u32)XXH3_SECRET[1] ^ (u32)(XXH3_SECRET[1] >> 32)));
    } else if (n_bytes <= 8) {
        u64 keyed = bytes_u32(bytes, end) + ((u64)bytes_u32(end - 4, end) << 32) ^ XXH3_SECRET[2] ^ XXH3_SECRET[3];
        u64 factor = XXH_P1 + (n_bytes << 2);
        u64 low = keyed * factor;
        u64 high = __umul64hi(keyed, factor) + (low << 1);
        low ^= high >> 3;
        low = (low ^ low >> 35) * XXH3_MIX;
        hash.low = low ^ low >> 28;
        hash.high = xxh3_avalanche(high);
    } else if (n_bytes <= 16) {
        u64 first = bytes_u64(bytes, end), last = bytes_u64(end - 8, end);
        u64 keyed = first ^ last ^ XXH3_SECRET[4] ^ XXH3_SECRET[5];
        u64 low = keyed * XXH_P1 + ((u64)(n_bytes - 1) << 54);
        last ^= XXH3_SECRET[6] ^ XXH3_SECRET[7];
        u64 high = __umul64hi(keyed, XXH_P1) + last + (last & 0xffffffff) * (XXH32_P2 - 1);
        low ^= swap_bytes64(high);
        hash.low = xxh3_avalanche(low * XXH_P2);
        hash.high = xxh3_avalanche(__umul64hi(low, XXH_P2) + high * XXH_P2);
    } else if (n_bytes <= XXH3_ALONE) {
        // Up to 128 bytes from the middle towards both ends, else in order and the last again.
        bool few = n_bytes <= 128;
        u32 n_rounds = few ? (n_bytes - 1) / 32 + 1 : n_bytes / 32 + 1;
        for (u32 i = 0; i < n_rounds; i++) {
            u32 one = 32 * i, other = 32 * i + 16, secret = i < 4 ? 32 * i : 32 * (i - 4) + 3;
            if (few) {
                one = 16 * (n_rounds - 1 - i);
                other = n_bytes - one - 16;
                secret = 2 * one;
            } else if (i + 1 == n_rounds) {
                one = n_bytes - 16;
                other = n_bytes - 32;
                secret = 103;
            }
            if (i == 4) {
                hash.low = xxh3_avalanche(hash.low);
                hash.high = xxh3_avalanche(hash.high);
            }
            xxh3_mix32(hash, bytes + one, bytes + other, end, secret);
        }
        hash = xxh3_128_finish(hash, n_bytes);
    } else {
        u64 sum = xxh3_sums(bytes, n_bytes, 0);
        hash.low = xxh3_merge(sum, 11, 0, n_bytes * XXH_P1);
        hash.high = xxh3_merge(sum, 117, 0, ~(n_bytes * XXH_P2));
    }
    return hash;
}
