// sentences(text): the number of sentences.
// 
// What ends a sentence cuts the text into pieces; those with a letter or digit are sentences. The marks of 32 bytes are
// worked on together, as in the walk.
#include "lib/doc.cuh"

DEVICE i64 sentences(const Doc& doc, const Options& options) {
    u32 n = 0;
    Runs sentences = {0};
    for (u32 start = 0; start <= doc.text.n_bytes; start += WARP) {
        const u32 at = start + lane();
        // Behind the text a sentence ends.
        bool is_word = false, is_end = at >= doc.text.n_bytes;
        if (!is_end) {
            const u8 byte = doc.text.bytes[at];
            const bool is_mark = byte == '.' || byte == '?' || byte == '!';
            is_word = is_letter(byte) || is_digit(byte);
            if (byte >= 0xc0) {
                const u32 c = decode(doc.text.bytes + at);
                is_word = marks_of(doc.tables, c) & IS_ALPHANUMERIC;
                is_end = c == 0x3002 || c == 0xff1f || c == 0xff01;
            }
            // A mark ends a sentence if no letter or digit, nor another mark, follows.
            if (!is_word && !is_mark && !is_inner(byte) && at > 0) {
                const u8 last = doc.text.bytes[at - 1];
                is_end = is_end || last == '.' || last == '?' || last == '!';
            }
        }
        const u32 ends = __ballot_sync(ALL_LANES, is_end);
        n += __popc(sentences.with(~ends, __ballot_sync(ALL_LANES, is_word)));
    }
    return n;
}
