//! Places in several texts, through SQL's parser and planner and back.
//!
//! SQL's tokens carry a line and a column, no file. We parse slices of files, and macro bodies that stand
//! elsewhere; so before parsing, the upper half of each token's line number is made to say which text, and
//! for a macro which *use* of it, the token came from. An error's location then leads back to the user's
//! file, and from inside a macro to the call that brought it in.
//!
//! Invariant: a location given out by [`Positions::shift`] is found again by [`Positions::find`].

use crate::diag::{Code, Diagnostic, SourceText, Span};
use datafusion::sql::sqlparser::tokenizer::{Location, Span as SqlSpan, TokenWithSpan};
use std::sync::{Mutex, MutexGuard, PoisonError};

const LINE_BITS: u32 = 32;

/// Every text and every macro use that locations of one statement may point into.
#[derive(Debug, Default)]
pub struct Positions {
    // Behind a lock because the planner's hooks, which see only `&self`, add and find places too.
    origins: Mutex<Vec<Origin>>,
}

#[derive(Debug, Clone)]
struct Origin {
    source: SourceText,
    /// For the body of a macro: its name, and where it was called.
    call: Option<(String, SqlSpan)>,
}

/// Which text, or which use of a macro, tokens come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginId(u64);

/// A place found again.
#[derive(Debug, Clone)]
pub struct Place {
    /// The text.
    pub source: SourceText,
    /// The place in it.
    pub span: Span,
    /// If the place is in a macro's body: the macro and the place of its call.
    pub call: Option<(String, Box<Place>)>,
}

impl Positions {
    /// A text of the user's.
    pub fn add_text(&self, source: &SourceText) -> OriginId {
        self.add(Origin { source: source.clone(), call: None })
    }

    /// One use of a macro whose body stands in `source`.
    pub fn add_macro_use(&self, source: &SourceText, name: &str, call: SqlSpan) -> OriginId {
        self.add(Origin { source: source.clone(), call: Some((name.to_string(), call)) })
    }

    fn add(&self, origin: Origin) -> OriginId {
        let mut origins = self.lock();
        origins.push(origin);
        OriginId(origins.len() as u64 - 1)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Origin>> {
        // Nothing between lock and unlock can panic half-way through a change.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves tokens that were read from a slice of `source` to their places in the whole text.
    pub fn shift(&self, origin: OriginId, source: &SourceText, slice: Span, tokens: &mut [TokenWithSpan]) {
        let (line, column) = source.line_column(slice.start);
        let shift = |location: Location| {
            // An empty location means "unknown" to the parser and stays so.
            if location.line == 0 {
                return location;
            }
            // Only the slice's first line starts in the middle of a line.
            let column = if location.line == 1 { location.column + column as u64 - 1 } else { location.column };
            Location { line: (origin.0 << LINE_BITS) + location.line + line as u64 - 1, column }
        };
        for token in tokens {
            token.span = SqlSpan::new(shift(token.span.start), shift(token.span.end));
        }
    }

    /// Where a location is; `None` for locations of no text.
    pub fn find(&self, span: SqlSpan) -> Option<Place> {
        if span.start.line == 0 {
            return None;
        }
        // An expression of a macro's body may begin or end in an argument; it belongs to the body.
        let same_text = span.start.line >> LINE_BITS == span.end.line >> LINE_BITS;
        let span = if same_text || span.end.line < span.start.line { span } else { SqlSpan::new(span.end, span.end) };
        let origin = self.lock().get((span.start.line >> LINE_BITS) as usize)?.clone();
        let offset = |location: Location| {
            let line = location.line & ((1 << LINE_BITS) - 1);
            origin.source.offset(line as usize, location.column as usize)
        };
        let start = offset(span.start);
        let end = if same_text { offset(span.end) } else { start };
        let end = if end > start { end } else { word_end(origin.source.text(), start) };
        let call = match &origin.call {
            Some((name, call)) => Some((name.clone(), Box::new(self.find(*call)?))),
            None => None,
        };
        Some(Place { source: origin.source.clone(), span: Span::new(start, end), call })
    }
}

impl Place {
    /// Where the outermost macro is called that this is in; the place itself, if it is in none.
    pub fn outermost(&self) -> &Place {
        match &self.call {
            Some((_, call)) => call.outermost(),
            None => self,
        }
    }

    /// An error here. Inside a macro the main caret is at the outermost call, and the body is shown too.
    pub fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        let mut bodies = Vec::new();
        let mut place = self;
        while let Some((name, call)) = &place.call {
            bodies.push((name, place));
            place = call;
        }
        let mut diagnostic = Diagnostic::error(code, message, &place.source, place.span);
        for (depth, (name, body)) in bodies.iter().rev().enumerate() {
            if depth == 0 {
                diagnostic = diagnostic.at(format!("in this use of `{name}`"));
            }
            diagnostic = diagnostic.and_at(&body.source, body.span, format!("in the body of `{name}`"));
        }
        diagnostic
    }
}

/// The end of the word that starts at `start`, so that a caret has something to stand under.
fn word_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    start + if word == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { word }
}

/// DataFusion's span type as the parser's.
pub fn from_datafusion(span: datafusion::common::Span) -> SqlSpan {
    let location = |location: datafusion::common::Location| Location { line: location.line, column: location.column };
    SqlSpan::new(location(span.start), location(span.end))
}
