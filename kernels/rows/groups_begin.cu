// Empties the table that rows are put together in.
#include "lib/groups.cuh"

extern "C" __global__ void __launch_bounds__(128) run_groups_begin(const Grouping* launch) {
    u64 place = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (place == 0) *launch->is_full = 0;
    if (place >= launch->n_slots) return;
    u64* slot = launch->slots + place * launch->slot_words;
    slot[0] = NO_ROW;
    for (u64 word = 1; word < 2 + 2 * launch->n_keys; word++) slot[word] = 0;
    for (u64* fold = slot + 2 + 2 * launch->n_keys; fold < slot + launch->slot_words; fold += 4) {
        fold[0] = fold[1] = 0;
        fold[2] = 0x7fffffffffffffffull;
        fold[3] = 0x8000000000000000ull;
    }
}
