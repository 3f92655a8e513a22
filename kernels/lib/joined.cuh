// Repeated word n-grams found by a greedy walk, with words compared run together: the device's side of
// src/ops/doc/joined.rs.
//
// Which n-grams are equal is found for all places at once; the walk then looks only at those that have an equal. Hashes
// of n-grams come from the hashes of the words before their beginning and before their end.
//
// Scratch memory: as n-grams of words (`grams.cuh`).
#include "lib/grams.cuh"

// The hashes of the letters before each word, and of all.
DEVICE void hash_letters(const WordList& words, u32* hashes) {
    u32 hash_before = 0;
    if (lane() == 0) hashes[0] = 0;
    for (u32 base = 0; base < words.n; base += WARP) {
        u32 word = base + lane();
        bool is_one = word < words.n;
        u32 start = is_one ? words.starts[word] : 0, end = is_one ? words.ends[word] : 0;
        // What becomes of a hash if the word follows: factor × hash + term. Then the same for the words from `base` on.
        u32 term = hash_piece(words.letters, start, end), factor = hash_power(end - start);
        for (u32 step = 1; step < WARP; step *= 2) {
            u32 term_before = __shfl_up_sync(ALL_LANES, term, step);
            u32 factor_before = __shfl_up_sync(ALL_LANES, factor, step);
            if (lane() >= step) {
                term += factor * term_before;
                factor *= factor_before;
            }
        }
        u32 hash = factor * hash_before + term;
        if (is_one) hashes[word + 1] = hash;
        hash_before = __shfl_sync(ALL_LANES, hash, WARP - 1);
    }
    __syncwarp();
}

// Writes for each n-gram the first that is equal to it, and there how many are.
DEVICE void number_joined(const WordList& words, const GramMemory& memory, const u32* hashes, u32 n, u32 n_places) {
    Table table = clear_table(memory.slots, n_places, memory.n_slots);
    Pieces pieces = {words.letters, words.starts, words.starts + n, n_places};
    for (u32 base = 0; base < n_places; base += WARP) {
        u32 place = base + lane();
        bool is_one = place < n_places;
        u32 n_bytes = is_one ? words.starts[place + n] - words.starts[place] : 0;
        u32 hash = is_one ? hashes[place + n] - hashes[place] * hash_power(n_bytes) : 0;
        u32 slot = enter_piece(table, pieces, place, hash, is_one);
        if (is_one) {
            memory.one[place] = slot;
            memory.other[place] = 0;
        }
    }
    __syncwarp();
    for (u32 place = lane(); place < n_places; place += WARP) {
        u32 first = table.slots[memory.one[place]];
        memory.one[place] = first;
        atomicAdd(&memory.other[first], 1);
    }
    __syncwarp();
}

// The characters in n-grams that the walk met before. `hashes` are those of `hash_letters`.
DEVICE u64 read_joined(const WordList& words, const GramMemory& memory, const u32* hashes, u32 n) {
    if (words.n < n) return 0;
    u32 n_places = words.n + 1 - n;
    number_joined(words, memory, hashes, n, n_places);
    // The slots are done with: the places that have an equal go there.
    u32* places = memory.slots;
    u32 n_repeated = 0;
    for (u32 base = 0; base < n_places; base += WARP) {
        u32 place = base + lane();
        bool repeats = place < n_places && memory.other[memory.one[place]] > 1;
        u32 repeated = __ballot_sync(ALL_LANES, repeats);
        if (repeats) places[n_repeated + lanes_below(repeated)] = place;
        n_repeated += __popc(repeated);
    }
    __syncwarp();
    // From here on a count of 0 says that the walk met the n-gram.
    u64 n_chars = 0;
    u32 next = 0;
    for (u32 base = 0; base < n_repeated; base += WARP) {
        u32 i = base + lane();
        u32 place = i < n_repeated ? places[i] : 0;
        u32 first = i < n_repeated ? memory.one[place] : 0;
        bool was_met = i < n_repeated && memory.other[first] == 0, is_new = false;
        u32 open = __ballot_sync(ALL_LANES, i < n_repeated && place >= next);
        while (open != 0) {
            u32 stop = __ffs(open) - 1;
            u32 at = __shfl_sync(ALL_LANES, place, stop), gram = __shfl_sync(ALL_LANES, first, stop);
            if (__shfl_sync(ALL_LANES, was_met, stop)) {
                n_chars += chars_from(words, at, at + n);
                next = at + n;
            } else {
                is_new = is_new || lane() == stop;
                was_met = was_met || first == gram;
                next = at + 1;
            }
            open &= __ballot_sync(ALL_LANES, place >= next);
        }
        __syncwarp();
        if (is_new) memory.other[first] = 0;
        __syncwarp();
    }
    return n_chars;
}
