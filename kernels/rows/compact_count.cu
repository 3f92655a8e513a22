// How many rows and bytes each block keeps.
#include "lib/compact.cuh"

extern "C" __global__ void __launch_bounds__(128) run_compact_count(const Compaction* launch) {
    Kept sum = {0, 0}, total;
    for (u32 i = threadIdx.x; i < ROWS_OF_BLOCK; i += THREADS_OF_BLOCK) {
        sum = add(sum, kept_of(launch, (u64)blockIdx.x * ROWS_OF_BLOCK + i));
    }
    block_running_sum(sum, total);
    if (threadIdx.x == 0) {
        launch->block_rows[blockIdx.x] = total.rows;
        launch->block_bytes[blockIdx.x] = total.bytes;
    }
}
