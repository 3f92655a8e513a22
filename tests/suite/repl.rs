//! The prompt, through a pseudo-terminal: with the line editor, and on a terminal that can do nothing.

use super::cli::Folder;
use expectrl::Expect;
use expectrl::process::unix::WaitStatus;
use expectrl::session::OsSession;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Longer than any machine needs; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

const PROMPT: &str = "curator> ";
const CONTINUATION: &str = "      -> ";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";

/// The terminals that a conversation is tried on: the line editor works on the first.
const TERMINALS: [&str; 2] = ["xterm-256color", "dumb"];

/// Rows for hours.
const ENDLESS: &str = "SELECT 7000000 + a.value AS n FROM generate_series(1, 99999) a \
                       CROSS JOIN generate_series(1, 99999) b";

/// A terminal with the prompt in it.
struct Terminal {
    session: OsSession,
    /// What the process writes, read by a thread of its own until there is no more.
    output: Receiver<Vec<u8>>,
    /// What was shown, less what was waited for, without escape sequences.
    screen: String,
    /// Bytes that are not whole characters or sequences yet.
    pending: Vec<u8>,
    is_ended: bool,
}

impl Terminal {
    /// Starts the prompt and waits for it.
    fn start(folder: &Folder, term: &str) -> Self {
        Self::start_in(folder, term, 160)
    }

    /// The same in a window of so many columns.
    fn start_in(folder: &Folder, term: &str, columns: u16) -> Self {
        let mut command = folder.command(&["repl", "--threads", "2"]);
        command.env("TERM", term).env("CURATOR_HISTORY", folder.path().join("history"));
        let mut session = OsSession::spawn(command).unwrap();
        session.get_process_mut().set_window_size(columns, 50).unwrap();
        let mut master = session.get_process().get_raw_handle().unwrap();
        let (sender, output) = sync_channel(16);
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 14];
            // The end is an error on Linux, and nothing to read elsewhere.
            while let Ok(n_bytes @ 1..) = master.read(&mut buffer) {
                if sender.send(buffer[..n_bytes].to_vec()).is_err() {
                    break;
                }
            }
        });
        let mut terminal = Self { session, output, screen: String::new(), pending: vec![], is_ended: false };
        terminal.expect(PROMPT);
        terminal
    }

    /// Presses keys.
    fn press(&mut self, keys: &str) {
        self.session.send(keys).unwrap();
    }

    /// Types a line and Enter.
    fn enter(&mut self, line: &str) {
        self.press(&format!("{line}\r"));
    }

    /// Enters a line, waits for its answer and for the next prompt.
    fn ask(&mut self, line: &str, answer: &str) {
        self.enter(line);
        self.expect(answer);
        self.expect(PROMPT);
    }

    /// Waits until the screen shows `text`, after what was waited for before.
    #[track_caller]
    fn expect(&mut self, text: &str) {
        self.shown_until(text);
    }

    /// Waits in the same way, and gives what was shown up to `text`.
    #[track_caller]
    fn shown_until(&mut self, text: &str) -> String {
        let started = Instant::now();
        loop {
            if let Some(at) = self.screen.find(text) {
                return self.screen.drain(..at + text.len()).collect();
            }
            // An endless answer need not be kept.
            let excess = self.screen.len().saturating_sub(1 << 20);
            self.screen.drain(..self.screen.ceil_char_boundary(excess));
            let shown = &self.screen[self.screen.ceil_char_boundary(self.screen.len().saturating_sub(2000))..];
            assert!(!self.is_ended, "ended without {text:?}:\n{shown}");
            assert!(started.elapsed() < PATIENCE, "waited too long for {text:?}:\n{shown}");
            self.receive();
        }
    }

    /// Waits for the end of the process, and that it was content.
    #[track_caller]
    fn expect_success(mut self) {
        let started = Instant::now();
        while !self.is_ended {
            assert!(started.elapsed() < PATIENCE, "does not end:\n{}", self.screen);
            self.receive();
        }
        let status = self.session.get_process().wait().unwrap();
        assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}:\n{}", self.screen);
    }

    /// Waits for more on the screen, for the end, or until it has been too long.
    fn receive(&mut self) {
        match self.output.recv_timeout(PATIENCE) {
            Ok(bytes) => {
                self.pending.extend_from_slice(&bytes);
                self.show();
            }
            Err(RecvTimeoutError::Disconnected) => self.is_ended = true,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }

    /// Puts whole characters on the screen, and answers the editor's question where the cursor is.
    fn show(&mut self) {
        let mut at = 0;
        while let Some(&byte) = self.pending.get(at) {
            let rest = &self.pending[at..];
            if byte == 0x1b {
                let Some(n_bytes) = sequence_len(rest) else { break };
                if rest.starts_with(b"\x1b[6n") {
                    self.session.send("\x1b[1;1R").unwrap();
                }
                at += n_bytes;
                continue;
            }
            let n_bytes = rest.iter().position(|byte| *byte == 0x1b).unwrap_or(rest.len());
            let text = match std::str::from_utf8(&rest[..n_bytes]) {
                Ok(text) => text,
                Err(error) if error.error_len().is_none() && n_bytes == rest.len() => {
                    std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap()
                }
                Err(error) => panic!("not UTF-8: {error}: {:?}", String::from_utf8_lossy(rest)),
            };
            if text.is_empty() {
                break;
            }
            at += text.len();
            self.screen.push_str(text);
        }
        self.pending.drain(..at);
    }
}

/// The length of the escape sequence that `bytes` begin with, if all of it is there.
fn sequence_len(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'[' => Some(2 + bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))? + 1),
        b']' => Some(2 + bytes[2..].iter().position(|byte| *byte == 0x07)? + 1),
        _ => Some(2),
    }
}

#[test]
fn statements_span_lines_and_commands_answer_at_once() {
    let folder = Folder::new();
    folder.write("q.cql", "FROM docs |> AGGREGATE sum(id) * 100 AS total;");
    for term in TERMINALS {
        let mut terminal = Terminal::start(&folder, term);
        terminal.enter("SELECT 6 * 7");
        terminal.expect(CONTINUATION);
        terminal.enter("AS n;");
        terminal.expect("| 42 |");
        terminal.expect("(1 row)");
        terminal.expect(PROMPT);
        terminal.ask("LET docs = FROM 'x.jsonl' |> DROP tags;", "ok");
        terminal.ask("\\d", "docs  id, lang, text, score");
        terminal.ask("\\d docs", "score  Float64");
        terminal.ask("\\ops", "mean number of characters in a word");
        terminal.ask("\\ops words", "Punctuation belongs to the word it touches");
        terminal.ask("\\explain FROM docs |> WHERE words(text) > 1;", "AnnotateExec");
        terminal.ask("\\timing", "timing is on");
        terminal.enter("\\format json");
        terminal.enter("FROM docs |> WHERE id = 4 |> SELECT id, score;");
        terminal.expect("{\"id\":4,\"score\":1.5}");
        terminal.expect("time: ");
        terminal.expect(PROMPT);
        terminal.ask("\\i q.cql", "{\"total\":1000}");
        terminal.ask("\\help", "Ctrl-C cancels the query");
        terminal.ask("\\tming", "did you mean `\\timing`?");
        terminal.enter("\\q");
        terminal.expect_success();
    }
}

#[test]
fn tables_fit_the_window_and_x_shows_whole_documents() {
    let folder = Folder::new();
    let fields = (0..14).map(|n| format!("\"column_{n}\": \"value {n} {}\"", "long ".repeat(12)));
    folder.write("wide.jsonl", &format!("{{{}}}\n", fields.collect::<Vec<_>>().join(", ")));
    for columns in [80, 120] {
        let mut terminal = Terminal::start_in(&folder, "dumb", columns);
        terminal.enter("FROM 'wide.jsonl';");
        let shown = terminal.shown_until("\\x shows them");
        let table: Vec<&str> = shown.lines().map(str::trim_end).filter(|line| line.starts_with(['+', '|'])).collect();
        assert_eq!(table.len(), 5, "{shown}");
        assert!(table.iter().all(|line| line.chars().count() <= usize::from(columns)), "{shown}");
        assert!(table[1].contains("| column_0") && table[1].contains("| … |"), "{shown}");
        assert!(shown.contains("columns not shown: ") && shown.contains("column_7"), "{shown}");
        terminal.expect(PROMPT);
        terminal.ask("\\x", "one value a line");
        terminal.ask("FROM 'wide.jsonl' |> SELECT column_7;", &format!("column_7  value 7 {}", "long ".repeat(12)));
        terminal.ask("\\x", "tables; \\x for whole values");
    }
}

#[test]
fn an_error_points_at_its_place_and_keeps_the_prompt() {
    let folder = Folder::new();
    for term in TERMINALS {
        let mut terminal = Terminal::start(&folder, term);
        terminal.enter("FROM 'x.jsonl' |> SELECT idd;");
        terminal.expect("no column `idd`");
        terminal.expect("<prompt>:1:26");
        terminal.expect("╰─── not found");
        terminal.expect("did you mean `id`?");
        terminal.expect(PROMPT);
        terminal.ask("\\i nope.cql", "nope.cql: No such file");
        terminal.ask("SELECT 6 * 7 AS n;", "| 42 |");
        terminal.press(CTRL_D);
        terminal.expect_success();
    }
}

#[test]
fn ctrl_c_cancels_the_query_and_keeps_the_prompt() {
    let folder = Folder::new();
    for term in TERMINALS {
        let mut terminal = Terminal::start(&folder, term);
        terminal.enter("\\format csv");
        terminal.expect(PROMPT);
        terminal.enter(&format!("{ENDLESS};"));
        terminal.expect("7000001");
        terminal.press(CTRL_C);
        terminal.expect("interrupted");
        terminal.expect(PROMPT);
        terminal.ask("SELECT 6 * 7 AS n;", "42");
        terminal.enter("\\q");
        terminal.expect_success();
    }
}

#[test]
fn ctrl_c_stops_a_query_that_writes_and_its_file_is_gone() {
    let folder = Folder::new();
    let mut terminal = Terminal::start(&folder, TERMINALS[0]);
    terminal.enter(&format!("FROM ({ENDLESS}) |> INTO 'y.jsonl';"));
    // The moving line says that it runs.
    terminal.expect("kept ");
    terminal.press(CTRL_C);
    terminal.expect("interrupted");
    terminal.expect(PROMPT);
    terminal.enter("\\q");
    terminal.expect_success();
    assert_eq!(folder.names(), ["history", "x.jsonl"]);
}

#[test]
fn ctrl_c_at_the_prompt_forgets_the_line_and_nothing_else() {
    let folder = Folder::new();
    let mut terminal = Terminal::start(&folder, TERMINALS[0]);
    terminal.press("SELECT nonsense");
    terminal.expect("nonsense");
    terminal.press(CTRL_C);
    terminal.expect(PROMPT);
    terminal.ask("SELECT 6 * 7 AS n;", "| 42 |");
    terminal.enter("exit");
    terminal.expect_success();
}

#[test]
fn history_is_kept_across_runs() {
    let folder = Folder::new();
    let mut first = Terminal::start(&folder, TERMINALS[0]);
    first.ask("SELECT 6 * 7 AS n;", "| 42 |");
    first.enter("\\q");
    first.expect_success();
    assert!(std::fs::read_to_string(folder.path().join("history")).unwrap().contains("SELECT 6 * 7 AS n;"));
    let mut second = Terminal::start(&folder, TERMINALS[0]);
    // The last entry is `\q`.
    second.press(UP);
    second.press(UP);
    second.ask("", "| 42 |");
    second.press(CTRL_D);
    second.expect_success();
}

#[test]
fn tab_completes_functions_columns_and_files() {
    let folder = Folder::new();
    folder.write("unmistakable.jsonl", "{\"peculiarity\": 421}\n");
    let mut terminal = Terminal::start(&folder, TERMINALS[0]);
    terminal.press("SELECT whitespa\t");
    terminal.expect("whitespace_ratio");
    terminal.press(CTRL_C);
    terminal.expect(PROMPT);
    terminal.press("FROM 'unmis\t");
    terminal.expect("unmistakable.jsonl");
    terminal.press(CTRL_C);
    terminal.expect(PROMPT);
    terminal.press("FROM 'unmistakable.jsonl' |> SELECT pecul\t");
    terminal.expect("peculiarity");
    terminal.ask(";", "421");
    terminal.enter("\\q");
    terminal.expect_success();
}
