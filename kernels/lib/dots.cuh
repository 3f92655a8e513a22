// Products of many vectors with many, with the bits of src/dedup/semantic/dots.rs: a product is summed in eight lanes over
// the whole length, and the lanes are added in one order. Products and sums are rounded one by one.
//
// A block of 128 threads takes 32 rows and compares them with the others, 32 at a time; a thread has four rows and two of
// the others, so that a number from shared memory is used in two to four products.
#include "lib/abi.cuh"

static const u32 DOT_ROWS = 32, DOT_OTHERS = 32, DOT_DEPTH = 32;
static const u32 ROWS_A_THREAD = 4, OTHERS_A_THREAD = 2;
static const u32 SUM_LANES = 8;

// What is compared with what, written by src/gpu/vectors.rs. Rows have `stride` numbers, a multiple of eight.
struct Comparison {
    const float* rows;
    const float* others;
    const float* squares;
    u32* best;
    float* values;
    u64 n_rows;
    u64 n_others;
    u64 stride;
    // The places of the first row and the first of the others in a ranking.
    u64 first_row;
    u64 first_other;
    u64 all;
};

struct DotTile {
    // One number more than is needed, so that a column lies in different banks.
    float rows[DOT_ROWS][DOT_DEPTH + 1];
    float others[DOT_OTHERS][DOT_DEPTH + 1];
};

// A thread's rows are thread_row() + 8 · i, its others thread_other() + 16 · j.
DEVICE u32 thread_row() { return threadIdx.x / 16; }
DEVICE u32 thread_other() { return threadIdx.x % 16; }

DEVICE void load_tile(float (*to)[DOT_DEPTH + 1], const float* from, u64 n_rows, u64 stride, u64 depth) {
    for (u32 i = threadIdx.x; i < DOT_ROWS * DOT_DEPTH; i += blockDim.x) {
        u32 row = i / DOT_DEPTH, place = i % DOT_DEPTH;
        bool inside = row < n_rows && depth + place < stride;
        to[row][place] = inside ? from[row * stride + depth + place] : 0.0f;
    }
}

DEVICE float add_lanes(const float (&l)[SUM_LANES]) {
    float even = __fadd_rn(__fadd_rn(l[0], l[4]), __fadd_rn(l[2], l[6]));
    float odd = __fadd_rn(__fadd_rn(l[1], l[5]), __fadd_rn(l[3], l[7]));
    return __fadd_rn(even, odd);
}

// The products of a thread's rows and others, all threads of the block together. Zeros beyond the end change no sum.
DEVICE void tile_products(DotTile& tile, const float* rows, u64 n_rows, const float* others, u64 n_others, u64 stride,
                          float (&products)[ROWS_A_THREAD][OTHERS_A_THREAD]) {
    float sums[ROWS_A_THREAD][OTHERS_A_THREAD][SUM_LANES] = {};
    for (u64 depth = 0; depth < stride; depth += DOT_DEPTH) {
        __syncthreads();
        load_tile(tile.rows, rows, n_rows, stride, depth);
        load_tile(tile.others, others, n_others, stride, depth);
        __syncthreads();
        for (u32 first = 0; first < DOT_DEPTH; first += SUM_LANES) {
#pragma unroll
            for (u32 k = 0; k < SUM_LANES; k++) {
#pragma unroll
                for (u32 i = 0; i < ROWS_A_THREAD; i++) {
#pragma unroll
                    for (u32 j = 0; j < OTHERS_A_THREAD; j++) {
                        float a = tile.rows[thread_row() + 8 * i][first + k];
                        float b = tile.others[thread_other() + 16 * j][first + k];
                        sums[i][j][k] = __fadd_rn(sums[i][j][k], __fmul_rn(a, b));
                    }
                }
            }
        }
    }
#pragma unroll
    for (u32 i = 0; i < ROWS_A_THREAD; i++) {
#pragma unroll
        for (u32 j = 0; j < OTHERS_A_THREAD; j++) products[i][j] = add_lanes(sums[i][j]);
    }
}
