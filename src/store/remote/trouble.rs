//! What a store says when it cannot do something, in words for the user.
//!
//! Invariant: no message holds a URL of a request, a header or a credential; who passes it on names the object.

use std::io::{Error, ErrorKind};

/// Why a request failed.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub kind: ErrorKind,
    pub text: String,
    /// Another attempt may succeed.
    pub is_transient: bool,
}

impl Trouble {
    /// Another attempt fails too.
    pub fn permanent(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), is_transient: false }
    }

    /// Another attempt may succeed.
    pub fn transient(text: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Other, text: text.into(), is_transient: true }
    }

    /// What a status of HTTP means, with what the store says beside it.
    pub fn of_status(status: u16, body: &str) -> Self {
        let said = said_in(body);
        let text = |what: &str| match said.is_empty() {
            true => format!("{what} (HTTP {status})"),
            false => format!("{what} (HTTP {status}: {said})"),
        };
        match status {
            404 | 410 => Self::permanent(ErrorKind::NotFound, text("there is no such object")),
            401 | 403 => Self::permanent(ErrorKind::PermissionDenied, text("access denied")),
            409 => Self::permanent(ErrorKind::AlreadyExists, text("it is there already")),
            412 => Self::permanent(ErrorKind::AlreadyExists, text("it was changed by somebody else")),
            416 => Self::permanent(ErrorKind::UnexpectedEof, text("it has become shorter")),
            501 => Self::permanent(ErrorKind::Unsupported, text("the store cannot do this")),
            408 | 429 | 500.. => Self::transient(text("the store cannot answer")),
            _ => Self::permanent(ErrorKind::Other, text("the store refuses")),
        }
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        Error::new(trouble.kind, trouble.text)
    }
}

impl From<object_store::Error> for Trouble {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as Store;
        let (kind, what) = match &error {
            Store::NotFound { .. } => (ErrorKind::NotFound, "there is no such object"),
            Store::PermissionDenied { .. } => (ErrorKind::PermissionDenied, "access denied"),
            Store::Unauthenticated { .. } => (ErrorKind::PermissionDenied, "the store does not accept the credentials"),
            Store::AlreadyExists { .. } => (ErrorKind::AlreadyExists, "it is there already"),
            Store::Precondition { .. } => (ErrorKind::AlreadyExists, "it was changed by somebody else"),
            Store::NotImplemented { .. } | Store::NotSupported { .. } => {
                (ErrorKind::Unsupported, "the store cannot do this")
            }
            Store::InvalidPath { source } => return Self::permanent(ErrorKind::InvalidInput, source.to_string()),
            _ => (ErrorKind::Other, ""),
        };
        let full = error.to_string();
        // The crate keeps its own error types to itself, so status and answer are only in the text.
        let status = after(&full, "status code: ").and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
        let answer = after(&full, "status code: ").or_else(|| after(&full, "error response: ")).unwrap_or_default();
        let retries = after(&full, ", after ").and_then(|rest| rest.split(" retries").next()?.parse::<u32>().ok());
        let tried = retries.map_or(String::new(), |n| format!(" after {n} retries"));
        let mut trouble = match (kind, status) {
            (ErrorKind::Other, Some(status)) => Self::of_status(status, answer),
            (ErrorKind::Other, None) => Self::transient(without_urls(root_cause(&error))),
            (kind, Some(status)) => {
                let text = Self::of_status(status, answer).text;
                let said = text.find(" (HTTP").map_or("", |at| &text[at..]);
                Self::permanent(kind, format!("{what}{said}"))
            }
            (kind, None) => Self::permanent(kind, what),
        };
        trouble.text.push_str(&tried);
        trouble
    }
}

/// The innermost error says what happened; those around it say which request it was.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Text in which requests are not named.
pub(super) fn without_urls(text: impl AsRef<str>) -> String {
    let is_url = |word: &str| word.contains("://");
    let words = text.as_ref().split_whitespace().map(|word| if is_url(word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// `<Code>` and `<Message>` of an XML answer, `error` of a JSON one.
fn said_in(body: &str) -> String {
    let tag = |name: &str| {
        let rest = after(body, &format!("<{name}>"))?;
        rest.split("</").next().map(str::to_string)
    };
    let json = || {
        let value: serde_json::Value = serde_json::from_str(body.trim_start_matches(|c| c != '{')).ok()?;
        value.get("error").and_then(|error| error.as_str()).map(str::to_string)
    };
    let said = match (tag("Code"), tag("Message")) {
        (Some(code), Some(message)) => format!("{code}, {message}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => json().unwrap_or_default(),
    };
    without_urls(said.chars().take(300).collect::<String>())
}

fn after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}
