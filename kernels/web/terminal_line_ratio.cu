// terminal_line_ratio(text): the share of lines that end in a mark that ends a sentence, in any script.
#include "lib/line_kinds.cuh"

DEVICE f64 terminal_line_ratio(const Doc& doc, const Options& options) {
    u32 n_hits = 0;
    LinesOfKind lines(doc, options.text(0));
    while (lines.next()) {
        const Text line = lines.text(false);
        if (line.n_bytes == 0) continue;
        n_hits += (marks_of(doc.tables, character(line.bytes + before(line, line.n_bytes))) & IS_TERMINAL) != 0;
    }
    return ratio(warp_sum(n_hits), warp_sum(lines.n_lines));
}
