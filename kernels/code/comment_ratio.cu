// comment_ratio(text, language): the share of comments in a source file. Twin of src/ops/code/comments.rs.
// 
// What a byte means depends on those before it, so the warp goes from one mark to the next, and looks for each as one.
#include "lib/doc.cuh"
#include "lib/find.cuh"

struct Comments {
    u64 n_comments;
    u64 n_chars;
    // False where they cannot be told: a comment never ends.
    bool known;

    __device__ __forceinline__ void add(Text text, u32 start, u32 end) {
        n_comments++;
        n_chars += n_chars_from_to(text, start, end);
    }
};

DEVICE u32 line_end(Text text, u32 at) { return next_of(text, at, '\n', '\n', '\n', '\n'); }

// C and HTML: comments outside of `"…"`, which ends on its line and knows no escapes.
static __device__ __noinline__ void between_literals(Comments& comments, Text text, u8 first, Text open, Text close) {
    u32 at = 0;
    while ((at = next_of(text, at, '"', first, first, first)) < text.n_bytes) {
        if (text.bytes[at] == '"') {
            const u32 end = next_of(text, at + 1, '"', '\n', '"', '\n');
            at = end < text.n_bytes && text.bytes[end] == '"' ? end + 1 : at + 1;
        } else if (first == '/' && is_at(text, at, literal("//"))) {
            const u32 end = line_end(text, at + 2);
            comments.add(text, at + 2, end);
            at = end;
        } else if (is_at(text, at, open)) {
            const u32 end = next_string(text, at + open.n_bytes, close);
            if (end == NOWHERE) {
                comments.known = false;
                return;
            }
            comments.add(text, at + open.n_bytes, end);
            at = end + close.n_bytes;
        } else {
            at++;
        }
    }
}

// Where a string ends whose opening quote is just before `at`: after the next quote without a backslash before it.
DEVICE u32 after_string(Text text, u32 at, u8 quote) {
    while ((at = next_of(text, at, '\\', quote, quote, quote)) < text.n_bytes) {
        if (text.bytes[at] == quote) return at + 1;
        at += 2;
    }
    return at;
}

// Go and JavaScript: strings have escapes and may span lines; a slash that opens no comment hides what follows it.
// `quote` is one besides `"` and `'`.
static __device__ __noinline__ void slashes(Comments& comments, Text text, u8 quote) {
    u32 at = 0;
    while ((at = next_of(text, at, '/', '"', '\'', quote)) < text.n_bytes) {
        const u8 byte = text.bytes[at];
        at++;
        if (byte != '/') {
            at = after_string(text, at, byte);
            continue;
        }
        const u8 second = at < text.n_bytes ? text.bytes[at] : 0;
        if (second == '/') {
            const u32 end = line_end(text, at + 1);
            comments.add(text, at + 1, end);
            at = end + 1;
        } else if (second == '*') {
            const u32 end = next_string(text, at + 1, literal("*/"));
            if (end == NOWHERE) {
                comments.known = false;
                return;
            }
            comments.add(text, at + 1, end);
            at = end + 2;
        } else {
            at++;
        }
    }
}

// Shell: `#` anywhere outside of strings and not after a backslash.
static __device__ __noinline__ void shell(Comments& comments, Text text) {
    u32 at = 0;
    while ((at = next_of(text, at, '#', '"', '\'', '\\')) < text.n_bytes) {
        const u8 byte = text.bytes[at];
        at++;
        if (byte == '#') {
            const u32 end = line_end(text, at);
            comments.add(text, at, end);
            at = end + 1;
        } else if (byte == '\\') {
            at++;
        } else {
            at = after_string(text, at, byte);
        }
    }
}

// Where a string of Ruby ends that begins at `start`, on its line; NOWHERE if it does not. A quote after a backslash
// ends it only if no other quote of the line does.
DEVICE u32 after_ruby_string(Text text, u32 start) {
    const u8 quote = text.bytes[start];
    u32 escaped = NOWHERE, at = start + 1;
    while ((at = next_of(text, at, '\n', '\\', quote, quote)) < text.n_bytes) {
        const u8 byte = text.bytes[at];
        if (byte == '\n') break;
        if (byte == quote) return at + 1;
        at++;
        if (at < text.n_bytes && text.bytes[at] == quote) escaped = ++at;
    }
    return escaped;
}

// Ruby: `#` outside of strings that end on their line.
static __device__ __noinline__ void ruby(Comments& comments, Text text) {
    u32 at = 0;
    while ((at = next_of(text, at, '"', '\'', '#', '#')) < text.n_bytes) {
        if (text.bytes[at] == '#') {
            const u32 end = line_end(text, at + 1);
            comments.add(text, at + 1, end);
            at = end;
        } else {
            const u32 end = after_ruby_string(text, at);
            at = end == NOWHERE ? at + 1 : end;
        }
    }
}

DEVICE f64 comment_ratio(const Doc& doc, const Options& options) {
    const Text text = doc.text, language = options.text(0);
    Comments comments = {0, 0, true};
    switch (language.bytes[0]) {
        case 'c': between_literals(comments, text, '/', literal("/*"), literal("*/")); break;
        case 'h': between_literals(comments, text, '<', literal("<!--"), literal("-->")); break;
        case 'g': slashes(comments, text, '`'); break;
        case 'j': slashes(comments, text, '"'); break;
        case 'r': ruby(comments, text); break;
        default: shell(comments, text);
    }
    if (!comments.known) return 9999.0;
    const u64 n_between = comments.n_comments > 0 ? comments.n_comments - 1 : 0;
    return ratio(comments.n_chars + n_between, n_chars_from_to(text, 0, text.n_bytes));
}
