// juicer_words(text): the number of words as Data-Juicer counts them.
// 
// A word counts if it has a character that is not special. The marks of 32 bytes are worked on as in the walk.
#include "lib/doc.cuh"

DEVICE i64 juicer_words(const Doc& doc, const Options& options) {
    u32 n = 0;
    Runs plain = {0};
    for (u32 start = 0; start <= doc.text.n_bytes; start += WARP) {
        const u32 at = start + lane();
        const u8 byte = at < doc.text.n_bytes ? doc.text.bytes[at] : ' ';
        const bool is_white = byte == ' ' || is_between(byte, '\t', '\r');
        bool is_plain = byte < 0x80 && !is_white && !is_ascii_punctuation(byte) && !is_digit(byte);
        if (byte >= 0xc0) is_plain = !(properties_of(doc.tables, decode(doc.text.bytes + at)) & SPECIAL);
        const u32 ends = __ballot_sync(ALL_LANES, byte == ' ' || byte == '\t' || byte == '\n');
        n += __popc(plain.with(~ends, __ballot_sync(ALL_LANES, is_plain)));
    }
    return n;
}
