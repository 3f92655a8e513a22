// A text made ready to be cut into shingles: src/ops/dedup/shingler/{fold,simplify,spans}.rs.
//
// Lanes take a byte each; the lane of a character's first byte says what becomes of the character, and the warp then
// puts the pieces one after the other. Where words or tokens are wanted, one space parts them and none is at the ends.
#include "lib/case.cuh"
#include "lib/running_sum.cuh"
#include "lib/signs.cuh"

// What is done.
enum Fold {
    FOLD_NOTHING,  // a copy
    FOLD_SPACES,   // words are what is not white space
    FOLD_CASE,     // lower case
    FOLD_WORDS,    // lower case; words are of letters, digits and `_`
    FOLD_SIMPLE,   // datatrove's
    FOLD_TOKENS,   // tokens are runs of letters and digits, and each other character that is not white space
};

// Spaces after a folded text, so that a lane may read on.
static const u32 FOLD_PADDING = 32;

// What becomes of a character: text, and whether words are parted before or after it; the text is the signs of a run.
static const u32 PIECE_TEXT = 1, PIECE_GAP_BEFORE = 2, PIECE_GAP_AFTER = 4, PIECE_SIGNS = 8;

struct Piece {
    u32 flags;
    u32 n_bytes;
    // The bytes, the first in the lowest eight bits; or where they are.
    u32 packed;
    const u8* bytes;
    // Or the Hangul syllable whose letters they are.
    u32 syllable;

    __device__ __forceinline__ u8 byte(u32 i) const {
        if (syllable) return hangul_byte(syllable, i);
        return bytes ? bytes[i] : (u8)(packed >> (8 * i));
    }
};

DEVICE void piece_gap(Piece& piece) { piece.flags = PIECE_GAP_AFTER; }

DEVICE void piece_char(Piece& piece, u32 c) {
    piece.flags = PIECE_TEXT;
    piece.n_bytes = utf8_length(c);
    piece.packed = utf8_packed(c);
}

// What is done to ASCII: a bit for each character that is part of a word, and for each that is a token by itself.
struct AsciiFold {
    u32 text[4];
    u32 alone[4];
    bool to_lower;
};

DEVICE AsciiFold ascii_fold(u32 how) {
    // The characters 0–31, 32–63, 64–95 and 96–127.
    const AsciiFold all = {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}, {0, 0, 0, 0}, how == FOLD_CASE};
    const AsciiFold not_space = {{0x0fffc1ffu, 0xfffffffeu, 0xffffffffu, 0xffffffffu}, {0, 0, 0, 0}, false};
    const AsciiFold in_word = {{0, 0x03ff0000u, 0x87fffffeu, 0x07fffffeu}, {0, 0, 0, 0}, true};
    AsciiFold found = all;
    if (how == FOLD_SPACES || how == FOLD_TOKENS) found = not_space;
    if (how == FOLD_WORDS || how == FOLD_SIMPLE) found = in_word;
    if (how == FOLD_SIMPLE) found.text[2] = 0x07fffffeu;
    if (how == FOLD_TOKENS) {
        found.alone[0] = 0x0fffc1ffu;
        found.alone[1] = 0xfc00fffeu;
        found.alone[2] = found.alone[3] = 0xf8000001u;
    }
    return found;
}

// The bit of an ASCII character.
DEVICE bool ascii_bit(const u32 (&bits)[4], u32 c) {
    u32 low = c & 32 ? bits[1] : bits[0], high = c & 32 ? bits[3] : bits[2];
    return (c & 64 ? high : low) >> (c & 31) & 1;
}

DEVICE u32 ascii_lower(const AsciiFold& fold, u32 c) { return fold.to_lower && c - 'A' < 26 ? c | 32 : c; }

// A character outside ASCII that begins at `at`.
DEVICE void fold_char(Piece& piece, u32 how, Text text, u32 at, u32 c, const CaseTable& table) {
    u32 info = table.info(c);
    u32 lower = c + case_shift(info);
    if (c == CAPITAL_SIGMA) lower = is_final_sigma(text, at, table) ? FINAL_SIGMA : SMALL_SIGMA;
    switch (how) {
        case FOLD_NOTHING: piece_char(piece, c); break;
        case FOLD_SPACES: info & CASE_SPACE ? piece_gap(piece) : piece_char(piece, c); break;
        case FOLD_CASE:
            piece_char(piece, lower);
            if (c == DOTTED_I) {
                piece.n_bytes = 3;
                piece.packed = 0x87cc69;  // i, and the dot above it
            }
            break;
        case FOLD_WORDS:
            info & CASE_WORD ? piece_char(piece, lower) : piece_gap(piece);
            // The dot that it leaves behind is no letter.
            if (c == DOTTED_I) piece.flags |= PIECE_GAP_AFTER;
            break;
        case FOLD_SIMPLE:
            if (info & (CASE_SPACE | CASE_PUNCTUATION)) {
                piece_gap(piece);
            } else if (is_hangul_syllable(c)) {
                piece.flags = PIECE_TEXT;
                piece.n_bytes = hangul_length(c);
                piece.syllable = c;
            } else if (case_order(info)) {
                // Later signs of a run are written with its first.
                if (is_first_of_signs(text, at, info, table)) {
                    piece.flags = PIECE_TEXT | PIECE_SIGNS;
                    piece.n_bytes = write_signs(text, at, table, 0);
                }
            } else if (info & CASE_STRIPPED) {
                u32 n_bytes;
                piece.bytes = table.stripped(c, n_bytes);
                piece.n_bytes = n_bytes;
                if (n_bytes > 0) piece.flags = PIECE_TEXT;
            } else {
                piece_char(piece, lower);
            }
            break;
        case FOLD_TOKENS:
            info & CASE_SPACE ? piece_gap(piece) : piece_char(piece, c);
            if (!(info & (CASE_SPACE | CASE_RUN))) piece.flags = PIECE_TEXT | PIECE_GAP_BEFORE | PIECE_GAP_AFTER;
            break;
    }
}

// Where the last bytes left off.
struct FoldState {
    // Words are parted here.
    bool gap;
    // The last character was a digit.
    bool digit;
    // How many decimal separators the number so far has, which may begin anew at each second one.
    u32 n_separators;
};

DEVICE bool is_separator(u32 c) {
    return c == '.' || c == ',' || c == 0x60c || c == 0x66b || c - 0x2396 < 3;
}

DEVICE bool is_digit_at(Text text, u32 at, const CaseTable& table) {
    if (at >= text.n_bytes) return false;
    u32 c = utf8_char(text, at);
    return c < 0x80 ? c - '0' < 10 : (table.info(c) & CASE_DIGIT) != 0;
}

// A number, digits and digits after one separator, is one 0. All lanes come here; `c` counts where `first` is set.
DEVICE void fold_numbers(Piece& piece, FoldState& state, Text text, u32 at, u32 c, bool first, const CaseTable& table) {
    u32 before = (1u << lane()) - 1;
    bool digit = first && (c < 0x80 ? c - '0' < 10 : (table.info(c) & CASE_DIGIT) != 0);
    u32 firsts = __ballot_sync(ALL_LANES, first), digits = __ballot_sync(ALL_LANES, digit);
    if (digits == 0 && !state.digit) {
        state.n_separators = 0;
        return;
    }
    u32 earlier = firsts & before;
    bool after_digit = earlier == 0 ? state.digit : digits >> (31 - __clz(earlier)) & 1;
    bool separator = first && is_separator(c) && after_digit && is_digit_at(text, at + utf8_length(c), table);
    u32 separators = __ballot_sync(ALL_LANES, separator);
    // The separators since the last character that is part of no number.
    u32 breaks = firsts & ~digits & ~separators;
    u32 since = (breaks & before) == 0 ? before : before & ~(0xffffffffu >> __clz(breaks & before));
    u32 n_separators = __popc(separators & since) + ((breaks & before) == 0 ? state.n_separators : 0);
    bool decimals = n_separators % 2 == 1;
    if (digit) {
        piece.flags = 0;
        if (!decimals && !after_digit) piece_char(piece, '0');
    } else if (separator && !decimals) {
        piece.flags = 0;
    }
    u32 last_breaks = breaks == 0 ? 0xffffffffu : ~(0xffffffffu >> __clz(breaks));
    state.n_separators = __popc(separators & last_breaks) + (breaks == 0 ? state.n_separators : 0);
    if (firsts != 0) state.digit = digits >> (31 - __clz(firsts)) & 1;
}

// Folds up to 32 bytes that are all ASCII and, if numbers matter, no digits; gives how many bytes it wrote.
DEVICE u32 fold_ascii(const AsciiFold& ascii, FoldState& state, u32 c, u32 n_bytes, bool joins, bool is_start, u8* out) {
    u32 before = (1u << lane()) - 1;
    bool inside = lane() < n_bytes;
    u32 texts = __ballot_sync(ALL_LANES, inside && ascii_bit(ascii.text, c));
    u32 spaces = 0;
    if (joins) {
        u32 alone = __ballot_sync(ALL_LANES, inside && ascii_bit(ascii.alone, c));
        u32 gaps_after = ~texts | alone;
        spaces = texts & (gaps_after << 1 | state.gap | alone);
        if (is_start) spaces &= ~(texts & (0 - texts));
        state.gap = gaps_after >> (n_bytes - 1) & 1;
    }
    if (texts >> lane() & 1) {
        u8* to = out + __popc(texts & before) + __popc(spaces & before);
        if (spaces >> lane() & 1) *to++ = ' ';
        *to = (u8)ascii_lower(ascii, c);
    }
    return __popc(texts) + __popc(spaces);
}

// Puts the pieces of all lanes, each of what is at its `at`, one after the other; gives how many bytes it wrote.
DEVICE u32 write_pieces(
    const Piece& piece, FoldState& state, Text text, u32 at, bool joins, bool is_start, u8* out, const CaseTable& table
) {
    u32 before = (1u << lane()) - 1;
    bool has_text = piece.flags & PIECE_TEXT;
    u32 texts = __ballot_sync(ALL_LANES, has_text);
    bool has_space = false;
    if (joins) {
        u32 pieces = __ballot_sync(ALL_LANES, piece.flags != 0);
        u32 gaps_after = __ballot_sync(ALL_LANES, piece.flags & PIECE_GAP_AFTER);
        u32 earlier = pieces & before;
        bool gap = earlier == 0 ? state.gap : gaps_after >> (31 - __clz(earlier)) & 1;
        bool is_first = is_start && (texts & before) == 0;
        has_space = has_text && !is_first && (gap || piece.flags & PIECE_GAP_BEFORE);
        if (pieces != 0) state.gap = gaps_after >> (31 - __clz(pieces)) & 1;
    }
    u32 n_bytes = has_text ? piece.n_bytes + has_space : 0;
    u32 sum = warp_running_sum(n_bytes);
    if (has_text) {
        u8* to = out + sum - n_bytes;
        if (has_space) *to++ = ' ';
        if (piece.flags & PIECE_SIGNS) {
            write_signs(text, at, table, to);
        } else {
            for (u32 i = 0; i < piece.n_bytes; i++) to[i] = piece.byte(i);
        }
    }
    return __shfl_sync(ALL_LANES, sum, WARP - 1);
}

// Writes the folded text to `out`, with spaces as padding; gives its length.
static __device__ __noinline__ u32 fold(Text text, u32 how, u8* out, const u8* tables) {
    CaseTable table = case_table(tables);
    AsciiFold ascii = ascii_fold(how);
    bool joins = how != FOLD_NOTHING && how != FOLD_CASE, has_numbers = how == FOLD_SIMPLE;
    u32 n_out = 0;
    FoldState state = {true, false, 0};
    for (u32 tile = 0; tile < text.n_bytes; tile += WARP) {
        u32 n_bytes = text.n_bytes - tile < WARP ? text.n_bytes - tile : WARP;
        u32 at = tile + lane();
        bool inside = lane() < n_bytes;
        u32 c = inside ? text.bytes[at] : ' ';
        bool is_plain = c < 0x80 && !(has_numbers && (state.digit || c - '0' < 10));
        if (__all_sync(ALL_LANES, is_plain)) {
            n_out += fold_ascii(ascii, state, c, n_bytes, joins, n_out == 0, out + n_out);
            state.n_separators = 0;
            continue;
        }
        bool first = inside && (c & 0xc0) != 0x80;
        Piece piece = {0, 0, 0, 0, 0};
        if (first && c < 0x80) {
            piece_char(piece, ascii_lower(ascii, c));
            if (!ascii_bit(ascii.text, c)) piece_gap(piece);
            if (ascii_bit(ascii.alone, c)) piece.flags |= PIECE_GAP_BEFORE | PIECE_GAP_AFTER;
        } else if (first) {
            c = utf8_char(text, at);
            fold_char(piece, how, text, at, c, table);
        }
        if (has_numbers) fold_numbers(piece, state, text, at, c, first, table);
        n_out += write_pieces(piece, state, text, at, joins, n_out == 0, out + n_out, table);
    }
    out[n_out + lane()] = ' ';
    __syncwarp();
    return n_out;
}
