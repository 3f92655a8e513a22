// Counts, sums, leasts and greatests of whole numbers by key, in a hash table with atomic operations.
//
// Each of them is the same in any order of the rows (sums wrap around), so what a key has does not depend on how threads
// are scheduled; only the slot that it has does.
#include "lib/abi.cuh"

static const u64 NO_KEY = ~0ull;

struct Group {
    u64 key;
    u64 count;
    u64 sum;
    i64 least;
    i64 greatest;
};

// Written by src/gpu/rows.rs. The slot after the last is that of rows whose key is NO_KEY.
struct Aggregation {
    u64 n_rows;
    u64 n_slots;
    const u64* keys;
    const i64* values;
    Group* slots;
};
