//! The executors of our own.
