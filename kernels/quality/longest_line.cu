// longest_line(text): the length of the longest line.
#include "lib/lines.cuh"

DEVICE i64 longest_line(const Doc& doc, const Options& options) {
    u32 longest = 0;
    for (LineCursor lines(doc, doc.walk.split_lines); lines.next();) {
        longest = lines.line.n_chars > longest ? lines.line.n_chars : longest;
    }
    return warp_max(longest);
}
