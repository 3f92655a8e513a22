//! `tokens(text, tokenizer)` and `truncate_tokens(text, tokenizer, max)`: documents in the tokens of a language model.

mod operators;
mod tokenizer;

pub(super) use operators::operators;
