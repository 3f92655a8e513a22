//! The `curator` command: everything is in the library's `cli`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs before the standard library puts something in the place of a stdout that is closed.
#[ctor::ctor(unsafe)]
fn look_at_stdout() {
    curator::internals::look_at_stdout();
}

fn main() -> ExitCode {
    curator::internals::run_command_line(std::env::args_os())
}
