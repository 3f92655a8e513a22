//! Expressions of a plan as values of a device program, or the reason why not: [`DeviceProgram`].
//!
//! ```text
//! words(text) > 50 AND score * 2.0 < 1.0   ⇒   v1 = words(column 0), v3 = greater(v1, v2), …, rule v8
//! ```
//! Invariant: what is taken gives on every row, bit for bit, what DataFusion gives, and cannot fail. An expression that
//! is refused leaves no trace in the program.
//! Not here: whether it pays (`place`), and how it runs (`gpu`).

mod builder;
mod numbers;
#[cfg(test)]
mod tests;

pub use builder::DeviceProgram;
