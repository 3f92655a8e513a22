//! What is found and what is not, case by case: `«…»` marks what must be found in a text.

#![allow(clippy::panic)]

use super::*;
use crate::ops::safety::pii_count;
use crate::ops::{Args, Value};

fn wanted(kinds: &[&str], public_only: bool) -> Wanted {
    let kinds = Value::TextList(kinds.iter().map(|kind| kind.to_string()).collect());
    let args = Args::new(&pii_count::SPEC, vec![kinds, Value::Bool(public_only)]);
    args.map(|args| Wanted::of(&args)).unwrap_or_else(|error| panic!("{error}"))
}

fn check_with(wanted: Wanted, cases: &[&str]) {
    for case in cases {
        let text = case.replace(['«', '»'], "");
        let mut marked = text.clone();
        for finding in find(&text, wanted).iter().rev() {
            marked.insert(finding.end, '»');
            marked.insert(finding.start, '«');
        }
        assert_eq!(&marked, case);
    }
}

fn check(kind: &str, cases: &[&str]) {
    check_with(wanted(&[kind], false), cases);
}

#[test]
fn email() {
    check(
        "email",
        &[
            "«joe@example.org»",
            "Write to «joe.b+list@mail.example.co.uk».",
            "(«joe@example.org»), <«ann_2@example.org»>; '«o'brien@example.ie»'",
            "mailto:«joe@example.org»?subject=x",
            "?email=«joe@example.org»&x=1",
            "«müller@gärtner.example.de»",
            "联系«joe@example.org»。",
            "see...«joe@example.org»",
            "--«joe@example.org»-- «joe@example.org»-server",
            "«joe@example.org».2",
            "«JOE@EXAMPLE.ORG»",
            "«a@b.co»@c.org",
            "«joe@xn--bcher-kva.example.org»",
            // Not one.
            "joe@example",
            "joe@ example.org",
            "@example.org a.@example.org",
            "joe@-x.org joe@x-.org",
            "icon@2x.png",
            "joe@10.0.0.1",
            "joe@example.c0m",
            "joe@example.o",
            "@@@@@.org@",
            "user@host:~/file.txt",
        ],
    );
    let local = "a".repeat(65);
    check("email", &[&format!("{local}@example.org"), &format!("«{}@example.org»", &local[1..])]);
}

#[test]
fn phone() {
    check(
        "phone",
        &[
            "«+1 212 555 0123»",
            "«+12125550123».",
            "«+44 (0)20 7946 0958»",
            "«+49 30 1234567», «+33 1 23 45 67 89»",
            "«(212) 555-0123» «(212)555-0123»x12",
            "call «1 (212) 555-0123» now",
            "«212-555-0123» «212.555.0123» «1-800-555-0199»",
            "«212 555 0123», «212\u{a0}555\u{a0}0123», «212‑555‑0123»",
            "Tel.: «030 1234567» Phone number: «555 0123» fax «5550123»",
            "call us at «0800 123 456»",
            // Not one.
            "2125550123",
            "212-555-012",
            "212-555-01234",
            "112-555-0123 211-555-0123 212-155-0123",
            "212-555.0123",
            "5-212-555-0123 212-555-0123-4",
            "11 212 555 0123 44",
            "2024-01-02 01-02-2024 12.31.1999",
            "call 2024-01-02",
            "phone 2024",
            "ISBN 978-0-306-40615-7",
            "+1 212 555",
            "a+12125550123",
            "1 + 12345678",
            "3.14159265 and 1,234,567,890",
            "+1234567890123456",
            "A212-555-0123 212-555-0123B",
        ],
    );
}

#[test]
fn ipv4() {
    check(
        "ipv4",
        &[
            "«8.8.8.8»",
            "at «192.168.0.1».",
            "«10.0.0.1»:8080, «10.0.0.0»/8",
            "http://«127.0.0.1»/x",
            "«1.2.3.4», «255.255.255.255»",
            "服务器«8.8.4.4»",
            // Not one.
            "256.1.1.1 1.2.3 1.2.3.04 01.2.3.4",
            "1.2.3.4.5",
            "v1.2.3.4 version 1.2.3.4, Version: 10.0.0.1",
            "1.2.3.4a x1.2.3.4 _1.2.3.4",
            "1..2.3.4 1.2.3.",
            "1,2,3,4",
        ],
    );
    check_with(
        wanted(&["ipv4"], true),
        &[
            "«8.8.8.8» «1.1.1.1» «100.128.0.1» «172.32.0.1»",
            "10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 127.0.0.1 169.254.0.1 0.0.0.0 100.64.0.1",
            "192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 224.0.0.1 255.255.255.255 192.0.0.1",
        ],
    );
}

#[test]
fn ipv6() {
    check(
        "ipv6",
        &[
            "«2001:db8::1»",
            "[«2001:db8::1»]:443 «2001:db8::»/32",
            "«::1» «::ffff:8.8.8.8» «fe80::1»%eth0",
            "at «2001:0db8:0000:0000:0000:ff00:0042:8329».",
            "«2001:db8::1»: refused",
            // Not one.
            "12:34:56 1:2 12:34:56.789",
            "02:00:5e:10:00:00:00:01 aa:bb:cc:dd:ee:ff",
            "a::b std::fa ::before Foo::Bar :: ::: x::1",
            "2001:db8::1::2 2001:db8:::1 12345::1",
            "2001:db8::1g g2001:db8::1",
            "10:30:00 2024-01-02T10:30:00Z",
            "deadbeef:cafe sha256:abcdef0123456789",
        ],
    );
    check_with(
        wanted(&["ipv6"], true),
        &[
            "«2606:4700:4700::1111» «::ffff:8.8.8.8»",
            "2001:db8::1 fe80::1 fc00::1 ::1 ff02::1 2002:0808:: ::ffff:10.0.0.1",
        ],
    );
}

#[test]
fn credit_card() {
    check(
        "credit_card",
        &[
            "«4111111111111111»",
            "«4111 1111 1111 1111», «4111-1111-1111-1111»",
            "«4111 1111 1111 1111» 12/25",
            "«378282246310005» «3782 822463 10005»",
            "«5555555555554444» «2223003122003222» «6011111111111117» «3530111333300000» «30569309025904»",
            "card:«4111111111111111».",
            // Not one.
            "4111111111111112",
            "4111 1111-1111 1111",
            "41111111 11111111",
            "1234567890123456 0000000000000000",
            "9780306406157",
            "1700000000000",
            "x4111111111111111 4111111111111111x",
            "4111111111111111-1 1-4111111111111111",
            "1111 4111 1111 1111 1111 1111",
            "411111111111111111111111111111",
            "1.4111111111111111",
        ],
    );
}

#[test]
fn iban() {
    check(
        "iban",
        &[
            "«DE89370400440532013000»",
            "«DE89 3704 0044 0532 0130 00».",
            "IBAN: «GB29 NWBK 6016 1331 9268 19», «FR14 2004 1010 0505 0001 3M02 606»",
            "«NO9386011117947»",
            "«GB29\u{a0}NWBK\u{a0}6016\u{a0}1331\u{a0}9268\u{a0}19»",
            // Not one.
            "DE88370400440532013000",
            "DE8937040044053201300",
            "DE893704004405320130001",
            "XX89370400440532013000",
            "de89370400440532013000",
            "ADE89370400440532013000",
            "DE8 93704 0044 0532 0130 00",
            "US12 3456",
            "DE8",
        ],
    );
}

#[test]
fn us_ssn() {
    check(
        "us_ssn",
        &[
            "«123-45-6789»",
            "ssn «123 45 6789».",
            "«899-01-0001»",
            // Not one.
            "000-45-6789 666-45-6789 900-45-6789 123-00-6789 123-45-0000",
            "078-05-1120 219-09-9999",
            "123456789 123-456-789 123-45 6789 123-45-67890",
            "1-123-45-6789 123-45-6789-0 A123-45-6789",
            "9 123 45 6789 10",
        ],
    );
}

#[test]
fn url() {
    check(
        "url",
        &[
            "«https://example.org/a?b=c#d»",
            "See «http://example.org». Or («https://example.org/a_(b)»), \"«ftp://x.example.org/y»\"!",
            "«www.example.com/x», «WWW.Example.com»",
            "<a href=\"«https://example.org/ü»\">",
            "[x](«https://example.org/y»)",
            "请看«https://example.org/路»。",
            "«http://localhost:8080/x» «http://[::1]/»",
            "«https://example.org/http://example.com»",
            "**«https://example.org»**",
            // Not one.
            "https:// http://. file:///x shttp://example.org",
            "www. www.x www.example awww.example.com",
            "a:b //example.org",
        ],
    );
}

#[test]
fn the_first_and_longest_finding_stays() {
    let all: Vec<&str> = kind::NAMES.to_vec();
    check_with(
        wanted(&all, false),
        &[
            "«http://joe@example.org/8.8.8.8»",
            "«::ffff:8.8.8.8»",
            "«joe@example.org»,«+12125550123»",
            "«joe@example.org»+12125550123",
            "«4111-1111-1111-1111» «212-555-0123» «123-45-6789» «DE89 3704 0044 0532 0130 00»",
        ],
    );
}

#[test]
fn long_runs_of_what_begins_a_finding_come_to_an_end() {
    // Looking at the rest of the text from each place would take days.
    let all = wanted(kind::NAMES, false);
    for unit in [
        "@", ":", ".", "1", "1.", "1-", "a.", "a@", "::", "1:", "http://", "http://a", "www.", "www.a.", "+1 ", "(2",
        "DE89", "tel ", "'",
    ] {
        let n_units = 1_000_000 / unit.len();
        let found = find(&unit.repeat(n_units), all);
        assert!(found.len() <= n_units, "{unit}");
    }
}
