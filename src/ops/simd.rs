//! Which vector instructions this processor has, found once.
//!
//! Code that is worth it is compiled for several kinds of processors ([`fearless_simd::dispatch!`]), and the best that
//! runs here is chosen when it is called. Everything that such code calls must be `#[inline(always)]`, or it is compiled
//! for the least of them.

use fearless_simd::Level;
use std::sync::LazyLock;

static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// What the processor can do.
#[inline]
pub(crate) fn level() -> Level {
    *LEVEL
}
