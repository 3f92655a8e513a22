// Tables of pieces of text, built by a whole warp: equal pieces find the same slot, which holds the first of them.
//
// Unlike elsewhere each lane brings a piece of its own; still all lanes call together. A piece of a few bytes is read by
// its lane, a longer one by all lanes one after the other, so that a text without white space does not wait for one.
//
// Invariant: exact. A hash only says where to look, bytes decide; and no result depends on which lane came first.
#include "lib/abi.cuh"

static const u32 FREE_SLOT = 0xffffffffu;
static const u32 LANE_BYTES = 64;
// The base of the polynomial that is the hash of a piece, modulo 2^32: hashes of pieces make the hash of both together.
static const u32 HASH_BASE = 0x01000193u * 0x85ebca6bu;

// Piece i is from bytes[starts[i]] to bytes[ends[i]].
struct Pieces {
    const u8* bytes;
    const u32* starts;
    const u32* ends;
    u32 n;
};

struct Table {
    u32* slots;
    u32 n_slots;
};

// The least slots for n pieces: a fifth stays free.
DEVICE u32 slots_for(u32 n) { return n + n / 4 + 2; }

// A table for n pieces: with two slots for each, or as many as there are.
DEVICE Table clear_table(u32* slots, u32 n, u32 n_slots) {
    Table table = {slots, 2 * n + 2 < n_slots ? 2 * n + 2 : n_slots};
    for (u32 slot = lane(); slot < table.n_slots; slot += WARP) slots[slot] = FREE_SLOT;
    __syncwarp();
    return table;
}

DEVICE u32 first_slot(const Table& table, u32 hash) {
    hash ^= hash >> 15;
    hash *= 0x9e3779b1u;
    hash ^= hash >> 13;
    return __umulhi(hash * 0xc2b2ae3du, table.n_slots);
}

DEVICE u32 next_slot(const Table& table, u32 slot) { return slot + 1 == table.n_slots ? 0 : slot + 1; }

// The base to the power of `exponent`.
DEVICE u32 hash_power(u32 exponent) {
    u32 power = 1;
    for (u32 factor = HASH_BASE; exponent != 0; exponent >>= 1, factor *= factor) {
        if (exponent & 1) power *= factor;
    }
    return power;
}

// The hash of each lane's piece.
DEVICE u32 hash_piece(const u8* bytes, u32 start, u32 end) {
    u32 hash = 0;
    bool is_long = end - start > LANE_BYTES;
    for (u32 at = start; !is_long && at < end; at++) hash = hash * HASH_BASE + bytes[at] + 1;
    for (u32 rest = __ballot_sync(ALL_LANES, is_long); rest != 0; rest &= rest - 1) {
        u32 owner = __ffs(rest) - 1;
        u32 from = __shfl_sync(ALL_LANES, start, owner), to = __shfl_sync(ALL_LANES, end, owner);
        // A lane's bytes are 32 apart; what is left after its last one is made up for at the end.
        u32 stride = hash_power(WARP), sum = 0, at = from + lane();
        for (; at < to; at += WARP) sum = sum * stride + bytes[at] + 1;
        u32 whole = warp_sum(sum * hash_power(to + WARP - 1 - at));
        if (lane() == owner) hash = whole;
    }
    return hash;
}

// For each lane that asks: whether n_bytes at a and at b are equal.
DEVICE bool same_bytes(const u8* bytes, u32 a, u32 b, u32 n_bytes, bool asks) {
    bool is_same = asks;
    bool is_long = asks && n_bytes > LANE_BYTES;
    for (u32 i = 0; is_same && !is_long && i < n_bytes; i++) is_same = bytes[a + i] == bytes[b + i];
    for (u32 rest = __ballot_sync(ALL_LANES, is_long); rest != 0; rest &= rest - 1) {
        u32 owner = __ffs(rest) - 1;
        u32 one = __shfl_sync(ALL_LANES, a, owner), other = __shfl_sync(ALL_LANES, b, owner);
        u32 n = __shfl_sync(ALL_LANES, n_bytes, owner);
        bool differs = false;
        for (u32 i = 0; i < n && !differs; i += WARP) {
            u32 at = i + lane();
            differs = __any_sync(ALL_LANES, at < n && bytes[one + at] != bytes[other + at]);
        }
        if (lane() == owner) is_same = !differs;
    }
    return is_same;
}

// For each lane that asks: the slot of its piece. Once all pieces are entered, a slot holds the first of its equals.
DEVICE u32 enter_piece(const Table& table, const Pieces& pieces, u32 piece, u32 hash, bool asks) {
    u32 slot = first_slot(table, hash);
    u32 start = asks ? pieces.starts[piece] : 0;
    u32 n_bytes = asks ? pieces.ends[piece] - start : 0;
    while (__any_sync(ALL_LANES, asks)) {
        u32 holder = asks ? atomicCAS(&table.slots[slot], FREE_SLOT, piece) : FREE_SLOT;
        bool is_taken = holder != FREE_SLOT;
        u32 other = is_taken ? pieces.starts[holder] : 0;
        bool fits = is_taken && pieces.ends[holder] - other == n_bytes;
        bool is_same = same_bytes(pieces.bytes, start, other, n_bytes, fits);
        if (is_same && piece < holder) atomicMin(&table.slots[slot], piece);
        asks = is_taken && !is_same;
        if (asks) slot = next_slot(table, slot);
    }
    return slot;
}
