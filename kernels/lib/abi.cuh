// What the host and a kernel agree on: the types, the launch block, and where a row's values are.
//
// Every kernel takes one argument, a `Launch` in device memory, and gives each row to one warp: all 32 lanes of it call
// each device function together, with the same arguments, and get the same result.
// Mirrored by src/gpu/layout.rs, which writes the block.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef double f64;

#define DEVICE static __device__ __forceinline__

static const u32 ALL_LANES = 0xffffffffu;
static const u32 WARP = 32;

// A column of the batch. Numbers and truth values: `values` holds one a row (i64, f64, or u8 for a truth value).
// Text: `values` holds the bytes of all rows, and row i is from offsets[i] to offsets[i + 1].
// `validity` holds one u8 a row, 0 for null; a null pointer means that no row is.
struct Column {
    const void* values;
    const u32* offsets;
    const u8* validity;
};

// Where results go: `values` as in a column, or `n_words` u64 a row for lists; `validity` one u8 a row;
// `lengths`, for lists, how many of the words are meant.
struct Output {
    void* values;
    u8* validity;
    u32* lengths;
    u64 n_words;
};

struct Launch {
    u64 n_rows;
    // The rows to work on; a null pointer means all of them.
    const u32* rows;
    const Column* columns;
    const Output* outputs;
    // The options of each call of the chain: see `Options`.
    const u64* options;
    // For each row the number of the first rule that it fails, or -1.
    i32* failed;
    u8* scratch;
    u64 scratch_per_byte;
    u64 scratch_per_row;
    const u8* tables;
};

// A run of bytes.
struct Text {
    const u8* bytes;
    u32 n_bytes;
};

DEVICE u32 lane() { return threadIdx.x % WARP; }

// The options of one call, as the operator's spec lists them: one word each.
// A number or truth value is its bits. A text is the place of its bytes, from `base`, in the low half, and its length in
// the high half. A list of texts is the place of its first text's word in the low half, and their number in the high half.
struct Options {
    const u64* base;
    u32 first;

    __device__ __forceinline__ i64 integer(u32 i) const { return (i64)base[first + i]; }
    __device__ __forceinline__ f64 number(u32 i) const { return __longlong_as_double((i64)base[first + i]); }
    __device__ __forceinline__ bool flag(u32 i) const { return base[first + i] != 0; }
    __device__ __forceinline__ Text text_at(u32 word) const {
        u64 place = base[word];
        Text text = {(const u8*)base + (u32)place, (u32)(place >> 32)};
        return text;
    }
    __device__ __forceinline__ Text text(u32 i) const { return text_at(first + i); }
    __device__ __forceinline__ u32 n_texts(u32 i) const { return (u32)(base[first + i] >> 32); }
    __device__ __forceinline__ Text text_of(u32 i, u32 member) const { return text_at((u32)base[first + i] + member); }
};

// A list result of one row: write values[0 .. length), set `length` in every lane.
struct Words {
    u64* values;
    u32 n_words;
};

// Sums over the lanes, for all lanes.
DEVICE u32 warp_sum(u32 value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

DEVICE u64 warp_sum64(u64 value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

DEVICE u32 warp_max(u32 value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        u32 other = __shfl_xor_sync(ALL_LANES, value, step);
        value = other > value ? other : value;
    }
    return value;
}

// How many lanes below this one are set in a ballot.
DEVICE u32 lanes_below(u32 ballot) { return __popc(ballot & ((1u << lane()) - 1)); }

// The host's `ratio`: 0 for nothing of nothing.
DEVICE f64 ratio(u64 part, u64 whole) { return whole == 0 ? 0.0 : (f64)part / (f64)whole; }
