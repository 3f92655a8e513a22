// For each vector the nearest of some centres, and the product with it: `Centres::assign` in src/dedup/semantic/kmeans.rs.
//
// Nearest is by 1 − 2·product + the centre's square, the first of equals; all in single precision, as on the CPU.
#include "lib/dots.cuh"

extern "C" __global__ void __launch_bounds__(128) run_nearest(const Comparison* launch) {
    __shared__ DotTile tile;
    u64 first = (u64)blockIdx.x * DOT_ROWS;
    u64 n_rows = launch->n_rows - first < DOT_ROWS ? launch->n_rows - first : DOT_ROWS;
    const float* rows = launch->rows + first * launch->stride;
    float distance[ROWS_A_THREAD], product[ROWS_A_THREAD];
    u32 centre[ROWS_A_THREAD];
    for (u32 i = 0; i < ROWS_A_THREAD; i++) {
        distance[i] = __int_as_float(0x7f800000);  // infinity
        product[i] = 0.0f;
        centre[i] = 0;
    }
    for (u64 other = 0; other < launch->n_others; other += DOT_OTHERS) {
        u64 n_others = launch->n_others - other < DOT_OTHERS ? launch->n_others - other : DOT_OTHERS;
        float products[ROWS_A_THREAD][OTHERS_A_THREAD];
        tile_products(tile, rows, n_rows, launch->others + other * launch->stride, n_others, launch->stride, products);
#pragma unroll
        for (u32 j = 0; j < OTHERS_A_THREAD; j++) {
            u32 place = thread_other() + 16 * j;
            if (place >= n_others) continue;
            float square = launch->squares[other + place];
#pragma unroll
            for (u32 i = 0; i < ROWS_A_THREAD; i++) {
                float away = __fadd_rn(__fadd_rn(1.0f, -__fmul_rn(2.0f, products[i][j])), square);
                if (away < distance[i]) {
                    distance[i] = away;
                    product[i] = products[i][j];
                    centre[i] = (u32)other + place;
                }
            }
        }
    }
    // Sixteen threads have the same rows.
#pragma unroll
    for (u32 i = 0; i < ROWS_A_THREAD; i++) {
        for (u32 step = 8; step > 0; step /= 2) {
            float other_distance = __shfl_xor_sync(ALL_LANES, distance[i], step);
            float other_product = __shfl_xor_sync(ALL_LANES, product[i], step);
            u32 other_centre = __shfl_xor_sync(ALL_LANES, centre[i], step);
            if (other_distance < distance[i] || (other_distance == distance[i] && other_centre < centre[i])) {
                distance[i] = other_distance;
                product[i] = other_product;
                centre[i] = other_centre;
            }
        }
        u32 row = thread_row() + 8 * i;
        if (thread_other() == 0 && row < n_rows) {
            launch->best[first + row] = centre[i];
            launch->values[first + row] = product[i];
        }
    }
}
