//! What can go wrong, sorted by whose problem it is.
//!
//! - the query: [`Error::Query`], diagnostics with places in the user's text (exit code 1)
//! - the data or the disk: [`Error::Data`], [`Error::Io`] (exit code 1)
//! - the machine: [`Error::Device`] (exit code 2)
//! - us: [`Error::Bug`], made by [`bug!`](crate::bug) (exit code 2)

use crate::diag::{Diagnostic, render_all};
use datafusion::error::DataFusionError;
use std::path::PathBuf;

/// The result of anything a user can ask for.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The query is wrong; each diagnostic points into its text.
    #[error("{}", render_all(.0, false))]
    Query(Vec<Diagnostic>),

    /// The data is not what the query needs, or a limit the user set does not suffice.
    #[error("{0}")]
    Data(String),

    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,

    /// A GPU failed, or there is none, and the run insists on one.
    #[error("{0}")]
    Device(String),

    /// A mistake of ours. Please report it.
    #[error("internal error: {0}\nThis is a bug in curator; please report it with the query that showed it.")]
    Bug(String),
}

impl Error {
    /// The exit code of a process that ends with this error: 1 if the query or data is wrong, 2 if we failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Query(_) | Error::Data(_) | Error::Io { .. } => 1,
            Error::Interrupted => 130,
            Error::Bug(_) | Error::Device(_) => 2,
        }
    }

    /// An input or output failure at a path.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Io { path: path.into(), source }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Error::Query(vec![diagnostic])
    }
}

impl From<DataFusionError> for Error {
    /// Our own errors travel through DataFusion's streams as `External` and come out as they went in.
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(inner) => match inner.downcast::<Error>() {
                Ok(ours) => *ours,
                Err(other) => Error::Data(other.to_string()),
            },
            DataFusionError::Context(_, inner) => Error::from(*inner),
            DataFusionError::Diagnostic(_, inner) => Error::from(*inner),
            DataFusionError::Shared(inner) => shared(&inner),
            DataFusionError::Internal(message) => internal(&message),
            DataFusionError::ResourcesExhausted(message) => out_of_memory(&message),
            other => data(other.strip_backtrace()),
        }
    }
}

/// The same for an error that several streams hold: it cannot be moved out, so it is copied by kind.
fn shared(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(Error::Io { path, source }) => {
                Error::Io { path: path.clone(), source: std::io::Error::new(source.kind(), source.to_string()) }
            }
            Some(Error::Query(diagnostics)) => Error::Query(diagnostics.clone()),
            Some(Error::Interrupted) => Error::Interrupted,
            Some(Error::Bug(message)) => Error::Bug(message.clone()),
            Some(Error::Data(message)) => Error::Data(message.clone()),
            Some(Error::Device(message)) => Error::Device(message.clone()),
            None => Error::Data(inner.to_string()),
        },
        DataFusionError::Internal(message) => internal(message),
        DataFusionError::ResourcesExhausted(message) => out_of_memory(message),
        other => data(other.strip_backtrace()),
    }
}

/// DataFusion takes a regular expression that cannot be compiled for a mistake of its own.
fn internal(message: &str) -> Error {
    match message.split_once("Regular expression did not compile: ") {
        Some((_, why)) if why.starts_with("CompiledTooBig") => Error::Data(
            "a regular expression takes more than 10 MB when it is compiled: repeat less in it, as in `{1000}`".into(),
        ),
        Some((_, why)) => Error::Data(format!("a regular expression cannot be compiled: {why}")),
        None => Error::Bug(message.to_string()),
    }
}

/// What a write to a temporary file says when there may be no more of them. It comes back with what DataFusion says around it.
pub(crate) const OUT_OF_TEMP_SPACE: &str =
    "temporary files would take more than temp_limit allows; raise it with --temp-limit";

fn data(message: String) -> Error {
    Error::Data(if message.contains(OUT_OF_TEMP_SPACE) { OUT_OF_TEMP_SPACE.to_string() } else { message })
}

fn out_of_memory(message: &str) -> Error {
    Error::Data(format!("out of memory: {message}\nraise the limit with --memory, or use fewer threads"))
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        DataFusionError::External(Box::new(error))
    }
}

/// Makes an [`Error::Bug`]: for states that our own code should have ruled out.
#[macro_export]
macro_rules! bug {
    ($($message:tt)*) => { $crate::Error::Bug(format!($($message)*)) };
}
