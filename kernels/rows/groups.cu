// Adds each row that passes to the group of its keys, a thread each.
#include "lib/groups.cuh"

DEVICE bool same_keys(const Grouping* launch, u64 row, u64 other) {
    for (u64 key = 0; key < launch->n_keys; key++) {
        u64 described = launch->described[key];
        bool there = is_there(launch, described, row);
        if (there != is_there(launch, described, other)) return false;
        if (there && bits_of(launch, described, row) != bits_of(launch, described, other)) return false;
    }
    return true;
}

DEVICE u64 hash_of_keys(const Grouping* launch, u64 row) {
    u64 hash = 0;
    for (u64 key = 0; key < launch->n_keys; key++) {
        u64 described = launch->described[key];
        // Keys may be numbers in a row, so they are spread.
        hash ^= is_there(launch, described, row) ? bits_of(launch, described, row) : 0x5bf03635ull;
        hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
    }
    return hash ^ hash >> 29;
}

extern "C" __global__ void __launch_bounds__(128) run_groups(const Grouping* launch) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= launch->n_rows || (launch->failed && launch->failed[row] >= 0)) return;
    u64 place = __umul64hi(hash_of_keys(launch, row), launch->n_slots);
    u64* slot = 0;
    for (u64 tried = 0; tried < launch->n_slots; tried++) {
        u64* here = launch->slots + place * launch->slot_words;
        // A slot belongs to the row that came first; others compare with that row, whose results are all written.
        u64 owner = atomicCAS(here, NO_ROW, row);
        if (owner == NO_ROW || same_keys(launch, row, owner)) {
            slot = here;
            for (u64 key = 0; owner == NO_ROW && key < launch->n_keys; key++) {
                slot[2 + 2 * key] = is_there(launch, launch->described[key], row);
                if (slot[2 + 2 * key]) slot[3 + 2 * key] = bits_of(launch, launch->described[key], row);
            }
            break;
        }
        place = place + 1 == launch->n_slots ? 0 : place + 1;
    }
    if (!slot) {
        atomicOr(launch->is_full, 1ull);
        return;
    }
    atomicAdd(slot + 1, 1ull);
    for (u64 fold = 0; fold < launch->n_folds; fold++) {
        u64 described = launch->described[launch->n_keys + fold];
        if (!is_there(launch, described, row)) continue;
        u64* folded = slot + 2 + 2 * launch->n_keys + 4 * fold;
        u64 bits = bits_of(launch, described, row);
        atomicAdd(folded, 1ull);
        if (described & ADDS) atomicAdd(folded + 1, bits);
        if (described & ORDERS) {
            atomicMin((i64*)folded + 2, (i64)bits);
            atomicMax((i64*)folded + 3, (i64)bits);
        }
    }
}
