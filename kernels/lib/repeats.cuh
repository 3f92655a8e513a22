// Lines and paragraphs that occur more than once: the device's side of src/ops/doc/repeats.rs.
#include "lib/spans.cuh"

// What repeats in a list of pieces; lengths are characters.
struct Repeats {
    u32 n;
    u32 chars;
    u32 n_distinct;
    u32 distinct_chars;
    // Pieces that are equal to another one, the first of them too.
    u32 n_repeated;
    u32 repeated_chars;
};

// By kind of piece: with a character that is not white space, of white space only, without any character.
struct RepeatTable {
    Repeats solid;
    Repeats blank;
    Repeats empty;
};

// What separates pieces: a line feed, a pair of them, or a run of two and more.
static const u32 LINES_BREAK = 0;
static const u32 PAIRS_BREAK = 1;
static const u32 BLOCKS_BREAK = 2;

// Bytes of scratch memory for each byte of the document: 9, and 64 more.
struct PieceMemory {
    u32* starts;
    u32* ends;
    u32* slots;
    u32* counts;
};

// `count` equal pieces of `chars` characters.
DEVICE Repeats repeats_of(u32 count, u32 chars) {
    u32 n_distinct = count > 0, n_repeated = count > 1 ? count : 0;
    Repeats repeats = {count, count * chars, n_distinct, n_distinct * chars, n_repeated, n_repeated * chars};
    return repeats;
}

// Of two lists that have no piece in common.
DEVICE Repeats both(const Repeats& a, const Repeats& b) {
    Repeats sum = {a.n + b.n,
                   a.chars + b.chars,
                   a.n_distinct + b.n_distinct,
                   a.distinct_chars + b.distinct_chars,
                   a.n_repeated + b.n_repeated,
                   a.repeated_chars + b.repeated_chars};
    return sum;
}

DEVICE Repeats over_lanes(const Repeats& one) {
    Repeats sum = {warp_sum(one.n),
                   warp_sum(one.chars),
                   warp_sum(one.n_distinct),
                   warp_sum(one.distinct_chars),
                   warp_sum(one.n_repeated),
                   warp_sum(one.repeated_chars)};
    return sum;
}

// The text without the white space at its ends.
DEVICE Text trimmed(const Text& text) {
    u32 start = text.n_bytes, end = 0;
    for (u32 base = 0; base < text.n_bytes && start == text.n_bytes; base += WARP) {
        u32 at = base + lane();
        u32 solid = __ballot_sync(ALL_LANES, at < text.n_bytes && !is_white(text, at));
        if (solid != 0) start = base + __ffs(solid) - 1;
    }
    for (u32 left = text.n_bytes; left > start && end == 0; left = left > WARP ? left - WARP : 0) {
        u32 solid = __ballot_sync(ALL_LANES, lane() < left && !is_white(text, left - 1 - lane()));
        if (solid != 0) end = left - (__ffs(solid) - 1);
    }
    Text inner = {text.bytes + start, end > start ? end - start : 0};
    return inner;
}

// Finds the pieces that are not empty, and gives how many are.
DEVICE u32 find_pieces(Pieces& pieces, const PieceMemory& memory, const Text& text, u32 kind) {
    u32 n_starts = 0, n_ends = 0, n_breaks = 0, n_break_bytes = 0;
    // The state at the end of the bytes before: line feeds in a row, and whether the last byte is of a piece.
    u32 n_feeds = 0, was_piece = 0, was_break = 0;
    for (u32 base = 0; base < text.n_bytes; base += WARP) {
        u32 at = base + lane();
        bool is_text = at < text.n_bytes;
        bool is_feed = is_text && text.bytes[at] == '\n';
        bool feed_follows = at + 1 < text.n_bytes && text.bytes[at + 1] == '\n';
        u32 feeds = __ballot_sync(ALL_LANES, is_feed);
        u32 others_below = ~feeds & ((1u << lane()) - 1);
        u32 n_feeds_before = others_below == 0 ? n_feeds + lane() : lane() - (WARP - __clz(others_below));
        // A pair begins at every second line feed of a run, if another one follows.
        bool is_break = is_feed;
        if (kind == PAIRS_BREAK) is_break = is_feed && (feed_follows || n_feeds_before % 2 == 1);
        if (kind == BLOCKS_BREAK) is_break = is_feed && (feed_follows || n_feeds_before > 0);
        u32 breaks = __ballot_sync(ALL_LANES, is_break);
        u32 inside = __ballot_sync(ALL_LANES, is_text && !is_break);
        u32 starts = inside & ~(inside << 1 | was_piece);
        u32 ends = ~inside & (inside << 1 | was_piece);
        if (starts >> lane() & 1) memory.starts[n_starts + lanes_below(starts)] = at;
        if (ends >> lane() & 1) memory.ends[n_ends + lanes_below(ends)] = at;
        n_starts += __popc(starts);
        n_ends += __popc(ends);
        n_breaks += __popc(breaks & ~(breaks << 1 | was_break));
        n_break_bytes += __popc(breaks);
        n_feeds = feeds == ALL_LANES ? n_feeds + WARP : __clz(~feeds);
        was_piece = inside >> (WARP - 1);
        was_break = breaks >> (WARP - 1);
    }
    if (was_piece && lane() == 0) memory.ends[n_ends] = text.n_bytes;
    __syncwarp();
    Pieces found = {text.bytes, memory.starts, memory.ends, n_starts};
    pieces = found;
    u32 n_separators = kind == LINES_BREAK ? n_break_bytes : kind == PAIRS_BREAK ? n_break_bytes / 2 : n_breaks;
    return n_separators + 1 - n_starts;
}

// For each lane that asks: the characters of its piece, and whether all of them are white space.
DEVICE void measure_piece(const Text& text, u32 start, u32 end, bool asks, u32& n_chars, bool& is_blank) {
    bool is_long = asks && end - start > LANE_BYTES;
    n_chars = 0;
    is_blank = true;
    for (u32 at = start; asks && !is_long && at < end; at++) {
        if (is_inner(text.bytes[at])) continue;
        n_chars++;
        is_blank = is_blank && is_white(text, at);
    }
    for (u32 rest = __ballot_sync(ALL_LANES, is_long); rest != 0; rest &= rest - 1) {
        u32 owner = __ffs(rest) - 1;
        u32 from = __shfl_sync(ALL_LANES, start, owner), to = __shfl_sync(ALL_LANES, end, owner);
        u32 n = 0;
        bool is_solid = false;
        for (u32 at = from + lane(); at < to; at += WARP) {
            n += !is_inner(text.bytes[at]);
            is_solid = is_solid || !is_white(text, at);
        }
        n = warp_sum(n);
        is_solid = __any_sync(ALL_LANES, is_solid);
        if (lane() == owner) {
            n_chars = n;
            is_blank = !is_solid;
        }
    }
}

DEVICE void read_repeats(RepeatTable& repeats, Text text, u32 kind, u8* scratch) {
    if (kind == BLOCKS_BREAK) text = trimmed(text);
    u32 n_most = most_pieces(text.n_bytes);
    PieceMemory memory;
    memory.starts = take_numbers(scratch, n_most);
    memory.ends = take_numbers(scratch, n_most);
    memory.slots = take_numbers(scratch, slots_for(n_most));
    memory.counts = take_numbers(scratch, slots_for(n_most));
    Pieces pieces;
    u32 n_empty = find_pieces(pieces, memory, text, kind);
    repeats.empty = repeats_of(n_empty, 0);

    Table table = clear_table(memory.slots, pieces.n, slots_for(n_most));
    for (u32 slot = lane(); slot < table.n_slots; slot += WARP) memory.counts[slot] = 0;
    __syncwarp();
    for (u32 base = 0; base < pieces.n; base += WARP) {
        u32 piece = base + lane();
        bool is_one = piece < pieces.n;
        u32 hash = hash_piece(text.bytes, is_one ? pieces.starts[piece] : 0, is_one ? pieces.ends[piece] : 0);
        u32 slot = enter_piece(table, pieces, piece, hash, is_one);
        if (is_one) atomicAdd(&memory.counts[slot], 1);
    }
    __syncwarp();

    Repeats solid = repeats_of(0, 0), blank = solid;
    for (u32 base = 0; base < table.n_slots; base += WARP) {
        u32 slot = base + lane();
        u32 count = slot < table.n_slots ? memory.counts[slot] : 0;
        u32 piece = count > 0 ? table.slots[slot] : 0;
        u32 start = count > 0 ? pieces.starts[piece] : 0, end = count > 0 ? pieces.ends[piece] : 0;
        u32 n_chars;
        bool is_blank;
        measure_piece(text, start, end, count > 0, n_chars, is_blank);
        if (is_blank) {
            blank = both(blank, repeats_of(count, n_chars));
        } else {
            solid = both(solid, repeats_of(count, n_chars));
        }
    }
    repeats.solid = over_lanes(solid);
    repeats.blank = over_lanes(blank);
    __syncwarp();
}

// All pieces.
DEVICE Repeats all_of(const RepeatTable& table) { return both(both(table.solid, table.blank), table.empty); }

// Those that are not empty.
DEVICE Repeats filled_of(const RepeatTable& table) { return both(table.solid, table.blank); }

DEVICE u32 n_duplicates(const Repeats& repeats) { return repeats.n - repeats.n_distinct; }

DEVICE u32 duplicate_chars(const Repeats& repeats) { return repeats.chars - repeats.distinct_chars; }

// The lines that the option `lines` chooses: all, with runs of line feeds merged, filled, or solid.
DEVICE Repeats chosen_lines(const RepeatTable& table, const Text& text, const Text& choice) {
    u8 initial = choice.bytes[0];
    if (initial == 's') return table.solid;
    if (initial == 'f') return filled_of(table);
    if (initial == 'a') return all_of(table);
    // Only a run at the beginning or end of the document leaves an empty line.
    u32 n_empty = text.n_bytes == 0 ? 1 : (text.bytes[0] == '\n') + (text.bytes[text.n_bytes - 1] == '\n');
    return both(filled_of(table), repeats_of(n_empty, 0));
}
