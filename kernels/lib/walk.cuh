// The walk: characters by kind, words and lines, in one way over the bytes by the whole warp.
//
// Twin of src/ops/doc/walk.rs. The warp takes 32 bytes at a time, a lane each; ballots turn what the lanes see into
// masks, and the masks are worked on as numbers, by all lanes alike:
//
//   text      t w o   w o r d s .         a word is a run of bytes that are no white space
//   word      1 1 1 0 1 1 1 1 1 1 0 0     the first byte is the lowest bit, written left
//   begins    1 0 0 0 1 0 0 0 0 0 0 0     word & ~(word << 1)
//
// `word + letter` carries through a run exactly if the run has a letter, and the carry comes to rest behind it: one bit
// for each such word. A carry out of the last bit is added to the next 32 bytes, where it continues the run.
//
// The masks themselves are the words and lines: they stay in scratch memory, with the sums before them, so that any
// word or line is found again in a few steps (words.cuh, lines.cuh).
//
// Invariant: a part is valid only if it was asked for. Behind the text is white space.
// Not here: what repeats (repetition.cuh).
#include "lib/abi.cuh"
#include "lib/needs.cuh"
#include "lib/tables.cuh"
#include "lib/utf8.cuh"

static const u32 N_ASCII = 128;
static const u32 WARPS_OF_BLOCK = 4;

// Of 32 bytes: which are of words and which begin no character, and how many words and such bytes begin before them.
struct __align__(16) WordMarks {
    u32 word;
    u32 inner;
    u32 n_words;
    u32 n_inner;
};

// Of 32 bytes: where lines end. And of the line that is open before them: where it begins, its first byte that is no
// white space, or NOWHERE, and the byte after its last.
struct __align__(16) LineMarks {
    u32 ends;
    u32 start;
    u32 first;
    u32 last;
};

struct Walk {
    u32 n_chars;
    // Characters of ASCII, spread over the lanes: a lane holds those that are its number modulo 32. Then the classes of
    // other characters in the same way.
    u32 ascii[N_ASCII / WARP];
    u32 wide[MAX_CLASSES / WARP];
    u32 n_wide;
    // Words: all, their characters, those with a letter (`Alphabetic`), with a letter for Python, of symbols alone and
    // their characters.
    u32 n_words;
    u32 n_word_chars;
    u32 n_with_letter;
    u32 n_with_python_letter;
    u32 n_symbols;
    u32 n_symbol_chars;
    // Lines cut at line feeds: all, and those that are not blank.
    u32 n_lines;
    u32 n_full;
    // Lines cut at every kind of line break.
    u32 n_split_lines;
    WordMarks* words;
    LineMarks* lines;
    LineMarks* split_lines;
};

// Runs of a mask that have a bit of another: `carry` is 1 if the run that reaches into the next 32 bits has one.
struct Runs {
    u32 carry;

    // A bit behind each run of `mask` that has a bit of `hits`.
    __device__ __forceinline__ u32 with(u32 mask, u32 hits) {
        u64 sum = (u64)mask + (hits & mask) + carry;
        carry = (u32)(sum >> 32);
        return (u32)sum & ~mask;
    }
};

// The line that is open at the end of the bytes seen so far.
struct OpenLine {
    u32 start;
    u32 first;
    u32 last;

    // Goes over 32 bytes from `at` on; if a line ends in them, `next` is where the last that begins in them begins.
    __device__ __forceinline__ void pass(u32 at, u32 ends, u32 next, u32 word) {
        if (ends != 0) {
            start = next;
            first = NOWHERE;
            word &= ~below(WARP - __clz(ends));
        }
        if (word != 0) {
            if (first == NOWHERE) first = at + __ffs(word) - 1;
            last = at + WARP - __clz(word);
        }
    }
};

// How many bytes the line break has that begins at `at`; 0 if none does.
DEVICE u32 break_bytes(Text text, u32 at) {
    const u8 byte = text.bytes[at];
    if (byte == '\r') return at + 1 < text.n_bytes && text.bytes[at + 1] == '\n' ? 2 : 1;
    if (byte < 0x80) return is_between(byte, '\n', '\f') || is_between(byte, 0x1c, 0x1e) ? 1 : 0;
    if (byte == 0xc2) return text.bytes[at + 1] == 0x85 ? 2 : 0;
    if (byte != 0xe2 || text.bytes[at + 1] != 0x80) return 0;
    return (text.bytes[at + 2] | 1) == 0xa9 ? 3 : 0;
}

// How many characters there are of each kind, of ASCII and of classes, while a warp counts.
DEVICE u32* char_counters() {
    __shared__ u32 counters[WARPS_OF_BLOCK][N_ASCII + MAX_CLASSES];
    return counters[threadIdx.x / WARP % WARPS_OF_BLOCK];
}

// Finds the parts; gives the scratch memory that it left.
DEVICE u8* read_walk(Walk& found, Text text, u32 parts, u8* scratch, const u8* tables) {
    const bool chars = parts & NEEDS_CHARS;
    const bool counts = parts & NEEDS_WORD_COUNTS;
    const bool kinds = parts & NEEDS_WORD_KINDS;
    const bool lines = parts & NEEDS_LINES;
    const bool split_lines = parts & NEEDS_SPLIT_LINES;
    const bool words = (parts & NEEDS_WORDS) || lines;
    // Counted here and handed over at the end, so that it stays in registers whatever is done with `found`.
    Walk walk = Walk();
    found = walk;
    if (!(parts & (NEEDS_CHARS | NEEDS_WORD_COUNTS | NEEDS_LINES))) return scratch;

    const u32 n_marks = text.n_bytes / WARP + 1;
    if (words) {
        walk.words = (WordMarks*)scratch;
        scratch += n_marks * sizeof(WordMarks);
    }
    if (lines) {
        walk.lines = (LineMarks*)scratch;
        scratch += n_marks * sizeof(LineMarks);
    }
    if (split_lines) {
        walk.split_lines = (LineMarks*)scratch;
        scratch += n_marks * sizeof(LineMarks);
    }
    u32* counters = char_counters();
    if (chars) {
        for (u32 i = lane(); i < N_ASCII + MAX_CLASSES; i += WARP) counters[i] = 0;
        __syncwarp();
    }

    u32 n_inner = 0;
    // White-space bytes that a character has in the next 32; whether those continue a word, and its characters so far.
    u32 space_over = 0, in_word = 0, n_open_chars = 0;
    Runs alphabetic_runs = {0}, letter_runs = {0}, plain_runs = {0}, full_runs = {0};
    OpenLine line = {0, NOWHERE, 0}, split_line = {0, NOWHERE, 0};
    for (u32 number = 0; number < n_marks; number++) {
        const u32 start = number * WARP;
        const u32 at = start + lane();
        const bool is_inside = at < text.n_bytes;
        const u8 byte = is_inside ? text.bytes[at] : ' ';
        const u32 inner = __ballot_sync(ALL_LANES, is_inner(byte));
        bool is_alphabetic = is_letter(byte), is_python_letter = is_alphabetic;
        bool is_plain = is_alphabetic || is_digit(byte);
        u32 space = __ballot_sync(ALL_LANES, is_space(byte)) | space_over;
        space_over = 0;
        if (chars && byte < 0x80 && is_inside) atomicAdd(&counters[byte], 1);
        const u32 wide = __ballot_sync(ALL_LANES, byte >= 0xc0);
        if (wide != 0) {
            u32 n_space_bytes = 0;
            if (byte >= 0xc0) {
                const u32 number = class_of(tables, decode(text.bytes + at));
                const u32 properties = properties_of_class(tables, number);
                if (chars) atomicAdd(&counters[N_ASCII + number], 1);
                is_alphabetic = properties & ALPHABETIC;
                is_python_letter = properties & LETTER;
                is_plain = !(properties & SYMBOL);
                if (properties & SPACE) n_space_bytes = n_bytes_of(byte);
            }
            const u64 two = __ballot_sync(ALL_LANES, n_space_bytes >= 2);
            const u64 three = __ballot_sync(ALL_LANES, n_space_bytes == 3);
            const u64 wide_space = two | two << 1 | three << 2;
            space |= (u32)wide_space;
            space_over = (u32)(wide_space >> 32);
        }

        const u32 word = ~space;
        const u32 shifted = word << 1 | in_word;
        const u32 begins = word & ~shifted;
        if (words && lane() == 0) {
            WordMarks marks = {word, inner, walk.n_words, n_inner};
            walk.words[number] = marks;
        }
        if (counts) {
            walk.n_word_chars += __popc(word & ~inner);
            walk.n_with_letter +=
                __popc(alphabetic_runs.with(word, __ballot_sync(ALL_LANES, is_alphabetic)));
        }
        if (kinds) {
            walk.n_with_python_letter += __popc(letter_runs.with(word, __ballot_sync(ALL_LANES, is_python_letter)));
            u32 symbols = shifted & ~word & ~plain_runs.with(word, __ballot_sync(ALL_LANES, is_plain));
            walk.n_symbols += __popc(symbols);
            for (; symbols != 0; symbols &= symbols - 1) {
                const u32 end = __ffs(symbols) - 1;
                const u32 begin = WARP - __clz(space & below(end));
                walk.n_symbol_chars += __popc(~inner & below(end) & ~below(begin)) + (begin == 0 ? n_open_chars : 0);
            }
            const u32 last_begin = WARP - __clz(space);
            n_open_chars = __popc(~inner & ~below(last_begin)) + (last_begin == 0 ? n_open_chars : 0);
        }
        // Behind the text the last line ends.
        const u32 end = number + 1 == n_marks ? 1u << text.n_bytes % WARP : 0;
        if (lines) {
            const u32 feeds = __ballot_sync(ALL_LANES, byte == '\n') | end;
            if (lane() == 0) {
                LineMarks marks = {feeds, line.start, line.first, line.last};
                walk.lines[number] = marks;
            }
            walk.n_lines += __popc(feeds);
            walk.n_full += __popc(full_runs.with(~feeds, word));
            line.pass(start, feeds, start + WARP - __clz(feeds), word);
        }
        if (split_lines) {
            u32 n_break_bytes = 0;
            // Few bytes can begin a break.
            if (is_between(byte, '\n', '\r') || is_between(byte, 0x1c, 0x1e) || byte == 0xc2 || byte == 0xe2) {
                // A line feed after a carriage return belongs to that one's break.
                const bool is_second = byte == '\n' && at > 0 && text.bytes[at - 1] == '\r';
                n_break_bytes = is_second ? 0 : break_bytes(text, at);
            }
            u32 breaks = __ballot_sync(ALL_LANES, n_break_bytes > 0);
            const u32 last_break = breaks == 0 ? 0 : WARP - 1 - __clz(breaks);
            const u32 next = start + last_break + __shfl_sync(ALL_LANES, n_break_bytes, last_break);
            // A break at the end opens no further line.
            if (end != 0 && (breaks == 0 ? split_line.start : next) < text.n_bytes) breaks |= end;
            if (lane() == 0) {
                LineMarks marks = {breaks, split_line.start, split_line.first, split_line.last};
                walk.split_lines[number] = marks;
            }
            walk.n_split_lines += __popc(breaks);
            split_line.pass(start, breaks, next, word);
        }
        walk.n_words += __popc(begins);
        n_inner += __popc(inner);
        in_word = word >> 31;
    }
    walk.n_chars = text.n_bytes - n_inner;
    __syncwarp();
    if (chars) {
        for (u32 i = 0; i < N_ASCII / WARP; i++) walk.ascii[i] = counters[i * WARP + lane()];
        for (u32 i = 0; i < MAX_CLASSES / WARP; i++) walk.wide[i] = counters[N_ASCII + i * WARP + lane()];
        walk.n_wide = warp_sum(walk.wide[0] + walk.wide[1]);
        __syncwarp();
    }
    found = walk;
    return scratch;
}
