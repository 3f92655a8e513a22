//! The `curator` command: everything is in the library's `cli`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    curator::cli::run(std::env::args_os())
}
