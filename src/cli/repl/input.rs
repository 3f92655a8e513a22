//! Where statements come from: the line editor, plain lines at a simple terminal, or a script on stdin.

use super::Prompt;
use super::complete::Completion;
use super::highlight::Colours;
use super::validate::{EndOfStatement, ends_statement, is_finished};
use crate::cli::terminal;
use crate::diag::SourceText;
use crate::{Error, Result};
use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder,
    PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu, Signal,
};
use std::borrow::Cow;
use std::io::{BufRead, Write};
use std::path::PathBuf;

const PROMPT: &str = "curator> ";
const CONTINUATION: &str = "      -> ";
const MENU: &str = "completion";
const HISTORY_ENTRIES: usize = 10_000;

/// What was entered.
pub enum Entry {
    /// Statements or a command.
    Text(SourceText),
    /// Ctrl-C: nothing.
    Cancelled,
    /// Ctrl-D, or the end of the file.
    End,
}

/// A source of entries.
pub enum Input {
    /// With history, colours and completion.
    Editor(Box<Reedline>),
    /// Lines as they come; `prompt` if somebody is there to see it.
    Lines {
        /// Whether to show a prompt.
        prompt: bool,
        /// Lines read so far, so that messages about a script name its own lines.
        n_lines: usize,
    },
}

impl Input {
    /// The best that the terminal can do.
    pub fn terminal(prompt: &Prompt) -> Self {
        if terminal::is_dumb() {
            return Input::Lines { prompt: true, n_lines: 0 };
        }
        Input::Editor(Box::new(editor(prompt)))
    }

    /// Standard input as a file.
    pub fn script() -> Self {
        Input::Lines { prompt: false, n_lines: 0 }
    }

    /// The next entry.
    pub fn read(&mut self) -> Result<Entry> {
        let Input::Editor(editor) = self else { return self.read_lines() };
        match editor.read_line(&Ps1) {
            Ok(Signal::Success(text)) => {
                // Written now: a later crash must not lose it. Without a history file there is nothing to write.
                let _ = editor.sync_history();
                Ok(Entry::Text(SourceText::new("<prompt>", text)))
            }
            Ok(Signal::CtrlD) => Ok(Entry::End),
            Ok(_) => Ok(Entry::Cancelled),
            Err(error) => {
                terminal::say(&format!(
                    "the line editor does not work on this terminal ({error}); reading plain lines"
                ));
                *self = Input::Lines { prompt: true, n_lines: 0 };
                self.read_lines()
            }
        }
    }

    fn read_lines(&mut self) -> Result<Entry> {
        let Input::Lines { prompt, n_lines } = self else { return Ok(Entry::End) };
        let mut text = if *prompt { String::new() } else { "\n".repeat(*n_lines) };
        loop {
            if *prompt {
                let mut stdout = std::io::stdout().lock();
                let shown = if text.is_empty() { PROMPT } else { CONTINUATION };
                write!(stdout, "{shown}").and_then(|()| stdout.flush()).map_err(terminal::stdout_error)?;
            }
            let n_bytes = std::io::stdin().lock().read_line(&mut text).map_err(|error| Error::io("<stdin>", error))?;
            *n_lines += 1;
            let typed = text.strip_suffix('\n').unwrap_or(&text);
            let is_whole = if *prompt { is_finished(typed) } else { ends_statement(typed) };
            match (n_bytes, text.trim().is_empty()) {
                (0, true) => return Ok(Entry::End),
                (0, false) => break,
                (_, true) if *prompt => text.clear(),
                (_, true) => {}
                _ if is_whole => break,
                _ => {}
            }
        }
        Ok(Entry::Text(SourceText::new(if *prompt { "<prompt>" } else { "<stdin>" }, text)))
    }
}

fn editor(prompt: &Prompt) -> Reedline {
    let mut keys = reedline::default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext]),
    );
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, ReedlineEvent::Edit(vec![EditCommand::InsertNewline]));
    let menu = ColumnarMenu::default().with_name(MENU).with_marker("").with_columns(3).with_column_padding(2);
    let colour = terminal::colour_is_welcome();
    let mut editor = Reedline::create()
        .use_bracketed_paste(true)
        .with_ansi_colors(colour)
        .with_highlighter(Box::new(Colours::new(prompt.names.clone())))
        .with_completer(Box::new(Completion::of_session(prompt)))
        .with_validator(Box::new(EndOfStatement))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_history_exclusion_prefix(Some(" ".into()))
        .with_edit_mode(Box::new(Emacs::new(keys)));
    if colour {
        let style = Style::new().fg(Color::DarkGray);
        editor = editor.with_hinter(Box::new(DefaultHinter::default().with_style(style)));
    }
    if let Some(path) = history_path() {
        match FileBackedHistory::with_file(HISTORY_ENTRIES, path.clone()) {
            Ok(history) => editor = editor.with_history(Box::new(history)),
            Err(error) => terminal::say(&format!("no history: {}: {error}", path.display())),
        }
    }
    editor
}

/// `$CURATOR_HISTORY` (empty: none), else `curator/history` among the user's data files.
fn history_path() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CURATOR_HISTORY") {
        return (!path.is_empty()).then(|| path.into());
    }
    let data = match std::env::var_os("XDG_DATA_HOME").filter(|path| !path.is_empty()) {
        Some(data) => PathBuf::from(data),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".local/share"),
    };
    Some(data.join("curator/history"))
}

/// The prompt's words.
struct Ps1;

impl reedline::Prompt for Ps1 {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        PROMPT.into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        CONTINUATION.into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let status = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing for ",
        };
        format!("(history: {status}{}) ", search.term).into()
    }
}
