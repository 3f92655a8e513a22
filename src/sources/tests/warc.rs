//! Crawls made here, read whole and in pieces.

use super::*;

/// A record with these fields and this block.
fn record(record_type: &str, url: &str, fields: &str, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: {record_type}\r\nWARC-Target-URI: {url}\r\nWARC-Record-ID: <urn:uuid:{}>\r\n\
         WARC-Date: 2026-01-02T03:04:05Z\r\n{fields}Content-Length: {}\r\n\r\n",
        url.len(),
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

/// An answer to a request.
fn response(url: &str, http: &str, body: &[u8]) -> Vec<u8> {
    let block = [http.replace('\n', "\r\n").as_bytes(), b"\r\n\r\n", body].concat();
    record("response", url, "Content-Type: application/http; msgtype=response\r\n", &block)
}

fn page(number: usize) -> Vec<u8> {
    let body: String = (0..number * 37 % 900).map(|at| char::from(b'a' + (at * number % 26) as u8)).collect();
    response(&format!("http://example.com/{number}"), "HTTP/1.1 200 OK\nContent-Type: text/html", body.as_bytes())
}

/// A crawl of so many pages, with the records that stand between them.
fn crawl(n_pages: usize) -> Vec<Vec<u8>> {
    let info = record("warcinfo", "-", "Content-Type: application/warc-fields\r\n", b"software: test\r\n");
    let request =
        record("request", "http://example.com/", "Content-Type: application/http\r\n", b"GET / HTTP/1.1\r\n\r\n");
    std::iter::once(info).chain((0..n_pages).flat_map(|number| [request.clone(), page(number)])).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// The same records in each form that archives have them in, with the file's name.
fn packed(records: &[Vec<u8>]) -> Vec<(&'static str, Vec<u8>)> {
    let members = |pack: fn(&[u8]) -> Vec<u8>| records.iter().flat_map(|record| pack(record)).collect::<Vec<u8>>();
    let plain = records.concat();
    // A dictionary of all frames stands in a frame of its own, before them.
    let dictionary = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.com/".repeat(8);
    let packed = zstd(&dictionary);
    let mut with_dictionary = [&[0x5d, 0x2a, 0x4d, 0x18][..], &(packed.len() as u32).to_le_bytes(), &packed].concat();
    for record in records {
        let mut encoder = zstd::bulk::Compressor::with_dictionary(1, &dictionary).unwrap();
        with_dictionary.extend(encoder.compress(record).unwrap());
    }
    vec![
        ("a.warc", plain.clone()),
        ("a.warc.gz", members(gzip)),
        ("one.warc.gz", gzip(&plain)),
        ("a.warc.zst", members(zstd)),
        ("one.warc.zst", zstd(&plain)),
        ("dictionary.warc.zst", with_dictionary),
        ("a.warc.bz2", {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(&plain).unwrap();
            encoder.finish().unwrap()
        }),
    ]
}

fn rows(outcome: &Outcome, names: &[&str]) -> Vec<String> {
    let columns: Vec<Vec<String>> = names.iter().map(|name| outcome.column(name)).collect();
    (0..outcome.n_rows())
        .map(|row| columns.iter().map(|column| column[row].as_str()).collect::<Vec<_>>().join("|"))
        .collect()
}

#[test]
fn a_response_gives_what_the_server_said() {
    let records = [
        response(
            "http://example.com/a",
            "HTTP/1.1 404 Not Found\nContent-Type: Text/HTML; charset=windows-1252\nContent-Language: de",
            b"caf\xe9",
        ),
        response(
            "http://example.com/b",
            "HTTP/1.1 200\nTransfer-Encoding: chunked\nContent-Encoding: gzip\nContent-Type: text/plain",
            &[format!("{:x}\r\n", gzip(b"hello").len()).as_bytes(), &gzip(b"hello"), b"\r\n0\r\n\r\n"].concat(),
        ),
        response("http://example.com/c", "HTTP/1.0 200 OK\nContent-Type: image/png", b"\x89PNG"),
        response("http://example.com/d", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"9\r\nbro"),
    ]
    .concat();
    let bench = Bench::new(&[("a.warc", &records)]);
    let outcome = bench.scan("a.warc");
    let columns = ["url", "status", "mime", "charset", "language", "truncated", "text"];
    assert_eq!(
        rows(&outcome, &columns),
        [
            "http://example.com/a|404|text/html|windows-1252|de|NULL|café",
            "http://example.com/b|200|text/plain|NULL|NULL|NULL|hello",
            "http://example.com/c|200|image/png|NULL|NULL|NULL|NULL",
            "http://example.com/d|200|NULL|NULL|NULL|encoding|bro",
        ]
    );
    assert_eq!(outcome.column("payload")[2], "89504e47");
    assert_eq!(outcome.column("date")[0], "2026-01-02T03:04:05Z");
    assert_eq!(outcome.column("record_id")[0], "urn:uuid:20");
    assert_eq!(outcome.rejects.n_rejects, 0);
    // The same rows, and no payload, where nobody reads one.
    let narrow = bench.scan_columns("a.warc", Some(&["status", "mime"]));
    assert_eq!(rows(&narrow, &["status", "mime"]), rows(&outcome, &["status", "mime"]));
}

#[test]
fn every_form_of_an_archive_gives_the_same_rows_however_it_is_cut() {
    let records = crawl(120);
    let names = ["url", "status", "payload", "_row"];
    let mut expected = None;
    for (name, bytes) in packed(&records) {
        for (block_bytes, n_partitions) in [("1TB", 1), ("1000", 1), ("1000", 4), ("7777", 3)] {
            let mut bench = Bench::new(&[(name, &bytes)]).with("blocksize", block_bytes).batch_bytes(3000);
            (bench.n_partitions, bench.extra.row, bench.extra.position) = (n_partitions, true, true);
            let table = bench.table(name);
            let is_cut = table.input.splits.ranges.len() > 1;
            let is_cuttable = !name.starts_with("one") && !name.ends_with("bz2");
            assert_eq!(is_cut, is_cuttable && block_bytes != "1TB", "{name} {block_bytes}");
            let outcome = bench.scan(name);
            assert_eq!(outcome.rejects.n_rejects, 0, "{name}: {:?}", outcome.rejects.first);
            let mut found: Vec<(u64, String)> =
                outcome.column("_seq").iter().map(|at| at.parse().unwrap()).zip(rows(&outcome, &names)).collect();
            found.sort();
            let found: Vec<String> = found.into_iter().map(|(_, row)| row).collect();
            assert_eq!(found.len(), 120, "{name} {block_bytes}");
            assert_eq!(&found, expected.get_or_insert_with(|| found.clone()), "{name} {block_bytes} {n_partitions}");
        }
    }
    // The records between the pages are counted.
    assert!(expected.unwrap()[0].ends_with("|3"));
}

#[test]
fn offset_and_length_lead_to_the_record_alone() {
    let records = crawl(20);
    for (name, bytes) in packed(&records) {
        let outcome = Bench::new(&[(name, &bytes)]).with("blocksize", "500").scan(name);
        let places: Vec<_> = outcome.column("offset").into_iter().zip(outcome.column("length")).collect();
        for (number, (offset, length)) in places.iter().enumerate() {
            if name.starts_with("one") || name.ends_with("bz2") {
                assert_eq!((offset.as_str(), length.as_str()), ("NULL", "NULL"), "{name}");
                continue;
            }
            let (offset, length): (usize, usize) = (offset.parse().unwrap(), length.parse().unwrap());
            let alone = &bytes[offset..offset + length];
            let unpacked = match name {
                "a.warc.gz" => {
                    let mut text = Vec::new();
                    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(alone), &mut text).unwrap();
                    text
                }
                "a.warc.zst" => zstd::decode_all(alone).unwrap(),
                "dictionary.warc.zst" => continue,
                _ => alone.to_vec(),
            };
            assert_eq!(unpacked, page(number), "{name}");
        }
    }
}

#[test]
fn record_types_are_chosen() {
    let text =
        record("conversion", "http://example.com/", "WARC-Identified-Content-Language: deu\r\n", "Grüße".as_bytes());
    let bytes = [crawl(2).concat(), text].concat();
    let types = |location: &str, option: Option<&str>| {
        let bench = Bench::new(&[("a.warc", &bytes), ("b.wet", &bytes)]);
        let bench = option.into_iter().fold(bench, |bench, types| bench.with("record_types", types));
        bench.scan(location).column("type").join(" ")
    };
    assert_eq!(types("a.warc", None), "response response");
    assert_eq!(types("b.wet", None), "conversion");
    assert_eq!(types("b.wet", Some("Request, warcinfo")), "warcinfo request request");
    assert_eq!(types("a.warc", Some("all")), "warcinfo request response request response conversion");
    let outcome = Bench::new(&[("b.wet.gz", &gzip(&bytes))]).scan("b.wet.gz");
    assert_eq!(rows(&outcome, &["text", "language", "status"]), ["Grüße|deu|NULL"]);
}

/// The pages that are read, and why the rest is not.
fn read(name: &str, bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut seen = None;
    for block_bytes in ["1TB", "700"] {
        let outcome = Bench::new(&[(name, bytes)]).with("blocksize", block_bytes).scan(name);
        let pages = outcome.column("url").iter().map(|url| url.rsplit_once('/').unwrap().1.to_string()).collect();
        // What follows the name of the file: its folder is another one each time.
        let reasons = outcome.rejects.first.iter().map(|told| told.split_once(name).unwrap().1.to_string());
        let found = (pages, reasons.collect::<Vec<String>>());
        assert_eq!(&found, seen.get_or_insert_with(|| found.clone()), "{name} {block_bytes}");
    }
    seen.unwrap()
}

#[test]
fn a_bad_record_is_told_and_the_next_one_is_read() {
    let pages: Vec<Vec<u8>> = (1..5).map(page).collect();
    let broken = |change: fn(&str) -> String| change(std::str::from_utf8(&pages[1]).unwrap()).into_bytes();
    for (bad, reason) in [
        (broken(|page| page.replacen("WARC/1.1", "WORC/1.1", 1)), "it does not begin with `WARC/`"),
        (broken(|page| page.replacen("Content-Length", "Content-Width", 1)), "no Content-Length"),
        (broken(|page| page.replacen("Content-Length: ", "Content-Length: x", 1)), "the Content-Length `x"),
        (broken(|page| page.replacen("WARC-Date:", "WARC-Date", 1).replacen("03:04:05", "", 1)), "no field"),
    ] {
        let records = [pages[0].clone(), bad, pages[2].clone(), pages[3].clone()];
        for (name, bytes) in packed(&records) {
            let (read, reasons) = read(name, &bytes);
            assert_eq!(read, ["1", "3", "4"], "{name} {reason}: {reasons:?}");
            assert!(reasons.len() == 1 && reasons[0].contains(reason), "{name} {reason}: {reasons:?}");
            assert!(reasons[0].contains(":2: "), "{reasons:?}");
        }
    }
}

#[test]
fn corrupt_and_short_members_cost_their_own_record() {
    let members: Vec<Vec<u8>> = (1..5).map(|number| gzip(&page(number))).collect();
    let mut flipped = members.clone();
    let middle = flipped[1].len() / 2;
    flipped[1][middle] ^= 0x55;
    let mut checksum = members.clone();
    let last = checksum[1].len() - 6;
    checksum[1][last] ^= 1;
    let mut short = members.clone();
    short[1] = gzip(&page(2)[..page(2).len() - 30]);
    for (members, told) in [(flipped, ":2: "), (checksum, "checksum"), (short, "the next record begins")] {
        let (read, reasons) = read("a.warc.gz", &members.concat());
        assert_eq!(read, ["1", "3", "4"], "{told}: {reasons:?}");
        assert!(reasons.len() == 1 && reasons[0].contains(told), "{told}: {reasons:?}");
    }
    let frames: Vec<Vec<u8>> = (1..5).map(|number| zstd(&page(number))).collect();
    let mut cut_off = members.concat();
    cut_off.truncate(cut_off.len() - 20);
    let mut cut_frames = frames.concat();
    cut_frames.truncate(cut_frames.len() - 20);
    let plain: Vec<u8> = (1..5).flat_map(page).collect();
    for (name, bytes) in
        [("a.warc.gz", cut_off), ("a.warc.zst", cut_frames), ("a.warc", plain[..plain.len() - 20].to_vec())]
    {
        let (read, reasons) = read(name, &bytes);
        assert_eq!(read, ["1", "2", "3"], "{name}");
        assert!(reasons.len() == 1 && reasons[0].contains(":4: "), "{name} {reasons:?}");
    }
}

#[test]
fn a_crawl_inside_a_crawl_is_a_payload() {
    let inner: Vec<u8> = (50..60).flat_map(page).collect();
    let outer = response("http://example.com/x", "HTTP/1.1 200 OK\nContent-Type: application/warc", &inner);
    let records = [page(1), outer, page(2)];
    for (name, bytes) in packed(&records) {
        let outcome = Bench::new(&[(name, &bytes)]).scan(name);
        assert_eq!(outcome.n_rows(), 3, "{name}");
        assert_eq!(outcome.rejects.n_rejects, 0, "{name}");
    }
    // Where the file is cut inside it, that cannot be told at once, but it is told.
    let outcome = Bench::new(&[("a.warc", &records.concat())]).with("blocksize", "1500").scan("a.warc");
    assert!(outcome.rejects.n_rejects > 0);
    assert!(outcome.reject_reasons()[0].contains("inside another one"), "{:?}", outcome.reject_reasons());
}

#[test]
fn files_without_records_have_no_rows() {
    for (name, bytes, n_rejects) in [
        ("a.warc", &b""[..], 0),
        ("a.warc.gz", b"", 0),
        ("a.warc", b"\r\n\r\n", 0),
        ("a.warc", b"<html>\n<p>no crawl</p>\n", 1),
        ("a.warc.gz", b"<html>", 1),
        ("a.warc.zst", b"<html>", 1),
    ] {
        let outcome = Bench::new(&[(name, bytes)]).scan(name);
        assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (0, n_rejects), "{name} {:?}", outcome.rejects.first);
    }
}
