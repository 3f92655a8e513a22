//! IPv4 and IPv6 addresses.
//!
//! IPv4: four numbers up to 255 without leading zeros, joined by full stops, with no further number before or after,
//! and not called a version. IPv6: a text that RFC 4291 allows, with a decimal digit and with a group of at least three
//! hexadecimal digits or `::` at the start: a time of day, a MAC address and `a::b` in a program are none.

use super::number::Number;
use super::walk::{char_at, char_before, is_word};
use std::net::{Ipv4Addr, Ipv6Addr};

/// No address is longer: six groups and an IPv4 address.
const MAX_IPV6_BYTES: usize = 45;
const VERSION_WORDS: [&str; 7] = ["version", "versions", "ver", "v", "release", "build", "firmware"];

/// The address that begins with the number.
pub(super) fn ipv4(number: &Number, public_only: bool) -> Option<(usize, usize)> {
    let (text, start) = (number.text, number.start);
    let mut octets = [0; 4];
    let mut end = start;
    for (place, octet) in octets.iter_mut().enumerate() {
        if place > 0 {
            text[end..].starts_with('.').then_some(())?;
            end += 1;
        }
        let n_digits = text.as_bytes()[end..].iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        let digits = &text[end..end + n_digits];
        (n_digits == 1 || !digits.starts_with('0')).then_some(())?;
        *octet = digits.parse::<u8>().ok()?;
        end += n_digits;
    }
    let continues = is_word(char_at(text, end)) || (text[end..].starts_with('.') && is_digit_at(text, end + 1));
    let continued = is_word(char_before(text, start)) || number.follows_digit_and(".");
    let is_version = number.words_before().next().is_some_and(|word| VERSION_WORDS.contains(&word.as_str()));
    let is_wanted = !public_only || is_public_v4(Ipv4Addr::from(octets));
    (!continues && !continued && !is_version && is_wanted).then_some((start, end))
}

fn is_digit_at(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
}

/// The address whose first `:` is at `colon`, and the end of the stretch that was read.
pub(super) fn ipv6(text: &str, colon: usize, public_only: bool) -> (Option<(usize, usize)>, usize) {
    let bytes = text.as_bytes();
    let start = colon - bytes[..colon].iter().rev().take(5).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_part = |byte: &&u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let run_end = colon + bytes[colon..].iter().take_while(is_part).count();
    let run = text[start..run_end].trim_end_matches('.');
    // A single colon at the end is the sentence's.
    let run = if run.ends_with("::") { run } else { run.strip_suffix(':').unwrap_or(run) };
    let end = start + run.len();
    let touches = is_word(char_before(text, start)) || is_word(char_at(text, end));
    let looks_so = run.len() <= MAX_IPV6_BYTES
        && run.bytes().any(|byte| byte.is_ascii_digit())
        && (run.starts_with("::") || run.split([':', '.']).any(|group| group.len() >= 3));
    let address = (looks_so && !touches).then(|| run.parse::<Ipv6Addr>().ok()).flatten();
    let address = address.filter(|address| !public_only || is_public_v6(*address));
    (address.map(|_| (start, end)), run_end)
}

/// Not one of the ranges that IANA keeps for private use, documentation, tests, multicast and the like.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast();
    !special
        && match address.octets() {
            [0 | 240..=255, ..] => false,
            [100, second, ..] => !(64..128).contains(&second),
            [192, 0, 0, _] | [198, 18 | 19, ..] => false,
            _ => true,
        }
}

/// In the range that IANA gives out (2000::/3), without what it keeps there; mapped IPv4 addresses as those.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    match address.segments() {
        // Protocols, documentation, 6to4.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}
