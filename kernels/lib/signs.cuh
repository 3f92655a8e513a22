// Signs that stay when accents are dropped, in canonical order: `nfd` in src/ops/dedup/shingler/simplify.rs.
//
// Signs that follow each other on one character are a run, the accents among them included. Unicode puts a run in the order
// of its classes, those of one class as they are written. Accents leave nothing, so their order is of no matter; of the
// others (viramas, stems of musical notes) there are few in ordinary texts, so that one lane writes those of a whole run:
// the lane of the first character that leaves one.
#include "lib/case.cuh"
#include "lib/utf8.cuh"

// Whether no character before `at` leaves a sign in the run of the one there.
DEVICE bool is_first_of_signs(Text text, u32 at, u32 info, const CaseTable& table) {
    while (info & CASE_ATTACHED && at > 0) {
        at = before(text, at);
        info = table.info(utf8_char(text, at));
        if (case_order(info)) return false;
    }
    return true;
}

// Writes what the character at `at` leaves and the signs of its run; gives the number of bytes. Without `out` it counts.
static __device__ __noinline__ u32 write_signs(Text text, u32 at, CaseTable table, u8* out) {
    u32 n_out = 0;
    // Once over the run for each class that is in it; before them the 0 of the character that bears the signs.
    for (u32 order = 0, next; order <= CASE_LAST_ORDER; order = next) {
        next = CASE_LAST_ORDER + 1;
        for (u32 i = at; i < text.n_bytes; i += n_bytes_of(text.bytes[i])) {
            u32 c = utf8_char(text, i), info = table.info(c);
            if (i > at && !(info & CASE_ATTACHED)) break;
            if (!case_order(info)) continue;
            // A sign has no upper case, so it is left as it stands, or it is a character of several.
            u32 n_left = n_bytes_of(text.bytes[i]);
            const u8* left = info & CASE_STRIPPED ? table.stripped(c, n_left) : text.bytes + i;
            for (u32 j = 0, n_bytes; j < n_left; j += n_bytes) {
                n_bytes = n_bytes_of(left[j]);
                u32 its_order = case_order(table.info(character(left + j)));
                if (its_order > order && its_order < next) next = its_order;
                if (its_order != order) continue;
                for (u32 k = 0; out && k < n_bytes; k++) out[n_out + k] = left[j + k];
                n_out += n_bytes;
            }
        }
    }
    return n_out;
}
