//! `pii_redact(text, kinds => […], action => 'redact', …)`: personal data is hidden.

use super::detect::{Finding, Kind, Wanted, find};
use crate::ops::prelude::*;
use sha2::{Digest, Sha256};

pub(super) static SPEC: OpSpec = OpSpec {
    name: "pii_redact",
    family: Family::Safety,
    summary: "e-mail addresses, telephone numbers and other personal data with a form are hidden",
    details: "The kinds, each with its checks:\n\
              - `email`: up to 64 letters, digits and `._%+-'`, `@`, labels, and a last label of two letters or more\n\
              - `phone`: `+` and 8 to 15 digits in groups; the North American forms `(212) 555-0123`, `212-555-0123`; \
              or 7 to 15 digits after a word such as tel, phone, fax, call\n\
              - `ipv4`, `ipv6`: addresses that stand alone; not a version number, a time or a MAC address; with \
              `public_only`, only global ones\n\
              - `credit_card`: 13 to 19 digits, plain or in printed groups, of a card network, with a right Luhn \
              digit\n\
              - `iban`: the length of its country and the right remainder modulo 97\n\
              - `us_ssn`: `ddd-dd-dddd` in the ranges that are given out\n\
              - `url`: `http://`, `https://`, `ftp://` or `www.`, without the sentence's marks at the end\n\n\
              Of findings that overlap, the one that begins first stays, then the longest. The actions:\n\
              - `redact`: the kind in angle brackets: `<EMAIL_ADDRESS>`, `<PHONE_NUMBER>`, `<IP_ADDRESS>`, \
              `<CREDIT_CARD>`, `<IBAN_CODE>`, `<US_SSN>`, `<URL>`\n\
              - `remove`: nothing is left\n\
              - `replace`: an example that nobody owns; e-mail and IPv4 addresses take turns among a few within a \
              document\n\
              - `hash`: 16 hexadecimal digits of HMAC-SHA-256 with the key `salt`, equal for equal values however they \
              are written\n\
              - `mask`: `*` for each letter and digit but the last `keep_last`\n\n\
              An empty document stays empty. Names, actions and placeholders follow NeMo Curator's former PiiModifier \
              (Presidio), whose `redact` is `remove` here; the addresses of `replace` follow datatrove's PIIFormatter, \
              except that those for IPv4 are the ones kept for documentation. Names of persons and places need a model.",
    params: &[
        Param::text("text", "the document"),
        Wanted::KINDS,
        Param::choice("action", "what is done with each", &["redact", "remove", "replace", "hash", "mask"])
            .default(Literal::Text("redact")),
        Wanted::PUBLIC_ONLY,
        Param::text("salt", "the key of `hash`").default(Literal::Text("")),
        Param::int("keep_last", "letters and digits that `mask` leaves at the end")
            .at_least(0)
            .default(Literal::Int(0)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("pii_redact('Ask joe@example.org, not 4.4.4.4.')", "'Ask <EMAIL_ADDRESS>, not <IP_ADDRESS>.'"),
        Example::of(
            "pii_redact('card 4111 1111 1111 1111', action => 'mask', keep_last => 4)",
            "'card **** **** **** 1111'",
        ),
        Example::of("pii_redact('ssn 123-45-6789', ['us_ssn'], action => 'remove')", "'ssn '"),
        Example::of("pii_redact('joe@a.org', action => 'replace')", "'email@example.com'"),
        Example::of(
            "pii_redact('joe@a.org', action => 'hash', salt => 's') = pii_redact('JOE@a.org', action => 'hash', salt => 's')",
            "true",
        ),
        Example::of("pii_redact('order 4111 1111 1111 1112')", "'order 4111 1111 1111 1112'"),
        Example::of("pii_redact('')", "''"),
        Example::of("pii_redact(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.3), // measured on mixed documents
    cpu: Cpu::Text(pii_redact),
    gpu: Gpu::NOT_YET,
};

fn pii_redact<'t>(text: &'t str, args: &Args) -> Cow<'t, str> {
    let found = find(text, Wanted::of(args));
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut n_of_kind = [0_usize; 8];
    for Finding { start, end, kind } in found {
        out.push_str(&text[copied..start]);
        copied = end;
        let value = &text[start..end];
        match args.text("action") {
            "remove" => {}
            "replace" => {
                let examples = examples_of(kind);
                let turn = &mut n_of_kind[kind as usize];
                out.push_str(examples[*turn % examples.len()]);
                *turn += 1;
            }
            "hash" => out.push_str(&keyed_hash(args.text("salt"), &canonical(kind, value))),
            "mask" => mask(value, args.count("keep_last"), &mut out),
            _ => out.push_str(placeholder(kind)),
        }
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// As Presidio names them.
fn placeholder(kind: Kind) -> &'static str {
    match kind {
        Kind::Email => "<EMAIL_ADDRESS>",
        Kind::Phone => "<PHONE_NUMBER>",
        Kind::Ipv4 | Kind::Ipv6 => "<IP_ADDRESS>",
        Kind::CreditCard => "<CREDIT_CARD>",
        Kind::Iban => "<IBAN_CODE>",
        Kind::UsSsn => "<US_SSN>",
        Kind::Url => "<URL>",
    }
}

/// Values that are kept for examples, so that they belong to nobody.
fn examples_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Email => &["email@example.com", "firstname.lastname@example.org"],
        Kind::Phone => &["+1 212 555 0100"],
        Kind::Ipv4 => &["192.0.2.1", "198.51.100.1", "203.0.113.1"],
        Kind::Ipv6 => &["2001:db8::1"],
        Kind::CreditCard => &["0000 0000 0000 0000"],
        Kind::Iban => &["XX00 0000 0000 0000 0000"],
        Kind::UsSsn => &["000-00-0000"],
        Kind::Url => &["https://example.com"],
    }
}

/// One text for all ways to write a value: digits alone, or lower case.
fn canonical(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Phone | Kind::CreditCard | Kind::UsSsn => value.chars().filter(char::is_ascii_digit).collect(),
        Kind::Iban => value.chars().filter(char::is_ascii_alphanumeric).collect(),
        Kind::Email | Kind::Ipv6 => value.to_lowercase(),
        Kind::Ipv4 | Kind::Url => value.to_string(),
    }
}

/// The first 16 hexadecimal digits of HMAC-SHA-256 (RFC 2104).
fn keyed_hash(key: &str, value: &str) -> String {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key.as_bytes()));
    } else {
        block[..key.len()].copy_from_slice(key.as_bytes());
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(value).finalize();
    let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
    outer.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn mask(value: &str, keep_last: usize, out: &mut String) {
    let n_signs = value.chars().filter(|c| c.is_alphanumeric()).count();
    let mut n_seen = 0;
    for c in value.chars() {
        let is_sign = c.is_alphanumeric();
        n_seen += usize::from(is_sign);
        out.push(if is_sign && n_seen + keep_last <= n_signs { '*' } else { c });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_hmac_sha_256() {
        // Test case 2 of RFC 4231.
        assert_eq!(keyed_hash("Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e");
        // Test case 6: a key longer than a block is hashed first. The key is bytes there; ours is text.
        assert_ne!(keyed_hash(&"k".repeat(65), "x"), keyed_hash(&"k".repeat(64), "x"));
    }

    #[test]
    fn masks_keep_the_shape() {
        for (value, keep_last, expected) in [
            ("joe.b@example.org", 0, "***.*@*******.***"),
            ("(212) 555-0123", 4, "(***) ***-0123"),
            ("ab", 5, "ab"),
            ("é1", 1, "*1"),
        ] {
            let mut out = String::new();
            mask(value, keep_last, &mut out);
            assert_eq!(out, expected);
        }
    }
}
