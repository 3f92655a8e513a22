// The lines of a document, found again from the marks that the walk left. Each lane goes over lines of its own.
//
//   for (LineCursor lines(doc, doc.walk.lines); lines.next();) n += lines.line.n_chars > 80;
//   n = warp_sum(n);
//
// `doc.walk.lines` are those cut at line feeds (`Needs::LINES`), `doc.walk.split_lines` those cut at every kind of line
// break (`Needs::SPLIT_LINES`). Nothing in such a loop may wait for other lanes.
#include "lib/doc.cuh"
#include "lib/words.cuh"

// A line without its end: as `Line` in src/ops/doc/lines.rs.
struct Line {
    u32 start;
    u32 end;
    // Without the white space at its ends; both are `end` for a blank line.
    u32 first;
    u32 last;
    u32 n_chars;
    u32 n_words;

    __device__ __forceinline__ bool is_blank() const { return first == last; }
};

// The line that ends at `end`.
DEVICE Line line_ending_at(const Doc& doc, const LineMarks* lines, u32 end) {
    const LineMarks marks = lines[end / WARP];
    const u32 before_end = below(end % WARP);
    const u32 ends = marks.ends & before_end;
    u32 word = doc.walk.words[end / WARP].word & before_end;
    Line line = {marks.start, end, marks.first, marks.last, 0, 0};
    if (ends != 0) {
        const u32 before = end / WARP * WARP + WARP - 1 - __clz(ends);
        line.start = before + break_bytes(doc.text, before);
        line.first = NOWHERE;
        word &= ~below(WARP - __clz(ends));
    }
    if (word != 0) {
        if (line.first == NOWHERE) line.first = end / WARP * WARP + __ffs(word) - 1;
        line.last = end / WARP * WARP + WARP - __clz(word);
    }
    if (line.first == NOWHERE) line.first = line.last = end;
    line.n_chars = n_chars_between(doc.walk.words, line.start, end);
    line.n_words = n_words_before(doc.walk.words, end) - n_words_before(doc.walk.words, line.start);
    return line;
}

struct LineCursor {
    const Doc& doc;
    const LineMarks* lines;
    u32 number;
    u32 ends;
    Line line;

    __device__ __forceinline__ LineCursor(const Doc& doc, const LineMarks* lines)
        : doc(doc), lines(lines), number(lane()), ends(0) {
        if (number <= doc.text.n_bytes / WARP) ends = lines[number].ends;
    }

    // Goes to this lane's next line, if there is one.
    __device__ __forceinline__ bool next() {
        while (ends == 0) {
            number += WARP;
            if (number > doc.text.n_bytes / WARP) return false;
            ends = lines[number].ends;
        }
        line = line_ending_at(doc, lines, number * WARP + __ffs(ends) - 1);
        ends &= ends - 1;
        return true;
    }
};
