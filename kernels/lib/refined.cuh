// Words as Data-Juicer refines them: the device's side of src/ops/doc/refined.rs.
//
// Split at space, tab and line feed, in lower case, without special characters at their ends. A word begins with its first
// character that is not special; its letters are written from there on, and its end is moved on with each such character.
//
// Scratch memory for each byte of the document: 14 bytes, and 96 more, that of the n-grams with it. Lower case can be
// longer, by half at most.
#include "lib/case.cuh"
#include "lib/grams.cuh"
#include "lib/running_sum.cuh"

DEVICE bool splits_refined(u8 byte) { return byte == ' ' || byte == '\n' || byte == '\t'; }

// One of Data-Juicer's special characters.
DEVICE bool is_special(const u8* tables, u32 c) {
    if (c < 0x80) return c == ' ' || is_between(c, '\t', '\r') || is_digit(c) || is_ascii_punctuation(c);
    return properties_of(tables, c) & SPECIAL;
}

// Finds the words. The arrays have room for all there can be, `starts` for one more.
DEVICE void read_refined(WordList& words, const Text& text, const u8* tables) {
    CaseTable cases = case_table(tables);
    u32 n_letters = 0;
    bool was_begun = false;
    words.n = 0;
    for (u32 base = 0; base < text.n_bytes; base += WARP) {
        u32 at = base + lane();
        u8 byte = at < text.n_bytes ? text.bytes[at] : ' ';
        bool is_split = splits_refined(byte);
        // The character in lower case, and its bytes, the first lowest.
        u32 bytes = 0, n_bytes = 0;
        bool is_solid = false;
        if (!is_split && !is_inner(byte)) {
            u32 c = character(text.bytes + at), lower = c + case_shift(cases.info(c));
            if (c == CAPITAL_SIGMA && is_final_sigma(text, at, cases)) lower = FINAL_SIGMA;
            is_solid = !is_special(tables, lower);
            bytes = utf8_packed(lower);
            n_bytes = utf8_length(lower);
            // The letter i and the dot above it.
            if (c == DOTTED_I) {
                bytes |= utf8_packed(0x307) << 8;
                n_bytes = 3;
            }
        }
        u32 splits = __ballot_sync(ALL_LANES, is_split), solid = __ballot_sync(ALL_LANES, is_solid);
        // The lanes from the last split on, and whether their word began before these bytes.
        u32 splits_upto = splits & below(lane() + 1);
        u32 of_word = splits_upto == 0 ? ~0u : ~below(WARP - __clz(splits_upto));
        bool began_before = splits_upto == 0 && was_begun;
        bool is_begun = began_before || (solid & of_word & below(lane() + 1)) != 0;
        bool is_first = is_solid && !began_before && (solid & of_word & below(lane())) == 0;
        u32 splits_above = splits & ~below(lane() + 1);
        u32 to_split = splits_above == 0 ? ~0u : below(__ffs(splits_above) - 1);
        bool is_last = is_solid && (solid & to_split & ~below(lane() + 1)) == 0;

        if (!is_begun) n_bytes = 0;
        u32 n_written = warp_running_sum(n_bytes);
        u32 place = n_letters + n_written - n_bytes;
        for (u32 i = 0; i < n_bytes; i++) words.letters[place + i] = (u8)(bytes >> 8 * i);
        u32 firsts = __ballot_sync(ALL_LANES, is_first);
        u32 word = words.n + __popc(firsts & below(lane() + 1)) - 1;
        if (is_first) words.starts[word] = place;
        if (is_last) words.ends[word] = place + n_bytes;
        words.n += __popc(firsts);
        n_letters += __shfl_sync(ALL_LANES, n_written, WARP - 1);
        was_begun = __shfl_sync(ALL_LANES, is_begun, WARP - 1);
        // A word that goes on gets its end from another lane.
        __syncwarp();
    }
    if (lane() == 0) words.starts[words.n] = n_letters;
    // Nobody asks for the lengths of these n-grams: bytes do as well as characters.
    words.chars_before = words.starts;
    __syncwarp();
}
