// What a document says again: lines, paragraphs, n-grams of words and characters.
#include "lib/abi.cuh"

struct Repetition {
    u32 n_words;
};

DEVICE void read_repetition(Repetition& repetition, Text text, u32 parts, u32 word_grams, u32 refined_grams,
                            u64 joined_grams, u64 char_grams, u8* scratch, const u8* tables) {}
