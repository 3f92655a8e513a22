// Words one after the other, where tables need them, from the marks that the walk left; and white space.
#include "lib/hash_table.cuh"
#include "lib/utf8.cuh"
#include "lib/walk.cuh"

// Words: word i is from letters[starts[i]] to letters[ends[i]], with chars_before[i] characters in the words before it.
struct WordList {
    u8* letters;
    u32* starts;
    u32* ends;
    u32* chars_before;
    u32 n;
};

// A text of n bytes has at most this many words, or pieces that are not empty.
DEVICE u32 most_pieces(u32 n_bytes) { return n_bytes / 2 + n_bytes % 2; }

// `n` numbers from the scratch memory, which begins after them from now on.
DEVICE u32* take_numbers(u8*& scratch, u32 n) {
    u32* numbers = (u32*)scratch;
    scratch += (u64)n * sizeof(u32);
    return numbers;
}

// Whether the byte at `at` belongs to white space as Python's str.split() sees it.
DEVICE bool is_white(const Text& text, u32 at) {
    if (text.bytes[at] < 0x80) return is_space(text.bytes[at]);
    at = before(text, at + 1);
    u32 lead = text.bytes[at];
    if (lead == 0xc2) {
        u32 second = text.bytes[at + 1];
        return second == 0x85 || second == 0xa0;
    }
    if (lead < 0xe1 || lead > 0xe3) return false;
    u32 rest = text.bytes[at + 1] << 8 | text.bytes[at + 2];
    if (lead == 0xe1) return rest == 0x9a80;
    if (lead == 0xe3) return rest == 0x8080;
    return (rest >= 0x8080 && rest <= 0x808a) || rest == 0x80a8 || rest == 0x80a9 || rest == 0x80af || rest == 0x819f;
}

// The words of `text`, which the walk has found, run together: each ends where the next one starts. The list's arrays
// have room for all there can be, and one more.
DEVICE void read_words(WordList& words, const Text& text, const WordMarks* marks) {
    u32 n_letters = 0, n_chars = 0, was_in_word = 0;
    words.n = 0;
    for (u32 base = 0; base < text.n_bytes; base += WARP) {
        u32 letters = marks[base / WARP].word;
        u32 chars = letters & ~marks[base / WARP].inner;
        u32 begins = letters & ~(letters << 1 | was_in_word);
        u32 place = n_letters + lanes_below(letters);
        if (letters >> lane() & 1) words.letters[place] = text.bytes[base + lane()];
        if (begins >> lane() & 1) {
            u32 word = words.n + lanes_below(begins);
            words.starts[word] = place;
            words.chars_before[word] = n_chars + lanes_below(chars);
        }
        words.n += __popc(begins);
        n_letters += __popc(letters);
        n_chars += __popc(chars);
        was_in_word = letters >> (WARP - 1);
    }
    if (lane() == 0) {
        words.starts[words.n] = n_letters;
        words.chars_before[words.n] = n_chars;
    }
    words.ends = words.starts + 1;
    __syncwarp();
}

DEVICE u32 count_chars(const Text& text) {
    u32 n_chars = 0;
    for (u32 at = lane(); at < text.n_bytes; at += WARP) n_chars += !is_inner(text.bytes[at]);
    return warp_sum(n_chars);
}
