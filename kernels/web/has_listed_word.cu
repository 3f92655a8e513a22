// has_listed_word(text, words): whether a word of a list occurs.
// 
// Each lane asks at its places whether a member begins there.
#include "lib/doc.cuh"
#include "lib/lower.cuh"

// Whether a character, in lower case, cannot be in a word of `bounded`.
DEVICE bool is_free(const u8* tables, u32 c) {
    if (c == DOTTED_I) return true;
    c = lower_of(tables, c);
    if (c < 0x80) return !is_letter(c) && !is_digit(c) && c != '_';
    return !(properties_of(tables, c) & LETTER) && !(marks_of(tables, c) & IS_NUMERIC);
}

// Whether what ends before `at`, or begins at `end`, is such a character, or nothing.
DEVICE bool ends_free(Text text, u32 at, const u8* tables) {
    return at == 0 || is_free(tables, character(text.bytes + before(text, at)));
}

DEVICE bool begins_free(Text text, u32 end, const u8* tables) {
    // Between the bytes of U+0130, the dot follows.
    return end == text.n_bytes || is_inner(text.bytes[end]) || is_free(tables, character(text.bytes + end));
}

DEVICE bool is_white(const u8* tables, u32 c) {
    return c < 0x80 ? is_space(c) : (properties_of(tables, c) & SPACE) != 0;
}

// The same with white space.
DEVICE bool ends_word(Text text, u32 at, const u8* tables) {
    return at == 0 || is_white(tables, character(text.bytes + before(text, at)));
}

DEVICE bool begins_space(Text text, u32 end, const u8* tables) {
    if (end == text.n_bytes) return true;
    return !is_inner(text.bytes[end]) && is_white(tables, character(text.bytes + end));
}

DEVICE bool has_space(Text member) {
    bool has = false;
    for (u32 i = 0; i < member.n_bytes; i++) has = has || member.bytes[i] == ' ';
    return has;
}

DEVICE bool has_listed_word(const Doc& doc, const Options& options) {
    const Text text = doc.text;
    const Text match = options.text(1);
    const bool bounded = match.bytes[0] == 'b', words = match.bytes[0] == 'w';
    for (u32 start = 0; start < text.n_bytes; start += WARP) {
        const u32 at = start + lane();
        bool is_here = false;
        if (at < text.n_bytes && !is_inner(text.bytes[at])) {
            const u32 begin = utf8_packed(lower_of(doc.tables, character(text.bytes + at)));
            const bool is_begin = bounded ? ends_free(text, at, doc.tables) : !words || ends_word(text, at, doc.tables);
            for (u32 i = 0; i < options.n_texts(0) && !is_here; i++) {
                const Text member = options.text_of(0, i);
                if (member.n_bytes == 0 || member.bytes[0] != (u8)begin) continue;
                const bool anywhere = words ? has_space(member) : !bounded;
                if (!is_begin && !anywhere) continue;
                const u32 end = end_of_lower(text, at, member, doc.tables);
                if (end == NOWHERE) continue;
                const bool is_end = words ? begins_space(text, end, doc.tables) : begins_free(text, end, doc.tables);
                is_here = anywhere || is_end;
            }
        }
        if (__any_sync(ALL_LANES, is_here)) return true;
    }
    return false;
}
