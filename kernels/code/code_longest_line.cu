// code_longest_line(text): the length of the longest line between line feeds.
#include "lib/lines.cuh"

DEVICE i64 code_longest_line(const Doc& doc, const Options& options) {
    u32 longest = 0;
    for (LineCursor lines(doc, doc.walk.lines); lines.next();) {
        longest = lines.line.n_chars > longest ? lines.line.n_chars : longest;
    }
    return warp_max(longest);
}
