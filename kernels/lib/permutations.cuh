// The constants of others' permutations, drawn as numpy's `RandomState` does: src/ops/dedup/signature/permutations.rs.
//
// Each warp draws its own into scratch memory: a few thousand instructions, beside the hundreds of each shingle.
#include "lib/abi.cuh"

static const u32 TWISTER_WORDS = 624;
static const u64 MERSENNE_61 = (1ull << 61) - 1;
static const u64 MERSENNE_31 = (1ull << 31) - 1;

DEVICE void twister_seed(u32* state, u32 seed) {
    if (lane() == 0) {
        u32 last = seed;
        state[0] = seed;
        for (u32 i = 1; i < TWISTER_WORDS; i++) {
            last = (last ^ last >> 30) * 1812433253u + i;
            state[i] = last;
        }
    }
    __syncwarp();
}

// A word depends on itself, the next and the one 397 on, so 32 in a row do not depend on each other's new values.
DEVICE void twister_turn(u32* state) {
    for (u32 tile = 0; tile < TWISTER_WORDS; tile += WARP) {
        u32 i = tile + lane();
        u32 word = 0;
        if (i < TWISTER_WORDS) {
            u32 next = i + 1 == TWISTER_WORDS ? 0 : i + 1;
            u32 far = i + 397 >= TWISTER_WORDS ? i + 397 - TWISTER_WORDS : i + 397;
            u32 joined = (state[i] & 0x80000000u) | (state[next] & 0x7fffffffu);
            word = state[far] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
        }
        __syncwarp();
        if (i < TWISTER_WORDS) state[i] = word;
        __syncwarp();
    }
}

DEVICE u32 twister_word(const u32* state, u32 i) {
    u32 y = state[i];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

// The least number that draw `i` may give: each first factor is from 1, each second from 0.
DEVICE u32 least_drawn(u32 i, u32 n_pairs, bool in_turn) { return in_turn ? i % 2 == 0 : i < n_pairs; }

// Draws n_pairs pairs (a, b), to pairs[2 · i] and pairs[2 · i + 1]. NeMo draws a and b in turn, below 2³¹ − 1; datatrove
// all a first, below 2⁶¹ − 1. A draw that is too large is drawn again, which hardly ever happens.
static __device__ __noinline__ void draw_pairs(u64* pairs, u32 n_pairs, u32 seed, bool in_turn, u32* state) {
    u64 prime = in_turn ? MERSENNE_31 : MERSENNE_61;
    // Both greatest numbers have as many bits as the prime.
    u32 n_words = in_turn ? 1 : 2;
    twister_seed(state, seed);
    u32 used = TWISTER_WORDS;
    for (u32 n_drawn = 0; n_drawn < 2 * n_pairs;) {
        if (used == TWISTER_WORDS) {
            twister_turn(state);
            used = 0;
        }
        u32 n_draws = (TWISTER_WORDS - used) / n_words < WARP ? (TWISTER_WORDS - used) / n_words : WARP;
        u64 value = 0;
        if (lane() < n_draws) {
            u32 first = used + n_words * lane();
            value = twister_word(state, first);
            if (n_words == 2) value = value << 32 | twister_word(state, first + 1);
            value &= prime;
        }
        used += n_words * n_draws;
        // If none is refused, a lane's draw has the number that it seems to have.
        u32 mine = n_drawn + lane();
        bool wanted = lane() < n_draws && mine < 2 * n_pairs;
        bool refused = wanted && value + least_drawn(mine, n_pairs, in_turn) >= prime;
        bool all_taken = !__any_sync(ALL_LANES, refused);
        for (u32 i = 0; i < (all_taken ? 1 : n_draws); i++) {
            u64 drawn = all_taken ? value : __shfl_sync(ALL_LANES, value, i);
            u32 number = all_taken ? mine : n_drawn;
            u32 least = least_drawn(number, n_pairs, in_turn);
            bool taken = all_taken ? wanted : number < 2 * n_pairs && drawn + least < prime;
            u32 place = in_turn ? number : number < n_pairs ? 2 * number : 2 * (number - n_pairs) + 1;
            if (taken && (all_taken || lane() == 0)) pairs[place] = drawn + least;
            n_drawn += all_taken ? n_draws : taken;
        }
        __syncwarp();
    }
}
