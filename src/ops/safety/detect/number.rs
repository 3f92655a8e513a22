//! A number as people write it: groups of digits with single separators.
//!
//! Invariant: at most [`MAX_GROUPS`] groups are read, each of at most [`MAX_GROUP_DIGITS`] digits: a bounded stretch.

use super::walk::char_before;

const MAX_GROUPS: usize = 8;
const MAX_GROUP_DIGITS: usize = 20;

/// A group of digits and the separator before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    pub start: usize,
    pub end: usize,
    /// `' '`, `'-'`, `'.'` or `'/'`; `'\0'` for the first group.
    pub separator: char,
}

impl Group {
    /// How many digits it has.
    pub fn n_digits(&self) -> usize {
        self.end - self.start
    }
}

/// The digits that begin at a place, and those that follow with one separator between.
pub(super) struct Number<'t> {
    pub text: &'t str,
    pub start: usize,
    groups: [Group; MAX_GROUPS],
    n_groups: usize,
    first_group_end: usize,
}

impl<'t> Number<'t> {
    /// The number whose first digit is at `start`.
    pub fn at(text: &'t str, start: usize) -> Self {
        let n_digits = text.as_bytes()[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut number =
            Self { text, start, groups: Default::default(), n_groups: 0, first_group_end: start + n_digits };
        let mut next = Some((start, '\0'));
        while let Some((start, separator)) = next.filter(|_| number.n_groups < MAX_GROUPS) {
            let digits = text.as_bytes()[start..].iter().take(MAX_GROUP_DIGITS + 1);
            let end = start + digits.take_while(|byte| byte.is_ascii_digit()).count();
            if end == start || end - start > MAX_GROUP_DIGITS {
                break;
            }
            number.groups[number.n_groups] = Group { start, end, separator };
            number.n_groups += 1;
            next = separator_at(text, end);
        }
        number
    }

    /// The groups, the first one at the start. None if it is too long to be a number of anything.
    pub fn groups(&self) -> &[Group] {
        &self.groups[..self.n_groups]
    }

    /// Where the first digits end, however many there are.
    pub fn first_group_end(&self) -> usize {
        self.first_group_end
    }

    /// The digits of these groups, as numbers.
    pub fn digits(&self, groups: &[Group]) -> Vec<u8> {
        let bytes = groups.iter().flat_map(|group| &self.text.as_bytes()[group.start..group.end]);
        bytes.map(|digit| digit - b'0').collect()
    }

    /// Whether the first `lengths.len()` groups have these lengths and are joined by one of `separators`, always the
    /// same.
    pub fn has_form(&self, lengths: &[usize], separators: &str) -> bool {
        let groups = self.groups();
        groups.len() >= lengths.len()
            && groups.iter().zip(lengths).all(|(group, length)| group.n_digits() == *length)
            && groups.get(1).is_none_or(|second| {
                lengths.len() < 2
                    || separators.contains(second.separator)
                        && groups[1..lengths.len()].iter().all(|group| group.separator == second.separator)
            })
    }

    /// Whether the group after the first `n` ones follows one of these separators.
    pub fn continues_with(&self, n: usize, separators: &str) -> bool {
        self.groups().get(n).is_some_and(|group| separators.contains(group.separator))
    }

    /// Whether a digit and one of these separators stand before the number.
    pub fn follows_digit_and(&self, separators: &str) -> bool {
        self.n_digits_before(separators) > 0
    }

    /// How many digits stand before the number with one of these separators between; more than nine are not counted.
    pub fn n_digits_before(&self, separators: &str) -> usize {
        let separator = char_before(self.text, self.start).filter(|c| separators.contains(plain_separator(*c)));
        separator.map_or(0, |separator| {
            let before = &self.text.as_bytes()[..self.start - separator.len_utf8()];
            before.iter().rev().take(9).take_while(|byte| byte.is_ascii_digit()).count()
        })
    }

    /// The words before the number, last one first, in lower case: short ASCII words, with little between.
    pub fn words_before(&self) -> impl Iterator<Item = String> {
        let mut end = self.start;
        std::iter::from_fn(move || {
            let bytes = &self.text.as_bytes()[..end];
            let n_between = bytes.iter().rev().take(4).take_while(|byte| b" .:#(+-".contains(byte)).count();
            let word_end = end - n_between;
            let letters = bytes[..word_end].iter().rev().take(12).take_while(|byte| byte.is_ascii_alphabetic()).count();
            end = word_end - letters;
            (letters > 0).then(|| self.text[end..word_end].to_ascii_lowercase())
        })
    }
}

/// The place after a separator at `at`, if a digit follows there, and the separator in its plain form.
fn separator_at(text: &str, at: usize) -> Option<(usize, char)> {
    let separator = text[at..].chars().next()?;
    let next = at + separator.len_utf8();
    let plain = plain_separator(separator);
    (" -./".contains(plain) && text.as_bytes().get(next).is_some_and(u8::is_ascii_digit)).then_some((next, plain))
}

/// Spaces and hyphens that do not break a line are spaces and hyphens.
pub(super) fn plain_separator(c: char) -> char {
    match c {
        '\u{a0}' | '\u{202f}' | '\u{2009}' => ' ',
        '\u{2010}'..='\u{2013}' => '-',
        other => other,
    }
}
