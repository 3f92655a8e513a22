// What a document says again: lines, paragraphs, n-grams of words and characters. The device's side of
// src/ops/doc/repetition.rs, whose `Needs::repetition_scratch` knows how much memory the parts take.
//
// Parts use the same memory one after the other; the words and their n-grams come last and stay.
#include "lib/char_grams.cuh"
#include "lib/joined.cuh"
#include "lib/refined.cuh"
#include "lib/repeats.cuh"

struct Repetition {
    RepeatTable lines;
    RepeatTable paragraphs;
    RepeatTable blocks;
    Grams grams;
    // Only what `level_of` and `n_grams` read.
    Grams refined;
    // For each n asked for, from the least up: characters in n-grams of words run together that a walk met before, and
    // the ratio of the most frequent runs of n characters.
    u64* joined_chars;
    f64* run_ratios;
    u64 joined_grams;
    u64 char_grams;
    u32 n_chars;
};

// The place of what was found for n among the lengths asked for, which have bit n - 1 each.
DEVICE u32 place_of_length(u64 lengths, u32 n) { return __popcll(lengths & (((u64)1 << (n - 1)) - 1)); }

// `walk` holds what it was asked for.
DEVICE void read_repetition(Repetition& repetition, Text text, const Walk& walk, u32 parts, u32 word_grams,
                            u32 refined_grams, u64 joined_grams, u64 char_grams, u8* scratch, const u8* tables) {
    u32 tables_of_lines = NEEDS_LINE_REPEATS | NEEDS_PARAGRAPH_REPEATS | NEEDS_BLOCK_REPEATS;
    if ((parts & tables_of_lines) == 0 && word_grams == 0 && refined_grams == 0 && joined_grams == 0 && char_grams == 0) {
        return;
    }
    bool has_walked = parts & (NEEDS_CHARS | NEEDS_WORD_COUNTS | NEEDS_LINES);
    repetition.n_chars = has_walked ? walk.n_chars : count_chars(text);
    // What stays: results that are as many as the lengths asked for.
    scratch = (u8*)(((u64)scratch + 15) & ~(u64)15);
    Grams& grams = repetition.grams;
    grams.levels = (Level*)scratch;
    repetition.refined.levels = grams.levels + word_grams;
    repetition.joined_chars = (u64*)(repetition.refined.levels + refined_grams);
    repetition.run_ratios = (f64*)(repetition.joined_chars + __popcll(joined_grams));
    scratch = (u8*)(repetition.run_ratios + __popcll(char_grams));
    repetition.joined_grams = joined_grams;
    repetition.char_grams = char_grams;

    if (parts & NEEDS_LINE_REPEATS) read_repeats(repetition.lines, text, LINES_BREAK, scratch);
    if (parts & NEEDS_PARAGRAPH_REPEATS) read_repeats(repetition.paragraphs, text, PAIRS_BREAK, scratch);
    if (parts & NEEDS_BLOCK_REPEATS) read_repeats(repetition.blocks, text, BLOCKS_BREAK, scratch);
    for (u64 rest = char_grams; rest != 0; rest &= rest - 1) {
        f64 ratio = top_run_ratio(text, repetition.n_chars, __ffsll(rest), scratch);
        if (lane() == 0) repetition.run_ratios[place_of_length(char_grams, __ffsll(rest))] = ratio;
    }
    if (refined_grams > 0) {
        u8* memory = scratch;
        WordList& words = repetition.refined.words;
        words.starts = take_numbers(memory, most_pieces(text.n_bytes) + 1);
        words.ends = take_numbers(memory, most_pieces(text.n_bytes));
        repetition.refined.memory = take_gram_memory(memory, text.n_bytes);
        words.letters = memory;
        read_refined(words, text, tables);
        read_grams(repetition.refined, refined_grams);
    }
    if (word_grams > 0 || joined_grams != 0) {
        u32 n_most = most_pieces(text.n_bytes);
        grams.words.starts = take_numbers(scratch, n_most + 1);
        grams.words.chars_before = take_numbers(scratch, n_most + 1);
        grams.memory = take_gram_memory(scratch, text.n_bytes);
        grams.words.letters = scratch;
        read_words(grams.words, text, walk.words);
    }
    if (joined_grams != 0) {
        u32* hashes = grams.memory.places;
        hash_letters(grams.words, hashes);
        for (u64 rest = joined_grams; rest != 0; rest &= rest - 1) {
            u64 n_chars = read_joined(grams.words, grams.memory, hashes, __ffsll(rest));
            if (lane() == 0) repetition.joined_chars[place_of_length(joined_grams, __ffsll(rest))] = n_chars;
        }
    }
    if (word_grams > 0) read_grams(grams, word_grams);
    __syncwarp();
}

// What the option `per` divides by: the characters of the text, those that are no line feeds, those of the lines chosen,
// or those of the words.
DEVICE u32 chosen_whole(const Repetition& repetition, const Walk& walk, const Repeats& lines, const Text& choice) {
    u8 initial = choice.bytes[0];
    if (initial == 'u') return all_of(repetition.lines).chars;
    if (initial == 'l') return lines.chars;
    if (initial == 'w') return walk.n_word_chars == 0 ? 1 : walk.n_word_chars;
    return repetition.n_chars;
}
