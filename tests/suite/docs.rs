//! The documents tell the truth: every example in them runs, and prints what they show.
//!
//! `UPDATE_DOCS=1 cargo test docs` writes the life of a query in ARCHITECTURE.md again.

use super::harness::{block_on, root, writing_alone};
use curator::diag::{SourceText, render_all};
use curator::{Config, Language, Session};
use std::path::Path;
use std::process::Command;

const DOCUMENTS: [&str; 14] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/coming-from.md",
    "docs/cookbook.md",
    "docs/cql.md",
    "docs/encoders.md",
    "docs/files.md",
    "docs/gpu.md",
    "docs/library.md",
    "docs/models.md",
    "docs/performance.md",
    "docs/runs.md",
    "docs/tour.md",
];

/// Those whose commands are run, in this order: the README's first one makes the rejects that others look at.
const WITH_COMMANDS: [&str; 7] = [
    "README.md",
    "docs/cookbook.md",
    "docs/files.md",
    "docs/gpu.md",
    "docs/performance.md",
    "docs/runs.md",
    "docs/tour.md",
];

fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).unwrap()
}

/// The fenced blocks of a language, with the line each begins at.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            Some(_) if line.starts_with("```") => found.extend(open.take()),
            Some((_, block)) => *block += &format!("{line}\n"),
            None if line == format!("```{language}") => open = Some((number + 1, String::new())),
            None => {}
        }
    }
    found
}

/// What a shell prints for a command, `curator` being the one under test.
fn shell(command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_curator")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(root())
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env_remove("RUST_BACKTRACE")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_query_in_the_documents_is_right() {
    let mut wrong = Vec::new();
    let mut n_blocks = 0;
    for document in DOCUMENTS {
        let text = read(document);
        for (language, kind) in [("cql", Language::Cql), ("sql", Language::Sql)] {
            for (line, block) in blocks(&text, language) {
                n_blocks += 1;
                let source = SourceText::new(format!("{document}:{line}"), block);
                let mut session = Session::new(Config::default()).unwrap();
                let problems = block_on(session.check(&source, kind));
                if !problems.is_empty() {
                    wrong.push(render_all(&problems, false));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_blocks >= 6, "only {n_blocks} blocks were found");
}

#[test]
fn every_command_in_the_documents_prints_what_is_shown() {
    let _alone = writing_alone();
    let mut wrong = Vec::new();
    let of_document = |document: &'static str| {
        blocks(&read(document), "console").into_iter().map(move |(line, block)| (document, line, block))
    };
    for (document, line, block) in WITH_COMMANDS.into_iter().flat_map(of_document) {
        let mut printed = String::new();
        for shown in block.lines() {
            if let Some(command) = shown.strip_prefix("$ ") {
                printed = shell(command);
                continue;
            }
            // Times are the machine's; `…` stands for the rest.
            let varies = ["ms", "µs", " s,"].iter().any(|unit| shown.contains(unit)) || shown.trim() == "…";
            if !varies && !printed.lines().any(|line| line.trim_end() == shown.trim_end()) {
                wrong.push(format!("{document}:{line}: not printed: {shown}\n  printed:\n{printed}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_life_of_a_query_in_the_architecture_is_as_it_is() {
    let text = read("ARCHITECTURE.md");
    let mut now = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("<!-- life: ") {
        let (command, after) = after.split_once(" -->\n```text\n").unwrap();
        let (_, after) = after.split_once("\n```\n").unwrap();
        now += &format!("{before}<!-- life: {command} -->\n```text\n{}\n```\n", shell(command).trim_end());
        rest = after;
    }
    now += rest;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join("ARCHITECTURE.md"), &now).unwrap();
        return;
    }
    assert!(now.matches("<!-- life: ").count() >= 4);
    assert_eq!(now, text, "ARCHITECTURE.md shows an old life; UPDATE_DOCS=1 cargo test docs writes it again");
}
