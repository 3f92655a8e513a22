//! The one integration-test binary: each file of `suite/` is a kind of promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)]

mod suite {
    mod alone;
    mod asserts;
    mod chains;
    mod cli;
    mod cli_texts;
    mod corpus;
    mod decontaminate;
    mod dedup;
    mod differential;
    mod docs;
    mod equivalence;
    mod errors;
    mod faults;
    mod fuzz;
    mod golden;
    mod gpu;
    mod harness;
    mod incremental;
    mod index;
    mod ledger;
    mod library;
    mod logic;
    mod lossless;
    mod memory;
    mod messy;
    mod models;
    mod new_files;
    mod one_pass;
    mod operators;
    mod outputs;
    mod pairs;
    mod plans;
    mod presets;
    mod repl;
    mod replay;
    mod resume;
    mod robust;
    mod round_trip;
    mod signals;
    mod splits;
    mod stores;
    mod tidy;
    mod under_nulls;
    mod visible;
}
