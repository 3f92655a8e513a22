// Runs of n characters that occur more than once: the device's side of src/ops/doc/char_grams.rs.
//
// Scratch memory for each byte of the document: 14 bytes, and 16 more.
#include "lib/spans.cuh"

// Counts the runs of n characters in the table; `counts` has a number for each slot.
DEVICE void count_runs(const Table& table, u32* counts, const Text& text, u32 n) {
    for (u32 start = lane(); start < text.n_bytes; start += WARP) {
        if (is_inner(text.bytes[start])) continue;
        u32 end = start, n_chars = 0, hash = 0;
        for (; end < text.n_bytes; end++) {
            u8 byte = text.bytes[end];
            if (!is_inner(byte) && n_chars++ == n) break;
            hash = hash * HASH_BASE + byte + 1;
        }
        // The last characters begin no run.
        if (n_chars < n) continue;
        u32 slot = first_slot(table, hash);
        while (true) {
            u32 holder = atomicCAS(&table.slots[slot], FREE_SLOT, start);
            if (holder == FREE_SLOT) break;
            // Equal bytes are as many characters.
            u32 i = 0, n_bytes = end - start;
            if (text.n_bytes - holder >= n_bytes) {
                while (i < n_bytes && text.bytes[holder + i] == text.bytes[start + i]) i++;
            }
            if (i == n_bytes) break;
            slot = next_slot(table, slot);
        }
        atomicAdd(&counts[slot], 1);
    }
    __syncwarp();
}

// How many of the counts are at least `bound`.
DEVICE u32 n_from(const u32* counts, u32 n, u32 bound) {
    u32 found = 0;
    for (u32 i = lane(); i < n; i += WARP) found += counts[i] >= bound;
    return warp_sum(found);
}

// The sum of the `n_top` largest of n counts that are at least 2.
DEVICE u32 sum_of_top(const u32* counts, u32 n, u32 n_top) {
    // The largest bound that n_top of them reach.
    u32 largest = 0;
    for (u32 i = lane(); i < n; i += WARP) largest = counts[i] > largest ? counts[i] : largest;
    u32 low = 2, high = warp_max(largest);
    while (n_top < n && low < high) {
        u32 middle = low + (high - low + 1) / 2;
        if (n_from(counts, n, middle) >= n_top) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    u32 bound = n_top < n ? low : 1, sum = 0, n_above = 0;
    for (u32 i = lane(); i < n; i += WARP) {
        if (counts[i] > bound) {
            sum += counts[i];
            n_above++;
        }
    }
    return warp_sum(sum) + (n_top - warp_sum(n_above)) * bound;
}

// The occurrences of the most frequent runs of n characters among all: as many runs as the root of those that differ,
// but none that occurs once.
DEVICE f64 top_run_ratio(const Text& text, u32 n_chars, u32 n, u8* scratch) {
    if (n_chars < n) return 0.0;
    u32 n_runs = n_chars + 1 - n;
    // Nearly all runs differ, and lanes wait for the one that searches longest: more slots than elsewhere.
    u32 n_slots = text.n_bytes + text.n_bytes / 4 * 3 + 2;
    u32* slots = take_numbers(scratch, n_slots);
    u32* counts = take_numbers(scratch, n_slots);
    Table table = clear_table(slots, n_runs, n_slots);
    for (u32 slot = lane(); slot < table.n_slots; slot += WARP) counts[slot] = 0;
    __syncwarp();
    count_runs(table, counts, text, n);
    // The slots are done with: the counts above 1 go there.
    u32 n_distinct = 0, n_repeated = 0;
    for (u32 base = 0; base < table.n_slots; base += WARP) {
        u32 count = base + lane() < table.n_slots ? counts[base + lane()] : 0;
        u32 repeated = __ballot_sync(ALL_LANES, count > 1);
        if (count > 1) slots[n_repeated + lanes_below(repeated)] = count;
        n_repeated += __popc(repeated);
        n_distinct += __popc(__ballot_sync(ALL_LANES, count > 0));
    }
    __syncwarp();
    u32 root = (u32)sqrt((f64)n_distinct);
    f64 answer = ratio(sum_of_top(slots, n_repeated, root < n_repeated ? root : n_repeated), n_runs);
    __syncwarp();
    return answer;
}
