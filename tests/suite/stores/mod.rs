//! Object stores: what is read from them and written to them has the bytes of local files, whatever fails on the way.
//!
//! The store is a server in this process (`server.rs`): S3 with multipart uploads, conditional writes and lists of a thousand;
//! a web server; the Hugging Face Hub.

mod moto;
mod reading;
mod server;
mod writing;

use super::cli::{Folder, Run};
use server::Server;
use std::path::Path;
use std::process::Command;

/// A secret that no message may hold.
const SECRET: &str = "hush-hush-secret";

/// A command that finds the server.
fn command(folder: &Folder, server: &Server, arguments: &[&str]) -> Command {
    let mut command = folder.command(arguments);
    for (name, _) in std::env::vars() {
        let is_of_stores =
            ["AWS_", "GOOGLE_", "AZURE_", "HF_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
        if is_of_stores.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env("HOME", folder.path()).env("NO_PROXY", "127.0.0.1").env("CURATOR_STORE_TIMEOUT", "1");
    command.env("AWS_ENDPOINT_URL", &server.endpoint).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "somebody").env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

fn finish(mut command: Command) -> Run {
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let run = Run { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) };
    assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "a secret is told");
    run
}

/// Runs a query quietly; its rows come as JSON Lines.
fn query(folder: &Folder, server: &Server, query: &str) -> Run {
    finish(command(folder, server, &["query", "-q", "--output-format", "json", "-e", query]))
}

/// Puts every file below a local folder into a bucket.
fn upload(server: &Server, folder: &Path, bucket: &str) {
    for entry in
        walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file())
    {
        let key = entry.path().strip_prefix(folder).unwrap().display().to_string();
        server.put(&format!("{bucket}/{key}"), std::fs::read(entry.path()).unwrap());
    }
}
