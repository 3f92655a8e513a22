//! `tokens(text, tokenizer)` and `truncate_tokens(text, tokenizer, max)`: documents in the tokens of a language model.

mod operators;
mod sentencepiece;
mod tokenizer;

pub(super) use operators::operators;
