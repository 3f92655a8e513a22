//! The `curator` command.

fn main() {}
