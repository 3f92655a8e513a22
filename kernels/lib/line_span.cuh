// Adding up lines that a rule marks: their number, or the characters they take with their line feeds. Twin of
// src/ops/web/line_span.rs.
#include "lib/lines.cuh"

// What a marked line adds, by the option `count`: lines, chars or lower_chars.
DEVICE u64 size_of_line(const Doc& doc, const Line& line, Text count) {
    if (count.n_bytes == 5 && count.bytes[1] == 'i') return 1;
    u64 n = (u64)line.n_chars + (line.end < doc.text.n_bytes);
    if (count.n_bytes == 5) return n;
    // The only character that lower case makes longer: U+0130.
    const u8* bytes = doc.text.bytes;
    for (u32 at = line.start; at + 1 < line.end; at++) n += bytes[at] == 0xc4 && bytes[at + 1] == 0xb0;
    return n;
}
