// Rows that pass, put together by key: how many they are, and the counts, sums, leasts and greatests of their values.
//
// All of them are the same in any order of the rows (sums wrap around), so what a group has does not depend on how threads
// are scheduled; only its slot does. Floats are folded as whole numbers that are ordered like them. Twin of
// `Grouping::of_rows` in src/gpu/groups.rs.
#include "lib/abi.cuh"

static const u64 NO_ROW = ~0ull;

// What a column of results is, in the words that describe keys and folds: its number in the low half, and flags.
static const u64 IS_BOOL = 1ull << 32, IS_FLOAT = 1ull << 33, ADDS = 1ull << 34, ORDERS = 1ull << 35;

// Written by src/gpu/groups.rs. A slot: the row that took it, rows; for each key whether it is there, and its bits; for
// each fold the values that are there, their sum, the least, the greatest.
struct Grouping {
    u64 n_rows;
    u64 n_slots;
    u64 slot_words;
    u64 n_keys;
    u64 n_folds;
    // The keys, then the folds.
    const u64* described;
    const Output* results;
    // The first rule that a row fails, or -1; a null pointer if there are no rules.
    const i32* failed;
    // Not 0: there are more groups than slots.
    u64* is_full;
    u64* slots;
};

DEVICE bool is_there(const Grouping* launch, u64 described, u64 row) {
    return launch->results[(u32)described].validity[row] != 0;
}

DEVICE u64 bits_of(const Grouping* launch, u64 described, u64 row) {
    const void* values = launch->results[(u32)described].values;
    if (described & IS_BOOL) return ((const u8*)values)[row];
    u64 bits = ((const u64*)values)[row];
    // Negative floats grow with their bits: turned around, all compare like whole numbers.
    return (described & IS_FLOAT) && (i64)bits < 0 ? bits ^ 0x7fffffffffffffffull : bits;
}
