//! The vector instructions that this machine has, found out once.
//!
//! A loop over arrays that is called through `fearless_simd::dispatch!` with this level is compiled for each level, and
//! runs with the widest registers there are. Results are the same with all of them.

use fearless_simd::Level;
use std::sync::LazyLock;

/// The best level of this machine.
pub(crate) fn level() -> Level {
    static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);
    *LEVEL
}
