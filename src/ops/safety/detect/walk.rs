//! The walk over a document's bytes, and the choice among findings that overlap.

use super::kind::{Kind, Wanted};
use super::number::Number;
use super::{card, email, iban, network, phone, ssn, url};

/// Where something was found: bytes `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ops::safety) struct Finding {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

const AT: u8 = 1;
const COLON: u8 = 2;
const DOT: u8 = 4;
const DIGIT: u8 = 8;

/// What the walk stops at.
const STOPS: [u8; 256] = {
    let mut table = [0; 256];
    table[b'@' as usize] = AT;
    table[b':' as usize] = COLON;
    table[b'.' as usize] = DOT;
    let mut digit = b'0';
    while digit <= b'9' {
        table[digit as usize] = DIGIT;
        digit += 1;
    }
    table
};

/// Everything that is wanted, in order, no two overlapping: the one that begins first stays, or the longest of those.
pub(in crate::ops::safety) fn find(text: &str, wanted: Wanted) -> Vec<Finding> {
    let mut found = candidates(text, wanted);
    found.sort_by_key(|finding| (finding.start, std::cmp::Reverse(finding.end), finding.kind));
    let mut end = 0;
    found.retain(|finding| {
        let is_free = finding.start >= end;
        end = if is_free { finding.end } else { end };
        is_free
    });
    found
}

fn candidates(text: &str, wanted: Wanted) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut push = |kind, span: Option<(usize, usize)>| {
        found.extend(span.map(|(start, end)| Finding { start, end, kind }));
    };
    let stops = stops(wanted);
    let bytes = text.as_bytes();
    // Web addresses and runs of hexadecimal groups are read once: up to here.
    let (mut url_until, mut ipv6_until) = (0, 0);
    let mut at = 0;
    while let Some(ahead) = bytes[at..].iter().position(|byte| STOPS[usize::from(*byte)] & stops != 0) {
        at += ahead;
        match STOPS[usize::from(bytes[at])] {
            AT => push(Kind::Email, email::around(text, at)),
            DIGIT => {
                let number = Number::at(text, at);
                for (kind, read) in NUMBERS {
                    if wanted.has(kind) {
                        push(kind, read(&number));
                    }
                }
                if wanted.has(Kind::Ipv4) {
                    push(Kind::Ipv4, network::ipv4(&number, wanted.public_only));
                }
                at = number.first_group_end();
                continue;
            }
            stop => {
                if wanted.has(Kind::Url) && at >= url_until {
                    let span = if stop == COLON { url::with_scheme(text, at) } else { url::with_www(text, at) };
                    url_until = span.map_or(url_until, |(_, end)| end);
                    push(Kind::Url, span);
                }
                if wanted.has(Kind::Ipv6) && stop == COLON && at >= ipv6_until {
                    let (span, run_end) = network::ipv6(text, at, wanted.public_only);
                    ipv6_until = run_end;
                    push(Kind::Ipv6, span);
                }
            }
        }
        at += 1;
    }
    found
}

type ReadNumber = fn(&Number) -> Option<(usize, usize)>;

/// The kinds that begin with a digit, or shortly before one.
const NUMBERS: [(Kind, ReadNumber); 4] =
    [(Kind::Iban, iban::read), (Kind::CreditCard, card::read), (Kind::UsSsn, ssn::read), (Kind::Phone, phone::read)];

fn stops(wanted: Wanted) -> u8 {
    let digits = [Kind::Ipv4, Kind::Iban, Kind::CreditCard, Kind::UsSsn, Kind::Phone];
    let mut stops = 0;
    for (stop, kinds) in
        [(AT, &[Kind::Email][..]), (COLON, &[Kind::Url, Kind::Ipv6]), (DOT, &[Kind::Url]), (DIGIT, &digits)]
    {
        stops |= if wanted.has_any(kinds) { stop } else { 0 };
    }
    stops
}

/// The character before byte `at`.
pub(super) fn char_before(text: &str, at: usize) -> Option<char> {
    text.get(..at)?.chars().next_back()
}

/// The character at byte `at`.
pub(super) fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Letters, digits and `_`: what a finding may not touch. Scripts that are written without spaces, or that join
/// particles to a word, may touch it: those of East and South-East Asia.
pub(super) fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c == '_' || (c.is_alphanumeric() && (c.is_ascii() || !is_spaceless(c))))
}

fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}
