//! Writing to object stores: nothing is visible before the commit, and then all of it.

use super::super::cli::Folder;
use super::server::{Fault, Server};
use super::{command, finish, query, upload};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

fn line(id: u64) -> String {
    let words: Vec<String> = (0..30).map(|n| format!("w{}", (id * 7919 + n * n * 31) % 4001)).collect();
    match id % 50 {
        0 => format!("{{\"id\": {id}, broken\n"),
        _ => format!("{{\"id\": {id}, \"lang\": \"l{}\", \"text\": \"{}\"}}\n", id % 3, words.join(" ")),
    }
}

fn documents(folder: &Folder, n: u64) {
    std::fs::create_dir_all(folder.path().join("in")).unwrap();
    folder.write("in/a.jsonl", &(0..n).map(line).collect::<String>());
}

/// Every kind of thing that a run makes, below a root.
fn writing(root: &str, options: &str) -> String {
    format!(
        "SET threads = 2; FROM 'in/*.jsonl' |> WHERE id % 7 > 0 |> DEDUP EXACT ON text \
         |> INTO '{root}out/' WITH (rejects = '{root}rejects/'{options})"
    )
}

fn run(folder: &Folder, server: &Server, text: &str) -> Command {
    command(folder, server, &["query", "-q", "-e", text])
}

/// What lies below a bucket's folder and is no manifest: a manifest tells where files are.
fn data(files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    files.into_iter().filter(|(name, _)| !name.ends_with("_manifest.json")).collect()
}

fn local(folder: &Folder, below: &str) -> Vec<(String, Vec<u8>)> {
    let files =
        folder.tree().into_iter().filter_map(|(name, bytes)| Some((name.strip_prefix(below)?.to_string(), bytes)));
    // A store lists names byte by byte, a disk folder by folder.
    files.collect::<BTreeMap<_, _>>().into_iter().collect()
}

fn assert_same(found: &[(String, Vec<u8>)], expected: &[(String, Vec<u8>)], when: &str) {
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{when}");
    assert!(found == expected, "{when}: other bytes");
}

const ALL_FAULTS: [Fault; 4] = [Fault::Status(500), Fault::SlowDown, Fault::Reset, Fault::Truncated];

#[test]
fn what_a_run_writes_to_a_store_has_the_bytes_of_local_files_though_every_request_fails_once() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 4000);
    for options in ["", ", format = 'parquet', overwrite = true", ", partition_by = 'lang', overwrite = true"] {
        finish(run(&folder, &server, &writing("local/", options))).ok();
        server.fail_each_once(&ALL_FAULTS);
        finish(run(&folder, &server, &writing("s3://bucket/", options))).ok();
        server.fail_no_more();
        assert_same(&data(server.objects("bucket/")), &data(local(&folder, "local/")), options);
        assert_eq!(server.n_uploads(), 0, "{options}");
        for place in ["s3://bucket/out", "s3://bucket/rejects"] {
            finish(command(&folder, &server, &["verify", place])).ok();
        }
        let count = |root: &str| {
            query(&folder, &server, &format!("FROM '{root}out/' |> AGGREGATE count(*) AS n, sum(id) AS ids")).ok()
        };
        assert_eq!(count("s3://bucket/"), count("local/"));
    }
    let listed = server.objects("bucket/out/_manifest.json").pop().unwrap().1;
    let told = String::from_utf8(listed).unwrap();
    assert!(!told.contains(super::SECRET) && told.contains("partition_by"), "{told}");
}

#[test]
fn a_file_larger_than_a_part_is_uploaded_in_parts_of_one_size() {
    let (folder, server) = (Folder::new(), Server::start());
    std::fs::create_dir(folder.path().join("in")).unwrap();
    let long = "x".repeat(1 << 20);
    let text: String = (0..20).map(|id| format!("{{\"id\":{id},\"text\":\"{long}\"}}\n")).collect();
    folder.write("in/a.jsonl", &text);
    finish(run(&folder, &server, "FROM 'in/*.jsonl' |> INTO 's3://bucket/one.jsonl'")).ok();
    let files = server.objects("bucket/");
    assert_eq!(
        files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        [".one.jsonl.manifest.json", "one.jsonl"]
    );
    assert!(files[1].1 == text.as_bytes());
    let parts = server.take_log().iter().filter(|line| line.contains("partNumber")).count();
    assert!(parts >= 3, "{parts}");
    let told = finish(run(&folder, &server, "FROM 'in/*.jsonl' |> INTO 's3://bucket/one.jsonl'")).wrong();
    assert!(told.contains("overwrite"), "{told}");
    finish(run(&folder, &server, "FROM 'in/*.jsonl' |> INTO 's3://bucket/one.jsonl' WITH (overwrite = true)")).ok();
    server.put("bucket/one.jsonl", "changed");
    let changed = finish(command(&folder, &server, &["verify", "s3://bucket/one.jsonl"]));
    assert_eq!(changed.code, Some(1), "{}", changed.stdout);
}

#[test]
fn of_a_run_that_fails_or_is_killed_nothing_is_visible_and_the_next_run_removes_the_rest() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 3000);
    let text = writing("s3://bucket/", "");
    // The manifest cannot be written: the run fails, and takes back what it can.
    server.fail_always("POST /bucket/out/_manifest.json", Fault::Status(403));
    let told = finish(run(&folder, &server, &text)).wrong();
    assert!(told.contains("s3://bucket/out/_manifest.json") && told.contains("access denied"), "{told}");
    assert_eq!(server.names("bucket/"), [""; 0]);
    assert_eq!(server.n_uploads(), 0);
    server.fail_no_more();
    // Killed before the record: uploads and markers are left, and nobody sees them.
    let mut killed = run(&folder, &server, &text);
    killed.env("CURATOR_FAULT", "abort:1").stdin(Stdio::null());
    assert!(!killed.output().unwrap().status.success());
    assert!(server.n_uploads() > 0);
    assert!(
        server.names("bucket/").iter().all(|name| name.contains(".curator-stage/")),
        "{:?}",
        server.names("bucket/")
    );
    let nothing = query(&folder, &server, "FROM 's3://bucket/out/'").wrong();
    assert!(nothing.contains("s3://bucket/out/"), "{nothing}");
    finish(run(&folder, &server, &text)).ok();
    assert_eq!(server.n_uploads(), 0);
    assert!(
        !server.names("bucket/").iter().any(|name| name.contains(".curator-stage")),
        "{:?}",
        server.names("bucket/")
    );
}

#[test]
fn a_run_into_a_bucket_that_is_killed_goes_on_with_what_this_machine_has_kept() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 6000);
    let text = |root: &str| format!("SET blocksize = '64kB'; {}", writing(root, ""));
    finish(run(&folder, &server, &text("local/"))).ok();
    let expected = data(local(&folder, "local/"));
    let kept = folder.path().join(".local/state/curator/kept");
    let n_kept =
        || walkdir::WalkDir::new(&kept).into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file()).count();
    let resumed = || command(&folder, &server, &["query", "--resume", "-e", &text("s3://bucket/")]);
    // Before the third unit is kept; then by SIGKILL at some moment; with requests that fail.
    let mut killed = resumed();
    killed.env("CURATOR_FAULT", "abort-kept:3").stdin(Stdio::null());
    assert!(!killed.output().unwrap().status.success());
    assert!(n_kept() > 0);
    assert!(server.names("bucket/").iter().all(|name| name.contains(".curator-stage/")), "nothing is visible");
    let told = finish(run(&folder, &server, &text("s3://bucket/"))).wrong();
    assert!(told.contains("`--resume` goes on with them"), "{told}");
    let before = n_kept();
    let mut killed = resumed().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while n_kept() <= before + 3 && killed.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    server.fail_each_once(&ALL_FAULTS);
    let ended = finish(resumed());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("units were finished by an earlier attempt"), "{}", ended.stderr);
    server.fail_no_more();
    assert_same(&data(server.objects("bucket/")), &expected, "resumed");
    assert_eq!((n_kept(), server.n_uploads()), (0, 0), "nothing is left");
    let again = finish(resumed());
    assert!(again.code == Some(0) && again.stderr.contains("is complete"), "{}", again.stderr);
}

#[test]
fn a_commit_that_a_crash_cut_short_is_carried_out_by_whoever_opens_the_place_next() {
    for step in [2, 4, 5, 7, 9, 12] {
        let (folder, server) = (Folder::new(), Server::start());
        documents(&folder, 500);
        finish(run(&folder, &server, &writing("s3://bucket/", ""))).ok();
        folder.write("in/b.jsonl", &(10_000..10_400).map(line).collect::<String>());
        let again = writing("s3://bucket/", ", overwrite = true");
        let before = query(&folder, &server, "FROM 's3://bucket/out/' |> AGGREGATE count(*) AS n").ok();
        let mut killed = run(&folder, &server, &again);
        killed.env("CURATOR_FAULT", format!("abort:{step}")).stdin(Stdio::null());
        let _ = killed.output().unwrap();
        finish(run(&folder, &server, &writing("local/", ""))).ok();
        let after = query(&folder, &server, "FROM 'local/out/' |> AGGREGATE count(*) AS n").ok();
        let found = query(&folder, &server, "FROM 's3://bucket/out/' |> AGGREGATE count(*) AS n").ok();
        assert!(found == before || found == after, "step {step}: {found}");
        if found == after {
            // What is read is what the other place was given too.
            finish(command(&folder, &server, &["verify", "s3://bucket/out"])).ok();
            finish(command(&folder, &server, &["verify", "s3://bucket/rejects"])).ok();
            assert_same(
                &data(server.objects("bucket/out/")),
                &data(local(&folder, "local/out/")),
                &format!("step {step}"),
            );
        }
        assert!(found == after || step < 5, "step {step}: the record is written by then");
    }
}

#[test]
fn two_runs_into_one_place_are_kept_apart() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 200);
    // The first run waits for its input, a pipe, with the place claimed.
    let slow = "FROM '-' |> INTO 's3://bucket/out/'";
    let mut first = run(&folder, &server, slow).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = first.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, line(1).as_bytes()).unwrap();
    drop(input);
    assert!(first.wait().unwrap().success());
    // A lock of a process that lives, as another run would leave it.
    let lock = lock_of(std::process::id());
    server.put("bucket/held/.curator-stage/lock", lock);
    let told = finish(run(&folder, &server, "FROM 'in/*.jsonl' |> INTO 's3://bucket/held/'")).wrong();
    assert!(told.contains("another run is writing here") && told.contains("s3://bucket/held"), "{told}");
    // One of a process that is dead.
    let mut dead = Command::new("true").spawn().unwrap();
    let id = dead.id();
    let lock = lock_of(id);
    dead.wait().unwrap();
    server.put("bucket/held/.curator-stage/lock", lock);
    finish(run(&folder, &server, "FROM 'in/*.jsonl' |> INTO 's3://bucket/held/'")).ok();
    assert!(!server.names("bucket/held/").iter().any(|name| name.contains("lock")));
}

/// A lock as a process of this machine writes it.
fn lock_of(id: u32) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let started = read(&format!("/proc/{id}/stat"))
        .rsplit_once(')')
        .map_or(String::new(), |(_, rest)| rest.split_whitespace().nth(19).unwrap().to_string());
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap().display().to_string();
    serde_json::json!({
        "process": {"boot": read("/proc/sys/kernel/random/boot_id").trim(), "namespace": namespace, "id": id, "started": started},
        "token": "of another",
        "n_renewals": 3,
    })
    .to_string()
}

#[test]
fn a_store_without_conditional_writes_is_written_to_and_that_is_said() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 200);
    server.forget_conditions();
    let mut said = command(&folder, &server, &["query", "-e", "FROM 'in/*.jsonl' |> INTO 's3://bucket/out/'"]);
    said.env("RUST_LOG", "warn").env("CURATOR_LOG", "warn");
    let run = finish(said);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(server.names("bucket/out/").contains(&"_manifest.json".to_string()));
    assert!(run.stderr.contains("no conditional writes"), "{}", run.stderr);
}

#[test]
fn an_index_in_a_store_is_added_to_and_read() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 300);
    let text = |place: &str| {
        format!("FROM 'in/*.jsonl' |> DEDUP EXACT ON text AGAINST INDEX 's3://bucket/seen' |> INTO '{place}'")
    };
    finish(run(&folder, &server, &text("s3://bucket/first/"))).ok();
    folder.write("in/b.jsonl", &(1000..1100).map(line).collect::<String>());
    finish(run(&folder, &server, &text("second/"))).ok();
    let count = |root: &str| query(&folder, &server, &format!("FROM '{root}' |> AGGREGATE count(*) AS n")).ok();
    assert_eq!((count("s3://bucket/first/"), count("second/")), ("{\"n\":294}\n".into(), "{\"n\":98}\n".into()));
    finish(command(&folder, &server, &["index", "verify", "s3://bucket/seen"])).ok();
    let told = finish(command(&folder, &server, &["index", "compact", "s3://bucket/seen"]));
    assert_ne!(told.code, Some(0), "compacting needs a folder of this machine");
}

#[test]
fn the_example_of_the_documentation_runs() {
    let (folder, server) = (Folder::new(), Server::start());
    let text = (1..100).map(line).collect::<String>().replace("w1", "w1 w2 w3");
    server.put("crawl/2026-01/a.jsonl.zst", zstd::bulk::compress(text.as_bytes(), 1).unwrap());
    let page = std::fs::read_to_string(super::super::harness::root().join("docs/storage.md")).unwrap();
    let example = page.split("```cql\n").nth(1).unwrap().split("```").next().unwrap();
    finish(run(&folder, &server, example)).ok();
    let places = ["lake/clean/_manifest.json", "lake/clean-rejects/_manifest.json", "lake/seen/"];
    assert!(places.iter().all(|place| !server.names(place).is_empty()), "{:?}", server.names("lake/"));
}

#[test]
fn files_are_added_to_an_output_in_a_store() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 300);
    let text = "FROM 'in/*.jsonl' |> WHERE id % 2 = 1 |> INTO 's3://bucket/out/'";
    let incremental = || finish(command(&folder, &server, &["query", "-q", "--incremental", "-e", text]));
    incremental().ok();
    folder.write("in/b.jsonl", &(1000..1100).map(line).collect::<String>());
    incremental().ok();
    let found = query(&folder, &server, "FROM 's3://bucket/out/' |> AGGREGATE count(*) AS n").ok();
    assert_eq!(found, "{\"n\":200}\n");
    finish(command(&folder, &server, &["verify", "s3://bucket/out"])).ok();
}

#[test]
fn what_cannot_be_done_in_a_store_is_refused_with_a_way_out() {
    let (folder, server) = (Folder::new(), Server::start());
    documents(&folder, 100);
    upload(&server, &folder.path().join("in"), "bucket/in");
    let text = "FROM 'in/*.jsonl' |> INTO 's3://bucket/out/'";
    let in_splits = format!("SET blocksize = '4kB'; {text}");
    let told = finish(command(&folder, &server, &["query", "-q", "--shard", "1/2", "-e", &in_splits])).wrong();
    assert!(told.contains("name an output on this machine"), "{told}");
    assert_eq!(server.names("bucket/out"), [""; 0]);
    for location in ["hf://datasets/a/b/out/", "https://host/out.jsonl"] {
        let told = finish(run(&folder, &server, &format!("FROM 'in/*.jsonl' |> INTO '{location}'"))).wrong();
        assert!(told.contains("s3://, gs:// and az://"), "{told}");
    }
    let told = finish(run(&folder, &server, "FROM 's3://bucket/in/*.jsonl' |> INTO 's3://bucket/in/b.jsonl'")).wrong();
    assert!(told.contains("within an input"), "{told}");
    server.put("bucket/strange/a.jsonl", "not ours");
    let told =
        finish(run(&folder, &server, "FROM 'in/*.jsonl' |> INTO 's3://bucket/strange/' WITH (overwrite = true)"))
            .wrong();
    assert!(told.contains("a.jsonl"), "{told}");
}
