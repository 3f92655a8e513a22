//! Finds personal data that has a form: addresses and numbers, each checked by its own rules.
//!
//! ```text
//! text ──walk──► @ : . digit ──► email · url · ipv6 · ipv4 · iban · credit_card · us_ssn · phone ──► no two overlap
//! ```
//! One walk over the bytes stops at the characters without which none of the kinds can be (`walk.rs`); there each kind
//! reads its candidate forwards and backwards, and says whether it is one.
//!
//! Invariant: a kind reads a bounded number of bytes around a stop, or a stretch that is then never read again: time is
//! linear in the text. No finding begins or ends inside a word of letters and digits.
//! Not here: what is done with the findings, and persons, places and the like, which have no form (a model's work).

mod card;
mod email;
mod iban;
mod kind;
mod network;
mod number;
mod phone;
mod ssn;
mod url;
mod walk;

pub(super) use kind::{Kind, Wanted};
pub(super) use walk::{Finding, find};

#[cfg(test)]
mod tests;
