//! Social security numbers of the United States.
//!
//! Three, two and four digits joined by hyphens or spaces; the first three are not 000, 666 or 900 and up, the others
//! not all zeros; not one of the two numbers that were printed in advertisements.

use super::number::Number;
use super::walk::{char_at, char_before, is_word};

/// The number that begins with the number.
pub(super) fn read(number: &Number) -> Option<(usize, usize)> {
    if !number.has_form(&[3, 2, 4], "- ") || is_word(char_before(number.text, number.start)) {
        return None;
    }
    let (groups, end) = (&number.groups()[..3], number.groups()[2].end);
    let continues = if groups[1].separator == ' ' { " -./" } else { "-./" };
    if is_word(char_at(number.text, end)) || number.continues_with(3, continues) || number.follows_digit_and(continues)
    {
        return None;
    }
    let [area, group, serial] =
        [0, 1, 2].map(|i| number.text[groups[i].start..groups[i].end].parse::<u32>().unwrap_or(0));
    let is_given_out = !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0;
    let is_specimen = matches!((area, group, serial), (78, 5, 1120) | (219, 9, 9999));
    (is_given_out && !is_specimen).then_some((number.start, end))
}
