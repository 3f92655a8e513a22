// The rows that pass all rules, put together: their numbers, and their texts one after the other, in order.
//
// Three kernels, each over blocks of 1024 rows: the first counts what each block keeps, the second, one block, says where
// each block's part begins, the third writes. A fourth copies the texts, a warp each.
#include "lib/running_sum.cuh"

static const u32 ROWS_OF_BLOCK = 1024, THREADS_OF_BLOCK = 128;

// Written by src/gpu/rows.rs.
struct Compaction {
    u64 n_rows;
    u64 n_blocks;
    // The first rule that a row fails, or -1.
    const i32* failed;
    const u32* offsets;
    const u8* bytes;
    // For each block the rows and bytes that it keeps, later where they begin; after the last, how many there are.
    u64* block_rows;
    u64* block_bytes;
    u32* kept_rows;
    u32* kept_offsets;
    u8* kept_bytes;
};

struct Kept {
    u64 rows;
    u64 bytes;
};

DEVICE Kept add(Kept a, Kept b) {
    Kept sum = {a.rows + b.rows, a.bytes + b.bytes};
    return sum;
}

// What the threads before this one keep, and what all do.
DEVICE Kept block_running_sum(Kept own, Kept& total) {
    __shared__ Kept warps[THREADS_OF_BLOCK / WARP];
    Kept sum = {warp_running_sum64(own.rows), warp_running_sum64(own.bytes)};
    u32 warp = threadIdx.x / WARP;
    if (lane() == WARP - 1) warps[warp] = sum;
    __syncthreads();
    Kept before = {sum.rows - own.rows, sum.bytes - own.bytes};
    total.rows = total.bytes = 0;
    for (u32 i = 0; i < THREADS_OF_BLOCK / WARP; i++) {
        if (i < warp) before = add(before, warps[i]);
        total = add(total, warps[i]);
    }
    __syncthreads();
    return before;
}

// What becomes of a row.
DEVICE Kept kept_of(const Compaction* launch, u64 row) {
    Kept own = {0, 0};
    if (row < launch->n_rows && launch->failed[row] < 0) {
        own.rows = 1;
        own.bytes = launch->offsets[row + 1] - launch->offsets[row];
    }
    return own;
}
