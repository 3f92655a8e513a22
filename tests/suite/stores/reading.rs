//! Reading from object stores.

use super::super::cli::Folder;
use super::server::{Fault, Server};
use super::{command, finish, query, upload};
use std::io::Write;

const ALL_FAULTS: [Fault; 4] = [Fault::Status(500), Fault::SlowDown, Fault::Reset, Fault::Truncated];

fn line(id: u64) -> String {
    let words: Vec<String> = (0..20 + id % 40).map(|n| format!("w{}", (id * 7919 + n * n * 31) % 4001)).collect();
    format!(
        "{{\"id\": {id}, \"lang\": \"{}\", \"text\": \"{}\"}}\n",
        if id.is_multiple_of(7) { "de" } else { "en" },
        words.join(" ")
    )
}

/// The same documents in every format that is cut in its own way, each larger than the blocks that tests read.
fn corpus(folder: &Folder) {
    let lines: Vec<String> = (0..3000).map(line).collect();
    let text = lines.concat();
    let data = folder.path().join("data");
    for name in ["plain", "zst", "gz", "one-gz"] {
        std::fs::create_dir_all(data.join(name)).unwrap();
    }
    std::fs::write(data.join("plain/a.jsonl"), &text).unwrap();
    let frames = lines.chunks(100).flat_map(|part| zstd::bulk::compress(part.concat().as_bytes(), 1).unwrap());
    std::fs::write(data.join("zst/a.jsonl.zst"), frames.collect::<Vec<u8>>()).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    std::fs::write(data.join("one-gz/a.jsonl.gz"), gz.finish().unwrap()).unwrap();
    for (name, options) in [
        ("parquet", "format = 'parquet'"),
        ("arrow", "format = 'arrow'"),
        ("csv", "format = 'csv'"),
        ("gz", "compression = 'gzip'"),
    ] {
        let made =
            format!("FROM 'data/plain/*.jsonl' |> INTO 'data/{name}/' WITH ({options}, max_file_size = '400kB')");
        folder.run(&["query", "-q", "-e", &made]).ok();
    }
}

/// Every format by its own way, in several splits, with all columns that a position decides.
fn reading(root: &str, name: &str) -> String {
    format!(
        "SET blocksize = '64kB'; FROM '{root}/{name}/*.*' |> WHERE lang = 'en' |> SELECT id, text, _row |> DISTINCT ON (text)"
    )
}

const FORMATS: [&str; 7] = ["plain", "zst", "gz", "one-gz", "parquet", "arrow", "csv"];

#[test]
fn rows_of_a_store_are_those_of_local_files_though_every_request_fails_once() {
    let (folder, server) = (Folder::new(), Server::start());
    corpus(&folder);
    upload(&server, &folder.path().join("data"), "bucket/data");
    for name in FORMATS {
        let expected = query(&folder, &server, &reading("data", name)).ok();
        assert!(expected.lines().count() > 2000, "{name}");
        server.fail_each_once(&ALL_FAULTS);
        let found = query(&folder, &server, &reading("s3://bucket/data", name)).ok();
        assert!(found == expected, "{name}: other rows than of local files");
        server.fail_no_more();
    }
}

#[test]
fn a_crawl_in_a_store_gives_the_rows_of_local_files_though_every_request_fails_once() {
    let (folder, server) = (Folder::new(), Server::start());
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let records = (0..3000).map(|id| {
        let text = line(id);
        let url = format!("http://example.com/{id}");
        let head =
            format!("WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {url}\r\nContent-Length: {}", text.len());
        format!("{head}\r\n\r\n{text}\r\n\r\n").into_bytes()
    });
    let members = records.flat_map(|record| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&record).unwrap();
        gz.finish().unwrap()
    });
    std::fs::write(folder.path().join("data/a.warc.wet.gz"), members.collect::<Vec<u8>>()).unwrap();
    upload(&server, &folder.path().join("data"), "bucket/data");
    let reading = |root: &str| {
        format!(
            "SET blocksize = '64kB'; FROM '{root}/*.gz' |> SELECT url, text, \"offset\", _row |> DISTINCT ON (text)"
        )
    };
    let expected = query(&folder, &server, &reading("data")).ok();
    assert_eq!(expected.lines().count(), 3000);
    server.fail_each_once(&ALL_FAULTS);
    let found = query(&folder, &server, &reading("s3://bucket/data")).ok();
    assert!(found == expected, "other rows than of a local file");
}

#[test]
fn a_store_that_is_silent_is_asked_again() {
    let (folder, server) = (Folder::new(), Server::start());
    server.put("bucket/a.jsonl", line(1));
    server.fail_once("GET /bucket/a.jsonl", Fault::Silent);
    let found = query(&folder, &server, "FROM 's3://bucket/a.jsonl' |> SELECT id").ok();
    assert_eq!(found, "{\"id\":1}\n");
}

#[test]
fn a_large_file_is_read_once_by_ranges_that_partitions_share() {
    let (folder, server) = (Folder::new(), Server::start());
    let text: String = (0..40_000).map(line).collect();
    server.put("bucket/a.jsonl", text.clone());
    let found = query(
        &folder,
        &server,
        "SET threads = 4; SET blocksize = '2MB'; FROM 's3://bucket/a.jsonl' |> AGGREGATE count(*) AS n, sum(id) AS ids",
    );
    assert_eq!(found.ok(), "{\"n\":40000,\"ids\":799980000}\n");
    let log = server.take_log();
    let n_gets = log.iter().filter(|line| line.starts_with("GET /bucket/a.jsonl")).count();
    // Ranges grow to megabytes; a request for each line or page would be thousands.
    assert!(n_gets < 60, "{n_gets} requests for {} bytes", text.len());
    assert_eq!(log.iter().filter(|line| line.starts_with("HEAD")).count(), 1, "{log:?}");
}

#[test]
fn of_parquet_the_wanted_columns_are_fetched() {
    let (folder, server) = (Folder::new(), Server::start());
    let text: String = (0..20_000).map(line).collect();
    folder.write("a.jsonl", &text);
    folder.run(&["query", "-q", "-e", "FROM 'a.jsonl' |> INTO 'a.parquet'"]).ok();
    let bytes = std::fs::read(folder.path().join("a.parquet")).unwrap();
    server.put("bucket/a.parquet", bytes.clone());
    let found = query(&folder, &server, "FROM 's3://bucket/a.parquet' |> AGGREGATE sum(id) AS ids").ok();
    assert_eq!(found, "{\"ids\":199990000}\n");
    assert!(server.n_bytes_sent() < bytes.len() / 3, "{} of {} bytes", server.n_bytes_sent(), bytes.len());
}

#[test]
fn ten_thousand_objects_are_listed_by_pages_and_read_in_few_splits() {
    let (folder, server) = (Folder::new(), Server::start());
    for id in 0..10_000 {
        server.put(&format!("bucket/many/{:02}/{id:05}.jsonl", id % 40), line(id));
    }
    server.put("bucket/many/_hidden.jsonl", "no data");
    server.put("bucket/manyfold.jsonl", "no data");
    let sum = "AGGREGATE count(*) AS n, sum(id) AS ids";
    let found = query(&folder, &server, &format!("FROM 's3://bucket/many/**/*.jsonl' |> {sum}")).ok();
    assert_eq!(found, "{\"n\":10000,\"ids\":49995000}\n");
    let log = server.take_log();
    let n_lists = log.iter().filter(|line| line.contains("prefix=many/") && !line.contains("curator-stage")).count();
    assert!((11..16).contains(&n_lists), "{n_lists} lists");
    assert!(!log.iter().any(|line| line.starts_with("HEAD")), "no object is asked for what its list has said");
    let one = query(&folder, &server, &format!("FROM 's3://bucket/many/07/*.jsonl' |> {sum}")).ok();
    assert_eq!(one, "{\"n\":250,\"ids\":1246750}\n");
}

#[test]
fn a_folder_of_a_store_is_a_source_with_its_hive_columns() {
    let (folder, server) = (Folder::new(), Server::start());
    for (lang, id) in [("en", 1), ("de", 2), ("en", 3)] {
        server.put(&format!("bucket/docs/lang={lang}/{id}.jsonl"), format!("{{\"id\": {id}}}\n"));
    }
    for location in ["s3://bucket/docs", "s3://bucket/docs/", "s3://bucket/docs/*/*.jsonl"] {
        let found = query(&folder, &server, &format!("FROM '{location}' |> SELECT id, lang")).ok();
        assert_eq!(
            found, "{\"id\":2,\"lang\":\"de\"}\n{\"id\":1,\"lang\":\"en\"}\n{\"id\":3,\"lang\":\"en\"}\n",
            "{location}"
        );
    }
}

#[test]
fn what_stays_wrong_names_the_object_and_what_to_do() {
    let (folder, server) = (Folder::new(), Server::start());
    server.put("bucket/a.jsonl", line(1));
    let wrong = |location: &str| query(&folder, &server, &format!("FROM '{location}' |> SELECT id")).wrong();
    for (location, parts) in [
        ("s3://bucket/b.jsonl", ["s3://bucket/b.jsonl", "no object or folder"]),
        ("s3://bucket/*.csv", ["s3://bucket/*.csv", "no object matches"]),
        ("https://me:pass@host/a.jsonl", ["https://me:pass@host", "must not hold credentials"]),
    ] {
        let told = wrong(location);
        assert!(parts.iter().all(|part| told.contains(part)) || told.contains(parts[1]), "{location}: {told}");
    }
    server.fail_always("/bucket", Fault::Status(403));
    let told = wrong("s3://bucket/a.jsonl");
    assert!(told.contains("s3://bucket/a.jsonl") && told.contains("access denied") && told.contains("403"), "{told}");
    let mut nobody = command(&folder, &server, &["query", "-e", "FROM 's3://bucket/a.jsonl'"]);
    nobody.env("AWS_ENDPOINT_URL", "http://store.example.com:9000");
    let told = finish(nobody).wrong();
    assert!(told.contains("not encrypted") && told.contains("AWS_ALLOW_HTTP"), "{told}");
}

#[test]
fn an_object_that_changes_while_it_is_read_is_not_read_in_two_versions() {
    let (folder, server) = (Folder::new(), Server::start());
    let text: String = (0..3000).map(line).collect();
    server.put("bucket/a.jsonl", text.clone());
    server.put("bucket/b.jsonl", line(5));
    // The bytes behind the first ones are of another version.
    server.replace_after_first_get("bucket/a.jsonl", text.replace("w1", "x1"));
    let report = folder.path().join("report.json").display().to_string();
    let read = "FROM 's3://bucket/*.jsonl' |> SELECT id |> INTO 'out/' WITH (rejects = 'rejects/')";
    let mut run = command(&folder, &server, &["query", "-q", "--report", &report, "-e", read]);
    run.env("AWS_PROFILE", "none");
    finish(run).ok();
    let rejects = folder.read("rejects/rejects.jsonl");
    assert!(
        rejects.contains("s3://bucket/a.jsonl") && rejects.contains("changed while it was being read"),
        "{rejects}"
    );
}

#[test]
fn keys_come_from_the_profile_too() {
    let (folder, server) = (Folder::new(), Server::start());
    server.put("bucket/a.jsonl", line(1));
    std::fs::create_dir(folder.path().join(".aws")).unwrap();
    folder.write(".aws/credentials", "[lab]\naws_access_key_id = me\naws_secret_access_key = hush-hush-secret\n");
    folder.write(".aws/config", &format!("[profile lab]\nregion = us-west-2\nendpoint_url = {}\n", server.endpoint));
    let mut run = command(&folder, &server, &["query", "-q", "-e", "FROM 's3://bucket/a.jsonl' |> SELECT id"]);
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"] {
        run.env_remove(name);
    }
    run.env("AWS_PROFILE", "lab");
    finish(run).ok();
    assert!(
        server.take_authorizations().iter().all(|told| told.contains("Credential=me/") && told.contains("us-west-2"))
    );
}

#[test]
fn a_web_server_gives_files_by_ranges() {
    let (folder, server) = (Folder::new(), Server::start());
    corpus(&folder);
    upload(&server, &folder.path().join("data"), "data");
    let expected = query(&folder, &server, "FROM 'data/plain/a.jsonl' |> SELECT id, text").ok();
    server.fail_each_once(&ALL_FAULTS);
    let url = format!("{}/data/plain/a.jsonl", server.endpoint);
    let found = query(&folder, &server, &format!("SET blocksize = '64kB'; FROM '{url}' |> SELECT id, text")).ok();
    assert!(found == expected);
    let told = query(&folder, &server, &format!("FROM '{}/data/*.jsonl'", server.endpoint)).wrong();
    assert!(told.contains("name them one by one"), "{told}");
}

#[test]
fn datasets_of_the_hub_are_read_at_one_commit_with_the_token() {
    let (folder, server) = (Folder::new(), Server::start());
    for id in 0..7 {
        server.put(&format!("lab/corpus/data/part {id}.jsonl"), line(id));
    }
    server.put("lab/corpus/README.md", "# none of it");
    server.ask_for_token("hf_secret_token");
    let run = |token: Option<&str>, location: &str| {
        let text = format!("FROM '{location}' |> AGGREGATE count(*) AS n, sum(id) AS ids");
        let mut run = command(&folder, &server, &["query", "-q", "--output-format", "json", "-e", &text]);
        run.env("HF_ENDPOINT", &server.endpoint);
        if let Some(token) = token {
            run.env("HF_TOKEN", token);
        }
        let run = finish(run);
        assert!(!run.stderr.contains("hf_secret_token"));
        run
    };
    for location in [
        "hf://datasets/lab/corpus/data/*.jsonl",
        "hf://datasets/lab/corpus@v2/**/*.jsonl",
        "hf://datasets/lab/corpus/data",
    ] {
        assert_eq!(run(Some("hf_secret_token"), location).ok(), "{\"n\":7,\"ids\":21}\n", "{location}");
    }
    let one = run(Some("hf_secret_token"), "hf://datasets/lab/corpus/data/part 3.jsonl").ok();
    assert_eq!(one, "{\"n\":1,\"ids\":3}\n");
    let told = run(None, "hf://datasets/lab/corpus/data/*.jsonl").wrong();
    assert!(told.contains("set HF_TOKEN") && told.contains("hf://datasets/lab/corpus"), "{told}");
}
