//! Calls what decodes bytes that nobody has checked: a panic in it is an error of the file, as any other.
//!
//! The readers of Parquet and Arrow are made for files that are whole. What they do not expect ends in a panic; a reject
//! that names the place is worth more. What would *abort* the process, memory set aside for a length that a broken file
//! names, cannot be caught: lengths are compared with the file before (`ipc/claims.rs`, `store::StoredFile`).

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `read` gives; its error or its panic as text. What it has changed must not be used after an error.
pub(crate) fn guarded<T, E: Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("the file is corrupt: {}", message(panic.as_ref()))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it cannot be decoded")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_the_file() {
        let broken: Result<(), String> = guarded(|| -> Result<(), String> { panic!("index 9 of 3") });
        assert_eq!(broken.unwrap_err(), "the file is corrupt: index 9 of 3");
        assert_eq!(guarded(|| Ok::<_, String>(7)).unwrap(), 7);
    }
}
