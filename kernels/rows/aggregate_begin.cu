// Empties the table that rows are aggregated in.
#include "lib/aggregate.cuh"

extern "C" __global__ void __launch_bounds__(128) run_aggregate_begin(const Aggregation* launch) {
    u64 slot = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slot > launch->n_slots) return;
    launch->slots[slot].key = NO_KEY;
    launch->slots[slot].count = 0;
    launch->slots[slot].sum = 0;
    launch->slots[slot].least = 0x7fffffffffffffffll;
    launch->slots[slot].greatest = (i64)0x8000000000000000ull;
}
