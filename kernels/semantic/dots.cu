// For each row of a cluster the most similar of the rows ranked before it, or of all but itself, the first of equals:
// `best_of` in src/dedup/semantic/nearest.rs. Goes on from what was found among others ranked before these.
#include "lib/dots.cuh"

static const u32 NO_ROW = 0xffffffffu;

// Similarities this close to 1 are 1: what rounding takes from equal vectors.
DEVICE float settled(float similarity) { return similarity > 1.0f - 1e-6f ? 1.0f : similarity; }

extern "C" __global__ void __launch_bounds__(128) run_dots(const Comparison* launch) {
    __shared__ DotTile tile;
    u64 first = (u64)blockIdx.x * DOT_ROWS;
    u64 n_rows = launch->n_rows - first < DOT_ROWS ? launch->n_rows - first : DOT_ROWS;
    const float* rows = launch->rows + first * launch->stride;
    // Of these rows, the last is compared with the most.
    u64 end = launch->n_others;
    if (!launch->all) {
        u64 last = launch->first_row + first + n_rows - 1;
        u64 n_before = last < launch->first_other ? 0 : last - launch->first_other;
        end = n_before < end ? n_before : end;
    }
    float similarity[ROWS_A_THREAD];
    u32 best[ROWS_A_THREAD];
    for (u32 i = 0; i < ROWS_A_THREAD; i++) {
        u32 row = thread_row() + 8 * i;
        bool inside = row < n_rows;
        best[i] = inside ? launch->best[first + row] : NO_ROW;
        similarity[i] = inside ? launch->values[first + row] : 0.0f;
    }
    for (u64 other = 0; other < end; other += DOT_OTHERS) {
        u64 n_others = launch->n_others - other < DOT_OTHERS ? launch->n_others - other : DOT_OTHERS;
        float products[ROWS_A_THREAD][OTHERS_A_THREAD];
        tile_products(tile, rows, n_rows, launch->others + other * launch->stride, n_others, launch->stride, products);
#pragma unroll
        for (u32 j = 0; j < OTHERS_A_THREAD; j++) {
            u32 at = thread_other() + 16 * j;
            u64 place = launch->first_other + other + at;
#pragma unroll
            for (u32 i = 0; i < ROWS_A_THREAD; i++) {
                u64 own = launch->first_row + first + thread_row() + 8 * i;
                bool counts = at < n_others && (launch->all ? place != own : place < own);
                float found = settled(products[i][j]);
                if (counts && (best[i] == NO_ROW || found > similarity[i])) {
                    best[i] = (u32)place;
                    similarity[i] = found;
                }
            }
        }
    }
    __syncthreads();
    // Sixteen threads have the same rows; NO_ROW is after every place.
#pragma unroll
    for (u32 i = 0; i < ROWS_A_THREAD; i++) {
        for (u32 step = 8; step > 0; step /= 2) {
            float other_similarity = __shfl_xor_sync(ALL_LANES, similarity[i], step);
            u32 other = __shfl_xor_sync(ALL_LANES, best[i], step);
            bool is_more = best[i] == NO_ROW || other_similarity > similarity[i];
            bool is_first = other_similarity == similarity[i] && other < best[i];
            if (other != NO_ROW && (is_more || is_first)) {
                best[i] = other;
                similarity[i] = other_similarity;
            }
        }
        u32 row = thread_row() + 8 * i;
        if (thread_other() == 0 && row < n_rows) {
            launch->best[first + row] = best[i];
            launch->values[first + row] = similarity[i];
        }
    }
}
