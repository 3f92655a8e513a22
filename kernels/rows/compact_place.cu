// Where the rows and bytes of each block begin, by one block.
#include "lib/compact.cuh"

extern "C" __global__ void __launch_bounds__(128) run_compact_place(const Compaction* launch) {
    Kept start = {0, 0};
    for (u64 tile = 0; tile < launch->n_blocks; tile += THREADS_OF_BLOCK) {
        u64 block = tile + threadIdx.x;
        bool inside = block < launch->n_blocks;
        Kept own = {0, 0}, total;
        if (inside) {
            own.rows = launch->block_rows[block];
            own.bytes = launch->block_bytes[block];
        }
        Kept before = add(start, block_running_sum(own, total));
        if (inside) {
            launch->block_rows[block] = before.rows;
            launch->block_bytes[block] = before.bytes;
        }
        start = add(start, total);
    }
    if (threadIdx.x == 0) {
        launch->block_rows[launch->n_blocks] = start.rows;
        launch->block_bytes[launch->n_blocks] = start.bytes;
        launch->kept_offsets[start.rows] = (u32)start.bytes;
    }
}
