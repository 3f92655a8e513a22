// A text cut into shingles, and the hash of each: src/ops/dedup/shingler.
//
// The hash of a shingle is Σ unit · K^place. K has an inverse modulo 2⁶⁴, so with running sums of unit · K^−i the sum over
// any n units in a row is one subtraction: the same number as the host rolls along, at no cost that grows with n.
#include "lib/fold.cuh"
#include "lib/xxh3.cuh"

// What is counted off, what is done to the text before: the options `shingle` and `normalize`.
enum ShingleUnit { UNIT_WORDS, UNIT_CHARS, UNIT_TOKENS };
enum Normalize { NORMALIZE_NONE, NORMALIZE_WORDS, NORMALIZE_DATATROVE };

struct Shingles {
    // The folded text; unit i is from starts[i] to starts[i + 1] less `gap`.
    u8* bytes;
    const u8* end;
    u32* starts;
    u32 gap;
    u32 n_units;
    // Units of a shingle.
    u32 n;
    u32 n_shingles;

    __device__ __forceinline__ const u8* from(u32 shingle) const { return bytes + starts[shingle]; }
    __device__ __forceinline__ u32 length(u32 shingle) const { return starts[shingle + n] - gap - starts[shingle]; }
};

static const u64 SHINGLE_LOW = 0x9e3779b97f4a7c15ull, SHINGLE_HIGH = 0x243f6a8885a308d3ull;
static const u64 SHINGLE_SPREAD = 0xa4093822299f31d1ull;
static const u64 SHINGLE_POWER = 0x13198a2e03707345ull, SHINGLE_INVERSE = 0xb660f846130d278dull;

// 'words:5', as the host read it too.
DEVICE u32 shingle_unit(Text shingle) {
    for (u32 i = 0; i < shingle.n_bytes; i++) {
        u8 c = shingle.bytes[i];
        if (c == 'w') return UNIT_WORDS;
        if (c == 'c') return UNIT_CHARS;
        if (c == 't') return UNIT_TOKENS;
    }
    return UNIT_WORDS;
}

DEVICE u32 shingle_length(Text shingle) {
    u64 n = 0;
    for (u32 i = 0; i < shingle.n_bytes; i++) {
        u32 digit = (u32)shingle.bytes[i] - '0';
        if (digit < 10) n = n < 0x10000000 ? 10 * n + digit : n;
    }
    return (u32)n;
}

DEVICE u32 normalize_option(Text normalize) {
    return normalize.bytes[0] == 'n' ? NORMALIZE_NONE : normalize.bytes[0] == 'w' ? NORMALIZE_WORDS : NORMALIZE_DATATROVE;
}

DEVICE u8* after(u8* memory, u64 n_bytes) { return memory + ((n_bytes + 15) & ~(u64)15); }

// Where units begin: at the first byte of a character, or after a space.
DEVICE u32 unit_starts(const u8* bytes, u32 n_bytes, bool chars, u32* starts) {
    u32 n = 0, after_space = 1;
    for (u32 tile = 0; tile < n_bytes; tile += WARP) {
        u32 at = tile + lane();
        // Behind the text there are spaces.
        u32 c = bytes[at];
        u32 found = __ballot_sync(ALL_LANES, chars ? (c & 0xc0) != 0x80 && at < n_bytes : c == ' ');
        if (!chars) {
            u32 spaces = found;
            found = (spaces << 1 | after_space) & ~spaces;
            after_space = spaces >> 31;
        }
        if (found >> lane() & 1) starts[n + lanes_below(found)] = at;
        n += __popc(found);
    }
    if (lane() == 0) starts[n] = n_bytes + !chars;
    __syncwarp();
    return n;
}

// Cuts a text; gives the scratch memory that is left.
DEVICE u8* cut_shingles(Shingles& shingles, Text text, Text shingle, Text normalize, u8* scratch, const u8* tables) {
    u32 unit = shingle_unit(shingle), how = normalize_option(normalize);
    u32 words = how == NORMALIZE_NONE ? FOLD_SPACES : how == NORMALIZE_WORDS ? FOLD_WORDS : FOLD_SIMPLE;
    u32 plain = how == NORMALIZE_NONE ? FOLD_NOTHING : how == NORMALIZE_WORDS ? FOLD_CASE : FOLD_SIMPLE;
    u32 first = unit == UNIT_WORDS ? words : unit == UNIT_TOKENS && how == NORMALIZE_NONE ? FOLD_TOKENS : plain;
    // Tokens are found in what is normalized already.
    bool twice = unit == UNIT_TOKENS && how != NORMALIZE_NONE;
    u32 n_bytes = 0;
    for (u32 pass = 0; pass <= twice; pass++) {
        if (pass == 1) {
            text.bytes = scratch;
            text.n_bytes = n_bytes;
            scratch = after(scratch, n_bytes + FOLD_PADDING);
        }
        n_bytes = fold(text, pass == 0 ? first : FOLD_TOKENS, scratch, tables);
    }
    shingles.bytes = scratch;
    shingles.end = scratch + n_bytes + FOLD_PADDING;
    shingles.starts = (u32*)after(scratch, n_bytes + FOLD_PADDING);
    shingles.gap = unit != UNIT_CHARS;
    shingles.n_units = unit_starts(scratch, n_bytes, unit == UNIT_CHARS, shingles.starts);
    shingles.n = shingle_length(shingle);
    // A text of fewer units than a shingle is itself one; but datatrove takes none from too few words.
    bool as_datatrove = unit != UNIT_CHARS && how == NORMALIZE_DATATROVE;
    if (shingles.n_units < shingles.n && shingles.n_units > 0 && !as_datatrove) shingles.n = shingles.n_units;
    shingles.n_shingles = shingles.n_units < shingles.n ? 0 : shingles.n_units - shingles.n + 1;
    return after((u8*)shingles.starts, 4 * (u64)(shingles.n_units + 1));
}

DEVICE u64 keep_bytes(u64 word, u32 n_bytes) { return n_bytes >= 8 ? word : word & ((1ull << (8 * n_bytes)) - 1); }

// The hash of a unit, for each lane its own, or 0 if it is outside; those too long for one lane are hashed by all.
DEVICE u64 unit_hash(const Shingles& shingles, u32 unit, bool inside) {
    const u8* bytes = shingles.bytes;
    u32 n_bytes = 0;
    if (inside) {
        bytes += shingles.starts[unit];
        n_bytes = shingles.starts[unit + 1] - shingles.gap - shingles.starts[unit];
    }
    u64 hash = 0;
    if (shingles.gap == 0) {
        Text text = {bytes, n_bytes};
        if (inside) hash = fold_product(utf8_char(text, 0) ^ SHINGLE_LOW, SHINGLE_HIGH);
        return hash;
    }
    if (inside && n_bytes <= 16) {
        u64 low = keep_bytes(bytes_u64(bytes, shingles.end), n_bytes);
        u64 high = n_bytes <= 8 ? 0 : keep_bytes(bytes_u64(bytes + 8, shingles.end), n_bytes - 8);
        hash = fold_product(low ^ SHINGLE_LOW, high ^ (SHINGLE_HIGH + n_bytes));
    } else if (inside && n_bytes <= XXH3_ALONE) {
        hash = xxh3_64_alone(bytes, n_bytes, 0);
    }
    for (u32 left = __ballot_sync(ALL_LANES, n_bytes > XXH3_ALONE); left != 0; left &= left - 1) {
        u32 owner = __ffs(left) - 1;
        const u8* start = (const u8*)__shfl_sync(ALL_LANES, (u64)bytes, owner);
        u64 found = xxh3_64_together(start, __shfl_sync(ALL_LANES, n_bytes, owner), 0);
        if (lane() == owner) hash = found;
    }
    return hash;
}

DEVICE u64 wrapping_power(u64 base, u32 exponent) {
    u64 power = 1;
    for (; exponent != 0; exponent /= 2, base *= base) {
        if (exponent % 2 == 1) power *= base;
    }
    return power;
}

// The hash of each shingle, to hashes[0 .. n_shingles); `hashes` has room for n_units + 1.
DEVICE void shingle_hashes(const Shingles& shingles, u64* hashes) {
    if (shingles.n_shingles == 0) return;
    // hashes[i] = Σ over units before i of unit · K^−place.
    u64 power = wrapping_power(SHINGLE_INVERSE, lane()), step = wrapping_power(SHINGLE_INVERSE, WARP);
    u64 total = 0;
    if (lane() == 0) hashes[0] = 0;
    for (u32 tile = 0; tile < shingles.n_units; tile += WARP) {
        u32 unit = tile + lane();
        bool inside = unit < shingles.n_units;
        u64 sum = total + warp_running_sum64(unit_hash(shingles, unit, inside) * power);
        if (inside) hashes[unit + 1] = sum;
        total = __shfl_sync(ALL_LANES, sum, WARP - 1);
        power *= step;
    }
    __syncwarp();
    power = wrapping_power(SHINGLE_POWER, lane() + shingles.n - 1);
    step = wrapping_power(SHINGLE_POWER, WARP);
    for (u32 tile = 0; tile < shingles.n_shingles; tile += WARP) {
        u32 shingle = tile + lane();
        bool inside = shingle < shingles.n_shingles;
        u64 sum = inside ? (hashes[shingle + shingles.n] - hashes[shingle]) * power : 0;
        // What this tile reads, the lanes must have read before one of them writes.
        __syncwarp();
        sum = (sum ^ sum >> 32) * SHINGLE_SPREAD;
        if (inside) hashes[shingle] = sum ^ sum >> 29;
        __syncwarp();
        power *= step;
    }
}
