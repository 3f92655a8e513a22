//! Decimal digits of every script.

/// Where each script's ten digits begin: category Nd of Unicode 14.
const DIGIT_ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// A decimal digit of any script: Python's `\d`.
pub(crate) fn is_decimal_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    let zeros_before = DIGIT_ZEROS.partition_point(|zero| *zero <= c as u32);
    let zero = zeros_before.checked_sub(1).and_then(|last| DIGIT_ZEROS.get(last));
    zero.is_some_and(|zero| c as u32 - zero < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_pythons() {
        // `\d` of Python 3.11.
        assert_eq!(('\0'..=char::MAX).filter(|c| is_decimal_digit(*c)).count(), 660);
        for (c, expected) in [('0', true), ('a', false), ('１', true), ('٣', true), ('²', false), ('½', false)] {
            assert_eq!(is_decimal_digit(c), expected, "{c:?}");
        }
    }
}
