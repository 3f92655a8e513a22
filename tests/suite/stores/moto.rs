//! The same against a server that others wrote: moto, if `CURATOR_MOTO` says where its program is (`.ci/moto`).

use super::super::cli::Folder;
use super::{SECRET, Server, command, finish, query};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A process that ends with the test.
struct Moto {
    process: Child,
    endpoint: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The server with a bucket; `None`, said aloud, where there is none.
fn moto() -> Option<Moto> {
    let Some(program) = std::env::var("CURATOR_MOTO").ok().filter(|program| !program.is_empty()) else {
        eprintln!("skipped: CURATOR_MOTO names no moto_server");
        return None;
    };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let process = Command::new(program)
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .env("AWS_ACCESS_KEY_ID", "x")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let moto = Moto { process, endpoint: format!("http://127.0.0.1:{port}") };
    let create = "PUT /bucket HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for _ in 0..600 {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let mut answer = String::new();
            std::io::Write::write_all(&mut stream, create.as_bytes()).unwrap();
            std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            return Some(moto);
        }
        // It takes a while to begin; nothing is measured by this.
        std::thread::yield_now();
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    panic!("moto does not answer");
}

#[test]
fn what_a_run_writes_is_read_again_through_another_server() {
    let Some(moto) = moto() else { return };
    let (folder, server) = (Folder::new(), Server::start());
    let text: String =
        (0..20_000).map(|id| format!("{{\"id\":{id},\"text\":\"{}\"}}\n", "word ".repeat(id % 50))).collect();
    folder.write("a.jsonl", &text);
    let run = |text: &str| {
        let mut run = command(&folder, &server, &["query", "-q", "--output-format", "json", "-e", text]);
        run.env("AWS_ENDPOINT_URL", &moto.endpoint).env("CURATOR_STORE_TIMEOUT", "30");
        finish(run).ok()
    };
    for (options, overwrite) in [("", ""), ("format = 'parquet'", ", overwrite = true")] {
        let options = if options.is_empty() { "compression = 'zstd'" } else { options };
        run(&format!("FROM 'a.jsonl' |> INTO 's3://bucket/out/' WITH ({options}{overwrite})"));
        let found = run("SET blocksize = '64kB'; FROM 's3://bucket/out/*' |> SELECT id, text");
        assert!(found == query(&folder, &server, "FROM 'a.jsonl' |> SELECT id, text").ok(), "{options}");
        let mut verify = command(&folder, &server, &["verify", "s3://bucket/out"]);
        verify.env("AWS_ENDPOINT_URL", &moto.endpoint).env("CURATOR_STORE_TIMEOUT", "30");
        finish(verify).ok();
    }
    run("FROM 'a.jsonl' |> INTO 's3://bucket/one.jsonl'");
    assert!(run("FROM 's3://bucket/one.jsonl' |> AGGREGATE count(*) AS n") == "{\"n\":20000}\n");
}
