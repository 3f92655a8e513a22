// The numbers of the rows that are kept, and where their texts go.
#include "lib/compact.cuh"

extern "C" __global__ void __launch_bounds__(128) run_compact_write(const Compaction* launch) {
    Kept start = {launch->block_rows[blockIdx.x], launch->block_bytes[blockIdx.x]};
    for (u32 tile = 0; tile < ROWS_OF_BLOCK; tile += THREADS_OF_BLOCK) {
        u64 row = (u64)blockIdx.x * ROWS_OF_BLOCK + tile + threadIdx.x;
        Kept own = kept_of(launch, row), total;
        Kept before = add(start, block_running_sum(own, total));
        if (own.rows == 1) {
            launch->kept_rows[before.rows] = (u32)row;
            launch->kept_offsets[before.rows] = (u32)before.bytes;
        }
        start = add(start, total);
    }
}
