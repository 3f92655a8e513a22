//! Every broken query of `tests/errors` gets its message at the right place, as its golden file shows.

use super::harness::{block_on, files, language_of, name_of, read, session_for};
use curator::Config;
use curator::diag::{Diagnostic, render_all};

#[test]
fn every_broken_query_gets_its_messages_at_their_places() {
    let mut wrong = Vec::new();
    for path in files("tests/errors", "ql") {
        let source = read(&path);
        let expected: Vec<String> = source
            .text()
            .lines()
            .filter_map(|line| line.trim_end().strip_prefix("-- expect: ").map(str::to_string))
            .collect();
        let mut session = session_for(&source, Config::default());
        let mut problems = block_on(session.check(&source, language_of(&path)));
        problems.sort_by_key(Diagnostic::position);
        let found: Vec<String> = problems
            .iter()
            .map(|problem| {
                let (line, column) = problem.position().unwrap_or_default();
                format!("{} {line}:{column}", problem.code.as_str())
            })
            .collect();
        let rendered = render_all(&problems, false);
        if found != expected {
            wrong.push(format!("{}: expected {expected:?}, found {found:?}\n{rendered}", path.display()));
            continue;
        }
        let golden = std::panic::catch_unwind(|| {
            insta::with_settings!({ snapshot_path => "../errors/golden", prepend_module_to_snapshot => false, omit_expression => true }, {
                insta::assert_snapshot!(name_of(&path), rendered);
            });
        });
        if golden.is_err() {
            wrong.push(format!("{}: the message differs from its golden file", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{} of the broken queries:\n{}", wrong.len(), wrong.join("\n"));
}
