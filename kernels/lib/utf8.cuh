// Bytes and the characters they make. Text is valid UTF-8, so a character's bytes are all there once its first is.
#include "lib/abi.cuh"

// Whether a byte begins no character.
DEVICE bool is_inner(u8 byte) { return (byte & 0xc0) == 0x80; }

DEVICE bool is_between(u8 byte, u8 first, u8 last) { return (u8)(byte - first) <= (u8)(last - first); }

DEVICE bool is_letter(u8 byte) { return is_between(byte | 0x20, 'a', 'z'); }

DEVICE bool is_digit(u8 byte) { return is_between(byte, '0', '9'); }

// ASCII white space, with the four information separators.
DEVICE bool is_space(u8 byte) { return byte == ' ' || is_between(byte, '\t', '\r') || is_between(byte, 0x1c, 0x1f); }

DEVICE bool is_ascii_punctuation(u8 byte) {
    return is_between(byte, '!', '~') && !is_digit(byte) && !is_letter(byte);
}

// A to Z as a to z.
DEVICE u8 lower_ascii(u8 byte) { return is_between(byte, 'A', 'Z') ? byte | 0x20 : byte; }

// The bytes of the character that begins with this byte.
DEVICE u32 n_bytes_of(u8 first) { return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4; }

// The character outside ASCII that begins here.
DEVICE u32 decode(const u8* at) {
    u32 first = at[0];
    if (first < 0xe0) return (first & 0x1f) << 6 | (at[1] & 0x3f);
    u32 rest = (at[1] & 0x3f) << 6 | (at[2] & 0x3f);
    if (first < 0xf0) return (first & 0x0f) << 12 | rest;
    return (first & 0x07) << 18 | rest << 6 | (at[3] & 0x3f);
}

// The character that begins here, ASCII or not.
DEVICE u32 character(const u8* at) { return at[0] < 0x80 ? at[0] : decode(at); }

// Where the character that ends before `end` begins.
DEVICE u32 before(Text text, u32 end) {
    u32 at = end - 1;
    while (at > 0 && is_inner(text.bytes[at])) at--;
    return at;
}

// The bits below `bit`, which is at most 32.
DEVICE u32 below(u32 bit) { return bit < 32 ? (1u << bit) - 1 : ~0u; }
