// The words of a document, found again from the marks that the walk left. Each lane goes over words of its own.
//
//   for (WordCursor words(doc); words.next();) n += words.end - words.start > 3;
//   n = warp_sum(n);
//
// Needs the words of the walk (`Needs::WORDS`). Nothing in such a loop may wait for other lanes.
#include "lib/doc.cuh"

// How many characters are between two places.
DEVICE u32 n_chars_between(const WordMarks* marks, u32 start, u32 end) {
    const WordMarks& from = marks[start / WARP];
    const WordMarks& to = marks[end / WARP];
    const u32 n_inner = to.n_inner + __popc(to.inner & below(end % WARP)) - from.n_inner -
                        __popc(from.inner & below(start % WARP));
    return end - start - n_inner;
}

// Which of 32 bytes begin words.
DEVICE u32 word_begins(const WordMarks* marks, u32 number) {
    const u32 word = marks[number].word;
    return word & ~(word << 1 | (number > 0 ? marks[number - 1].word >> 31 : 0));
}

// How many words begin before a place.
DEVICE u32 n_words_before(const WordMarks* marks, u32 at) {
    return marks[at / WARP].n_words + __popc(word_begins(marks, at / WARP) & below(at % WARP));
}

// The end of the word that `at` is in.
DEVICE u32 word_end(const WordMarks* marks, u32 at) {
    u32 number = at / WARP;
    u32 space = ~marks[number].word & ~below(at % WARP);
    // Behind the text is white space.
    while (space == 0) space = ~marks[++number].word;
    return number * WARP + __ffs(space) - 1;
}

struct WordCursor {
    const WordMarks* marks;
    u32 n_marks;
    u32 number;
    u32 begins;
    // The word.
    u32 start;
    u32 end;

    __device__ __forceinline__ WordCursor(const Doc& doc) : WordCursor(doc.walk.words, doc.text.n_bytes) {}

    __device__ __forceinline__ WordCursor(const WordMarks* marks, u32 n_bytes)
        : marks(marks), n_marks(n_bytes / WARP + 1), number(lane()), begins(0), start(0), end(0) {
        if (number < n_marks) begins = word_begins(marks, number);
    }

    // Goes to this lane's next word, if there is one.
    __device__ __forceinline__ bool next() {
        while (begins == 0) {
            number += WARP;
            if (number >= n_marks) return false;
            begins = word_begins(marks, number);
        }
        start = number * WARP + __ffs(begins) - 1;
        begins &= begins - 1;
        end = word_end(marks, start);
        return true;
    }

    __device__ __forceinline__ u32 n_chars() const { return n_chars_between(marks, start, end); }
};

// The length in characters of the longest word; 0 without words. `marks` are those of a text of `n_bytes`.
static __device__ __noinline__ u32 longest_word_chars(const WordMarks* marks, u32 n_bytes) {
    u32 longest = 0;
    for (WordCursor words(marks, n_bytes); words.next();) {
        const u32 n_chars = words.n_chars();
        longest = n_chars > longest ? n_chars : longest;
    }
    return warp_max(longest);
}

// The length of the word with `n` words before it, by length. `longest` is that of the last one.
static __device__ __noinline__ u32 word_chars_at(const WordMarks* marks, u32 n_bytes, u32 n, u32 longest) {
    // The least length that more than `n` words do not exceed.
    u32 low = 1, high = longest;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        u32 n_shorter = 0;
        for (WordCursor words(marks, n_bytes); words.next();) n_shorter += words.n_chars() <= middle;
        if (warp_sum(n_shorter) > n) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}
