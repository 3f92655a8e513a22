//! CQL text to a tree (`parse`), and back to canonical text (`format`).

pub mod ast;
