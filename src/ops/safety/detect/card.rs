//! Payment card numbers.
//!
//! 13 to 19 digits in one piece, or in the groups that cards print, joined by spaces or hyphens; the prefix and length
//! of a card network; a right check digit (Luhn).

use super::number::Number;
use super::walk::{char_at, char_before, is_word};

/// The groups that cards print.
const FORMS: [&[usize]; 6] =
    [&[4, 4, 4, 4, 3], &[4, 4, 4, 4, 2], &[4, 4, 4, 4, 1], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];

/// The card number that begins with the number.
pub(super) fn read(number: &Number) -> Option<(usize, usize)> {
    let first = number.groups().first()?;
    if is_word(char_before(number.text, number.start)) || number.follows_digit_and("-./") {
        return None;
    }
    if first.n_digits() >= 13 {
        return (!number.continues_with(1, "-./")).then(|| checked(number, 1)).flatten();
    }
    // Rows of four-digit numbers are a table, not a card.
    let is_table = number.n_digits_before(" ") == 4
        || number.groups().get(4).is_some_and(|group| group.separator == ' ' && group.n_digits() == 4);
    if is_table || first.n_digits() != 4 {
        return None;
    }
    let mut forms =
        FORMS.iter().filter(|form| number.has_form(form, " -") && !number.continues_with(form.len(), "-./"));
    forms.find_map(|form| checked(number, form.len()))
}

/// The first `n_groups` groups, if they pass the checks.
fn checked(number: &Number, n_groups: usize) -> Option<(usize, usize)> {
    let groups = &number.groups()[..n_groups];
    let end = groups.last()?.end;
    let digits = number.digits(groups);
    let is_card = !is_word(char_at(number.text, end)) && is_of_a_network(&digits) && passes_luhn(&digits);
    is_card.then_some((number.start, end))
}

/// Every second digit from the right doubled, its digits summed: the sum ends in 0.
fn passes_luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| u32::from(if place % 2 == 0 { digit } else { digit * 2 % 10 + digit / 5 }))
        .sum();
    sum.is_multiple_of(10)
}

/// First digits and lengths of the networks, as ISO/IEC 7812 gives them out.
fn is_of_a_network(digits: &[u8]) -> bool {
    let prefix = |n: usize| digits.iter().take(n).fold(0_u32, |prefix, digit| prefix * 10 + u32::from(*digit));
    match (prefix(4), digits.len()) {
        (4000..=4999, 13 | 16 | 19) => true,                                      // Visa
        (5100..=5599 | 2221..=2720, 16) => true,                                  // Mastercard
        (3400..=3499 | 3700..=3799, 15) => true,                                  // American Express
        (3000..=3059 | 3095 | 3600..=3699 | 3800..=3999, 14 | 16..=19) => true,   // Diners Club
        (3528..=3589, 16..=19) => true,                                           // JCB
        (6011 | 6440..=6599, 16..=19) => true,                                    // Discover
        (6200..=6299, 16..=19) => true,                                           // UnionPay
        (2200..=2204, 16..=19) => true,                                           // Mir
        (5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763, 13..=19) => true, // Maestro
        _ => false,
    }
}
