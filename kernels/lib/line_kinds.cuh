// The ways to cut a document into lines, as the option `lines` names them: twin of src/ops/web/line_kinds.rs.
//
//   for (LinesOfKind lines(doc, options.text(1)); lines.next();) n += lines.line.n_chars > 80;
//
// Each lane goes over lines of its own; `n_lines` is how many the lane has seen.
#include "lib/lines.cuh"
#include "lib/search.cuh"

struct LinesOfKind {
    LineCursor cursor;
    u8 kind;
    u32 n_lines;
    Line line;

    // The second letter tells the kinds apart: all, merged, solid, crlf, any_break.
    __device__ __forceinline__ LinesOfKind(const Doc& doc, Text name)
        : cursor(doc, name.bytes[1] == 'n' ? doc.walk.split_lines : doc.walk.lines), kind(name.bytes[1]), n_lines(0) {}

    // Goes to this lane's next line, if there is one.
    __device__ __forceinline__ bool next() {
        while (cursor.next()) {
            line = cursor.line;
            if (is_counted()) {
                n_lines++;
                return true;
            }
        }
        return false;
    }

    __device__ __forceinline__ bool is_counted() {
        const Text text = cursor.doc.text;
        if (kind == 'o') return !line.is_blank();
        // Only at the ends of the document can a run of line feeds leave an empty piece.
        if (kind == 'e') return line.start < line.end || line.start == 0 || line.end == text.n_bytes;
        if (kind != 'r') return true;
        if (line.start < line.end && text.bytes[line.end - 1] == '\r') {
            line.end--;
            line.n_chars--;
        }
        return line.start < line.end;
    }

    // The line, without white space at its ends if `trimmed`.
    __device__ __forceinline__ Text text(bool trimmed) const {
        return part_of(cursor.doc.text, trimmed ? line.first : line.start, trimmed ? line.last : line.end);
    }
};
