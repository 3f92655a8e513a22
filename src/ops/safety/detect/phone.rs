//! Telephone numbers.
//!
//! Three forms, because digits alone say little:
//! - international: `+`, then 8 to 15 digits that do not begin with 0, in groups; after `+1` exactly ten
//! - North American: `(212) 555-0123`, `212-555-0123`, `1.212.555.0123` with the same separator throughout; area and
//!   exchange begin with 2 to 9, and the area does not end in 11
//! - after a word such as `tel`, `phone`, `fax` or `call`: 7 to 15 digits in groups, no date
//!
//! Groups are joined by one space, hyphen, full stop or slash, or stand in brackets.

use super::number::{Number, plain_separator};
use super::walk::{char_at, char_before, is_word};

const LABELS: [&str; 14] = [
    "tel",
    "telephone",
    "telefon",
    "telefono",
    "phone",
    "ph",
    "fax",
    "mobile",
    "mobil",
    "mob",
    "cell",
    "call",
    "whatsapp",
    "sms",
];
/// Words that may stand between the label and the number.
const FILLERS: [&str; 5] = ["number", "no", "nr", "us", "at"];

/// The telephone number whose first digit is the number's.
pub(super) fn read(number: &Number) -> Option<(usize, usize)> {
    let text = number.text;
    let before = char_before(text, number.start);
    if before == Some('+') {
        let start = number.start - 1;
        return (!is_word(char_before(text, start)))
            .then(|| international(text, number.start))
            .flatten()
            .map(|end| (start, end));
    }
    if is_word(before) || number.follows_digit_and("-./") {
        return None;
    }
    north_american(number).or_else(|| labelled(number))
}

fn international(text: &str, start: usize) -> Option<usize> {
    let (max_digits, min_digits) = if text[start..].starts_with('1') { (11, 11) } else { (15, 8) };
    (!text[start..].starts_with('0')).then_some(())?;
    digits_in_groups(text, start, min_digits, max_digits)
}

fn labelled(number: &Number) -> Option<(usize, usize)> {
    let mut words = number.words_before().take(3).skip_while(|word| FILLERS.contains(&word.as_str()));
    words.next().filter(|word| LABELS.contains(&word.as_str()))?;
    let is_date = [&[4, 2, 2][..], &[2, 2, 4]].iter().any(|form| number.has_form(form, "-./"));
    let end = digits_in_groups(number.text, number.start, 7, 15).filter(|_| !is_date)?;
    let opens = char_before(number.text, number.start) == Some('(');
    Some((number.start - usize::from(opens), end))
}

/// The end of the digits from `start` on, as many groups as `max_digits` allows; `None` if they are too few or end
/// inside a word.
fn digits_in_groups(text: &str, start: usize, min_digits: usize, max_digits: usize) -> Option<usize> {
    let (mut n_digits, mut end, mut at) = (0, start, start);
    loop {
        let group = text.as_bytes()[at..].iter().take(max_digits + 1).take_while(|byte| byte.is_ascii_digit()).count();
        if group == 0 || n_digits + group > max_digits {
            break;
        }
        n_digits += group;
        end = at + group;
        at = end + gap_bytes(&text[end..]);
    }
    (n_digits >= min_digits && !is_word_at(text, end)).then_some(end)
}

/// How long the gap is that begins the text: one separator, or a bracket with at most one separator outside it.
fn gap_bytes(text: &str) -> usize {
    let mut gap = text.char_indices().take_while(|(_, c)| " -./()".contains(plain_separator(*c)));
    let (first, second, third) = (gap.next(), gap.next(), gap.next());
    let is_bracket = |c: Option<(usize, char)>| c.is_some_and(|(_, c)| c == '(' || c == ')');
    match (first, second, third) {
        (Some((_, c)), None, _) => c.len_utf8(),
        (Some(_), Some((at, c)), None) if is_bracket(first) != is_bracket(second) => at + c.len_utf8(),
        _ => 0,
    }
}

fn north_american(number: &Number) -> Option<(usize, usize)> {
    let text = number.text;
    let groups = number.groups();
    let first = groups.first()?;
    // (212) 555-0123
    if char_before(text, number.start) == Some('(') && first.n_digits() == 3 && text[first.end..].starts_with(')') {
        let after = &text[first.end + 1..];
        let gap = after.chars().next().filter(|c| " -.".contains(plain_separator(*c))).map_or(0, char::len_utf8);
        let rest_start = first.end + 1 + gap;
        text.as_bytes().get(rest_start).filter(|byte| byte.is_ascii_digit())?;
        let rest = Number::at(text, rest_start);
        rest.has_form(&[3, 4], "-. ").then_some(())?;
        let end = rest.groups()[1].end;
        let start = number.start - 1;
        // The long-distance 1 before the bracket belongs to it.
        let with_one = text[..start].trim_end_matches([' ', '-']);
        let is_one =
            with_one.ends_with('1') && start - with_one.len() <= 1 && !is_word(char_before(text, with_one.len() - 1));
        let start = if is_one { with_one.len() - 1 } else { start };
        let is_sound = is_area(&text[number.start..first.end]) && is_exchange(&text[rest_start..]);
        return (is_sound && !rest.continues_with(2, "-./") && !is_word_at(text, end)).then_some((start, end));
    }
    // 212-555-0123 or 1-212-555-0123
    let skipped = if number.has_form(&[1, 3, 3, 4], "-. ") && text[number.start..].starts_with('1') {
        1
    } else if number.has_form(&[3, 3, 4], "-. ") {
        0
    } else {
        return None;
    };
    let [area, exchange, line] = [0, 1, 2].map(|i| groups[skipped + i]);
    let neighbours = if exchange.separator == ' ' { " -./" } else { "-./" };
    let is_alone = !number.continues_with(skipped + 3, neighbours) && !number.follows_digit_and(neighbours);
    let is_sound = is_area(&text[area.start..area.end]) && is_exchange(&text[exchange.start..]);
    (is_alone && is_sound && !is_word_at(text, line.end)).then_some((number.start, line.end))
}

fn is_area(area: &str) -> bool {
    is_exchange(area) && !area.ends_with("11")
}

fn is_exchange(exchange: &str) -> bool {
    exchange.starts_with(|c: char| ('2'..='9').contains(&c))
}

/// Whether a word goes on at `at`; `x12` is an extension, not a word.
fn is_word_at(text: &str, at: usize) -> bool {
    let next = char_at(text, at);
    let is_extension = next == Some('x') && text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
    is_word(next) && !is_extension
}
