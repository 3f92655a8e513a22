// Word n-grams that occur more than once, level by level: the device's side of src/ops/doc/grams.rs.
//
// An n-gram is known by the word where it begins first. Those of the next n are pairs of neighbours that both repeat,
// looked up in a table by what the two are known by; what occurs once drops out of the list `places`.
//
// Scratch memory for each byte of the document: 14 bytes, and 96 more; and 48 for each level.
#include "lib/spans.cuh"

// What repeats among the n-grams of one n: `Level` in src/ops/doc/grams.rs.
struct Level {
    u64 repeated_chars;
    u64 covered_chars;
    u64 top_covered_chars;
    u64 later_chars;
    u32 top_count;
    u32 top_start;
    u32 n_repeated;
    // How many n-grams there are that differ, of those whose (n - 1)-grams repeat.
    u32 n_distinct;
};

// Numbers for each word (places for one more), and slots.
struct GramMemory {
    u32* places;
    u32* one;
    u32* other;
    u32* slots;
    u32 n_slots;
};

struct Grams {
    WordList words;
    GramMemory memory;
    Level* levels;
    u32 n_levels;
};

// Characters from word `start` to word `end`.
DEVICE u32 chars_from(const WordList& words, u32 start, u32 end) {
    return words.chars_before[end] - words.chars_before[start];
}

// Writes for each word the first that is equal to it.
DEVICE void number_words(const WordList& words, const GramMemory& memory, u32* firsts) {
    Table table = clear_table(memory.slots, words.n, memory.n_slots);
    Pieces pieces = {words.letters, words.starts, words.ends, words.n};
    for (u32 base = 0; base < words.n; base += WARP) {
        u32 word = base + lane();
        bool is_one = word < words.n;
        u32 hash = hash_piece(words.letters, is_one ? words.starts[word] : 0, is_one ? words.ends[word] : 0);
        u32 slot = enter_piece(table, pieces, word, hash, is_one);
        if (is_one) firsts[word] = slot;
    }
    __syncwarp();
    for (u32 word = lane(); word < words.n; word += WARP) firsts[word] = table.slots[firsts[word]];
    __syncwarp();
}

// From the n-grams that repeat to the (n + 1)-grams made of them: `places` is left with where these are, and `firsts` has
// for each the first that is equal to it. `before` has the same of the n-grams.
DEVICE u32 number_pairs(const GramMemory& memory, u32 n_places, const u32* before, u32* firsts) {
    u32 n_pairs = 0;
    for (u32 base = 0; base < n_places; base += WARP) {
        u32 i = base + lane();
        u32 place = i < n_places ? memory.places[i] : 0;
        bool is_pair = i + 1 < n_places && memory.places[i + 1] == place + 1;
        u32 pairs = __ballot_sync(ALL_LANES, is_pair);
        __syncwarp();
        if (is_pair) memory.places[n_pairs + lanes_below(pairs)] = place;
        n_pairs += __popc(pairs);
        __syncwarp();
    }
    Table table = clear_table(memory.slots, n_pairs, memory.n_slots);
    for (u32 i = lane(); i < n_pairs; i += WARP) {
        u32 place = memory.places[i];
        u32 left = before[place], right = before[place + 1];
        u32 slot = first_slot(table, left * HASH_BASE + right);
        while (true) {
            u32 holder = atomicCAS(&table.slots[slot], FREE_SLOT, place);
            if (holder == FREE_SLOT) break;
            if (before[holder] == left && before[holder + 1] == right) {
                if (place < holder) atomicMin(&table.slots[slot], place);
                break;
            }
            slot = next_slot(table, slot);
        }
        firsts[place] = slot;
    }
    __syncwarp();
    for (u32 i = lane(); i < n_pairs; i += WARP) {
        u32 place = memory.places[i];
        firsts[place] = table.slots[firsts[place]];
    }
    __syncwarp();
    return n_pairs;
}

// How often each n-gram occurs, where it begins first.
DEVICE void count_firsts(const GramMemory& memory, u32 n_places, const u32* firsts, u32* counts) {
    for (u32 i = lane(); i < n_places; i += WARP) counts[memory.places[i]] = 0;
    __syncwarp();
    for (u32 i = lane(); i < n_places; i += WARP) atomicAdd(&counts[firsts[memory.places[i]]], 1);
    __syncwarp();
}

// A most frequent n-gram: of equally frequent ones the longest, then the first.
struct Top {
    u32 count;
    u32 chars;
    u32 first;
};

DEVICE bool is_above(const Top& a, const Top& b) {
    if (a.count != b.count) return a.count > b.count;
    return a.chars != b.chars ? a.chars > b.chars : a.first < b.first;
}

DEVICE Top top_of_lanes(Top top) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        Top other = {__shfl_xor_sync(ALL_LANES, top.count, step), __shfl_xor_sync(ALL_LANES, top.chars, step),
                     __shfl_xor_sync(ALL_LANES, top.first, step)};
        if (is_above(other, top)) top = other;
    }
    return top;
}

// For the lanes in `chosen`: the end of the n-gram of the lane before it in `chosen`, at first `end_before`, which becomes
// that of the last lane.
DEVICE u32 end_of_previous(u32 chosen, u32 end, u32& end_before) {
    u32 below = chosen & ((1u << lane()) - 1);
    u32 previous = __shfl_sync(ALL_LANES, end, below == 0 ? 0 : WARP - 1 - __clz(below));
    u32 answer = below == 0 ? end_before : previous;
    if (chosen != 0) end_before = __shfl_sync(ALL_LANES, end, WARP - 1 - __clz(chosen));
    return answer;
}

// Sums up the n-grams at `places`, and leaves those that repeat.
DEVICE u32 sum_up(Level& level, const WordList& words, const GramMemory& memory, u32 n, u32 n_places,
                  const u32* firsts, const u32* counts) {
    // The most frequent that comes first, and the most frequent that is longest.
    Top first_top = {1, 0, 0}, long_top = {1, 0, FREE_SLOT};
    u32 n_distinct = 0;
    for (u32 i = lane(); i < n_places; i += WARP) {
        u32 place = memory.places[i];
        u32 count = counts[place];
        if (firsts[place] != place) continue;
        n_distinct++;
        if (count == 1) continue;
        Top first = {count, 0, place}, longest = {count, chars_from(words, place, place + n), place};
        if (is_above(first, first_top)) first_top = first;
        if (is_above(longest, long_top)) long_top = longest;
    }
    first_top = top_of_lanes(first_top);
    long_top = top_of_lanes(long_top);

    u64 repeated_chars = 0, covered_chars = 0, top_covered_chars = 0, later_chars = 0;
    u32 covered_to = 0, top_covered_to = 0, later_to = 0, n_kept = 0;
    for (u32 base = 0; base < n_places; base += WARP) {
        u32 i = base + lane();
        u32 place = i < n_places ? memory.places[i] : 0;
        u32 first = i < n_places ? firsts[place] : 0, end = place + n;
        bool repeats = i < n_places && counts[first] > 1;
        bool is_top = repeats && first == long_top.first, is_later = repeats && first != place;
        u32 kept = __ballot_sync(ALL_LANES, repeats);
        __syncwarp();
        u32 covered = end_of_previous(kept, end, covered_to);
        u32 top_covered = end_of_previous(__ballot_sync(ALL_LANES, is_top), end, top_covered_to);
        u32 counted = end_of_previous(__ballot_sync(ALL_LANES, is_later), end, later_to);
        if (repeats) {
            memory.places[n_kept + lanes_below(kept)] = place;
            repeated_chars += chars_from(words, place, end);
            covered_chars += chars_from(words, place > covered ? place : covered, end);
        }
        if (is_top) top_covered_chars += chars_from(words, place > top_covered ? place : top_covered, end);
        if (is_later) {
            u32 from = place > counted ? place : counted;
            later_chars += chars_from(words, from, end) + (end - from < n - 1 ? end - from : n - 1);
        }
        n_kept += __popc(kept);
        __syncwarp();
    }
    level.repeated_chars = warp_sum64(repeated_chars);
    level.covered_chars = warp_sum64(covered_chars);
    level.top_covered_chars = warp_sum64(top_covered_chars);
    level.later_chars = warp_sum64(later_chars);
    level.top_count = first_top.count;
    level.top_start = first_top.first;
    level.n_repeated = n_kept;
    level.n_distinct = warp_sum(n_distinct);
    return n_kept;
}

DEVICE GramMemory take_gram_memory(u8*& scratch, u32 n_bytes) {
    GramMemory memory;
    u32 n_most = most_pieces(n_bytes);
    memory.places = take_numbers(scratch, n_most + 1);
    memory.one = take_numbers(scratch, n_most);
    memory.other = take_numbers(scratch, n_most);
    memory.n_slots = slots_for(n_most);
    memory.slots = take_numbers(scratch, memory.n_slots);
    return memory;
}

// How often each word occurs, where it is first; and for each word the first that is equal to it.
DEVICE const u32* count_words(const Grams& grams, const u32*& firsts) {
    const GramMemory& memory = grams.memory;
    for (u32 word = lane(); word < grams.words.n; word += WARP) memory.places[word] = word;
    number_words(grams.words, memory, memory.one);
    count_firsts(memory, grams.words.n, memory.one, memory.other);
    firsts = memory.one;
    return memory.other;
}

// The n-grams of grams.words up to `longest`.
DEVICE void read_grams(Grams& grams, u32 longest) {
    const WordList& words = grams.words;
    const GramMemory& memory = grams.memory;
    u32* firsts = memory.one;
    u32* counts = memory.other;
    u32 n_places = words.n;
    for (u32 word = lane(); word < words.n; word += WARP) memory.places[word] = word;
    grams.n_levels = 0;
    for (u32 n = 1; n <= longest && n <= words.n && (n == 1 || n_places > 0); n++) {
        if (n == 1) {
            number_words(words, memory, firsts);
        } else {
            // The counts are no longer asked for: what the n-grams are known by goes there.
            u32* before = firsts;
            firsts = counts;
            n_places = number_pairs(memory, n_places, before, firsts);
            counts = before;
        }
        count_firsts(memory, n_places, firsts, counts);
        Level level;
        n_places = sum_up(level, words, memory, n, n_places, firsts, counts);
        if (lane() == 0) grams.levels[n - 1] = level;
        grams.n_levels = n;
        __syncwarp();
    }
}

// What repeats among the n-grams; n is at most what was asked for.
DEVICE Level level_of(const Grams& grams, u32 n) {
    if (n <= grams.n_levels) return grams.levels[n - 1];
    Level none = {0, 0, 0, 0, n <= grams.words.n, 0, 0, 0};
    return none;
}

DEVICE u32 n_grams(const Grams& grams, u32 n) { return grams.words.n < n ? 0 : grams.words.n + 1 - n; }

// Characters in all words.
DEVICE u32 word_chars(const Grams& grams) { return grams.words.chars_before[grams.words.n]; }

// The length of the n-gram at word `start`.
DEVICE u32 gram_chars(const Grams& grams, u32 start, u32 n) { return chars_from(grams.words, start, start + n); }
