//! The host and the registered domain of an address.
//!
//! Addresses of the web come in every shape, so nothing is refused: what is no host is the empty text. The host is what
//! stands between the scheme (which may be missing) and the path, without user and port.

use std::borrow::Cow;
use std::net::IpAddr;

/// The host, in lower case. Empty if there is none.
pub(in crate::ops) fn host(url: &str) -> Cow<'_, str> {
    let host = written_host(url);
    if host.chars().any(char::is_uppercase) { Cow::Owned(host.to_lowercase()) } else { Cow::Borrowed(host) }
}

fn written_host(url: &str) -> &str {
    let url = url.trim();
    let rest = url.find("//").filter(|at| is_scheme(&url[..*at])).map_or(url, |at| &url[at + 2..]);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let host = match place.strip_prefix('[') {
        Some(inside) => inside.split_once(']').map_or("", |(address, _)| address),
        None => place.split_once(':').map_or(place, |(host, _)| host),
    };
    // A full stop at the end says that the name is complete; the ideographic one is as good.
    let host = host.trim().trim_end_matches(['.', '。', '．', '｡']);
    if host.contains(|c: char| c.is_whitespace() || c.is_control()) { "" } else { host }
}

/// `https:`, or nothing, as in `//example.com`.
fn is_scheme(text: &str) -> bool {
    match text.strip_suffix(':') {
        Some(name) => {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        }
        None => text.is_empty(),
    }
}

/// The part of a host that someone registered: one label more than the public suffix. Empty for IP addresses, for
/// suffixes themselves and for suffixes that do not exist.
pub(super) fn domain(host: &str, private_suffixes: bool) -> &str {
    if host.parse::<IpAddr>().is_ok() {
        return "";
    }
    let Some(n_suffix_bytes) = suffix_len(host, private_suffixes) else { return "" };
    let Some(before) = host.len().checked_sub(n_suffix_bytes + 1) else { return "" };
    let start = host[..before].rfind('.').map_or(0, |dot| dot + 1);
    if start == before { "" } else { &host[start..] }
}

/// The bytes of the public suffix; a private one (`github.io`) gives way to the one above it unless it is wanted.
fn suffix_len(host: &str, private_suffixes: bool) -> Option<usize> {
    let mut name = host;
    loop {
        let suffix = psl::suffix(name.as_bytes())?;
        let n_bytes = suffix.as_bytes().len();
        match suffix.typ()? {
            psl::Type::Private if !private_suffixes => {
                let private = name.get(name.len() - n_bytes..)?;
                name = private.split_once('.')?.1;
            }
            _ => return Some(n_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_addresses_of_every_shape() {
        let cases = [
            ("https://www.Example.com/a?b#c", "www.example.com"),
            ("example.com/path", "example.com"),
            ("//example.com:80", "example.com"),
            ("http://user:pass@example.com:8080/", "example.com"),
            ("http://user@evil@example.com", "example.com"),
            ("ftp://example.com.", "example.com"),
            ("http://[2001:db8::1]:80/", "2001:db8::1"),
            ("http://127.0.0.1/x", "127.0.0.1"),
            ("http://bücher.example/ü", "bücher.example"),
            ("HTTP://EXAMPLE.COM\\path", "example.com"),
            ("example.com/redirect?to=http://other.com", "example.com"),
            ("  https://example.com  ", "example.com"),
            ("http://exa mple.com/", ""),
            ("http://", ""),
            ("http://[::1", ""),
            ("/path/only", ""),
            ("", ""),
        ];
        for (url, expected) in cases {
            assert_eq!(host(url), expected, "{url}");
        }
    }

    #[test]
    fn registered_domains_follow_the_public_suffix_list() {
        let cases = [
            ("www.example.com", "example.com", "example.com"),
            ("a.b.example.co.uk", "example.co.uk", "example.co.uk"),
            ("co.uk", "", ""),
            ("com", "", ""),
            ("user.github.io", "github.io", "user.github.io"),
            ("a.user.github.io", "github.io", "user.github.io"),
            ("github.io", "github.io", ""),
            ("x.blogspot.com", "blogspot.com", "x.blogspot.com"),
            ("www.city.kobe.jp", "city.kobe.jp", "city.kobe.jp"),
            ("host.invalid-suffix-zz", "", ""),
            ("localhost", "", ""),
            ("127.0.0.1", "", ""),
            ("2001:db8::1", "", ""),
            ("..com", "", ""),
            ("", "", ""),
        ];
        for (host, registered, with_private) in cases {
            assert_eq!(domain(host, false), registered, "{host}");
            assert_eq!(domain(host, true), with_private, "{host}");
        }
    }
}
