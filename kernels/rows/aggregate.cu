// Adds each row to the group of its key, a thread each.
#include "lib/aggregate.cuh"

extern "C" __global__ void __launch_bounds__(128) run_aggregate(const Aggregation* launch) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= launch->n_rows) return;
    u64 key = launch->keys[row];
    u64 slot = launch->n_slots;
    if (key != NO_KEY) {
        // The keys may be numbers in a row, so they are spread first. There are more slots than keys.
        u64 spread = (key ^ key >> 32) * 0x9e3779b97f4a7c15ull;
        slot = __umul64hi(spread ^ spread >> 29, launch->n_slots);
        for (;;) {
            u64 known = atomicCAS(&launch->slots[slot].key, NO_KEY, key);
            if (known == NO_KEY || known == key) break;
            slot = slot + 1 == launch->n_slots ? 0 : slot + 1;
        }
    }
    i64 value = launch->values[row];
    Group* group = launch->slots + slot;
    atomicAdd(&group->count, 1ull);
    atomicAdd(&group->sum, (u64)value);
    atomicMin(&group->least, value);
    atomicMax(&group->greatest, value);
}
