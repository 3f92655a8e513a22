//! The operators that count and cut by tokens.

use super::tokenizer::Tokenizer;
use crate::Result;
use crate::ops::prelude::*;
use crate::ops::{
    Model, ModelBatch, ModelCode, ModelColumn, ModelFacts, ModelFile, ModelRows, ModelSetting, PreparedModel,
    RejectedRow,
};
use arrow::array::{Array, Int64Array, StringArray};
use arrow::datatypes::DataType;
use std::sync::Arc;

pub(in crate::models) fn operators() -> Vec<OpSpec> {
    vec![tokens(), truncate_tokens()]
}

const TEXT: Param = Param::text("text", "the document");
const TOKENIZER: Param = Param::text(
    "tokenizer",
    "the name of a table, a `tokenizer.json`, a folder that has one, or a SentencePiece `.model`",
);

fn tokens() -> OpSpec {
    OpSpec {
        name: "tokens",
        family: Family::Model,
        summary: "number of tokens that a tokenizer makes of a text",
        details: "Built in are the tables of tiktoken and of open models: `cl100k` (GPT-4), `o200k` (GPT-4o and later), `p50k`, \
                  `r50k` and `gpt2`, `llama3`, `qwen2`, `deepseek_v3`, `mistral_v3`, `kimi_k2`, `glm4`, `minimax_m2`. A file is \
                  one that Hugging Face's `tokenizers` writes, or a SentencePiece model (unigram or BPE); counts are those of \
                  these libraries. Special tokens that a model puts around its input are not counted, unless \
                  `special_tokens => true`; those that stand in the text are plain text for a built-in table, and one token for \
                  a file that knows them. An empty document has 0. A document that the tokenizer refuses goes to the rejects.",
        params: const {
            &[
                TEXT,
                TOKENIZER,
                Param::bool("special_tokens", "whether to count what a model's input has around it")
                    .default(Literal::Bool(false)),
            ]
        },
        returns: Returns::Opened("BIGINT"),
        examples: const {
            &[
                Example::of("tokens('hello world', 'cl100k')", "2"),
                Example::of("tokens('我爱北京', 'o200k')", "3"),
                Example::of("tokens('', 'gpt2')", "0"),
                Example::of("tokens(NULL, 'gpt2')", "NULL"),
            ]
        },
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(25.0), // a built-in table; a file says more: `Tokenizer::ns_per_byte`
        cpu: code(|args| Gives::Count { with_special: args.bool("special_tokens") }),
        gpu: Gpu::No("a tokenizer goes through its text from left to right"),
    }
}

fn truncate_tokens() -> OpSpec {
    OpSpec {
        name: "truncate_tokens",
        family: Family::Model,
        summary: "the beginning of a text, as far as a number of tokens goes",
        details: "The text is cut behind its first `max` tokens, never within a character; nothing is changed before that. \
                  Tokenizers as for `tokens`; special tokens around the text do not count. The piece by itself may have a token \
                  less, where two come together that the cut text had apart.",
        params: const { &[TEXT, TOKENIZER, Param::int("max", "tokens to keep").at_least(0)] },
        returns: Returns::Opened("TEXT"),
        examples: const {
            &[
                Example::of("truncate_tokens('one two three', 'cl100k', 2)", "'one two'"),
                Example::of("truncate_tokens('one', 'cl100k', 2)", "'one'"),
                Example::of("truncate_tokens('one', 'cl100k', 0)", "''"),
            ]
        },
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(25.0), // a built-in table; a file says more: `Tokenizer::ns_per_byte`
        cpu: code(|args| Gives::Text { max: args.count("max") }),
        gpu: Gpu::No("a tokenizer goes through its text from left to right"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Gives {
    Count { with_special: bool },
    Text { max: usize },
}

/// A call of one of the operators; it holds all that it needs.
#[derive(Debug, Clone)]
struct Call {
    tokenizer: Tokenizer,
    gives: Gives,
}

fn code(gives: fn(&Args) -> Gives) -> Cpu {
    let open = move |args: &Args| {
        let tokenizer = Tokenizer::open(args.text("tokenizer"))?;
        let gives = gives(args);
        match gives {
            Gives::Count { with_special } => tokenizer.refuse(false, with_special)?,
            Gives::Text { .. } => tokenizer.refuse(true, false)?,
        }
        Ok(Arc::new(Call { tokenizer, gives }) as Arc<dyn Model>)
    };
    Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) })
}

impl Model for Call {
    fn returns(&self) -> DataType {
        match self.gives {
            Gives::Count { .. } => DataType::Int64,
            Gives::Text { .. } => DataType::Utf8,
        }
    }

    fn files(&self) -> Vec<ModelFile> {
        self.tokenizer.files()
    }

    fn facts(&self, setting: &ModelSetting) -> ModelFacts {
        let cost = Cost::ns_per_byte(self.tokenizer.ns_per_byte());
        let mut facts = ModelFacts::on_cpu(self.tokenizer.title(), cost);
        facts.held_bytes = self.tokenizer.held_bytes();
        facts.batch = ModelBatch { rows: setting.batch_rows.unwrap_or(1024), bytes: 1 << 20, why: String::new() };
        facts
    }

    fn prepare(&self, _: &[Arc<dyn Model>], _: &ModelSetting) -> Result<Arc<dyn PreparedModel>> {
        Ok(Arc::new(self.clone()))
    }
}

impl PreparedModel for Call {
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>> {
        let texts = rows.texts(0)?;
        let mut rejected = Vec::new();
        let mut or_reject = |row: usize, why: String| {
            rejected.push(RejectedRow { row, reason: format!("its tokenizer refuses it: {why}") });
        };
        let texts = texts.iter().enumerate();
        let column = match self.gives {
            Gives::Count { with_special } => {
                let count = texts.map(|(row, text)| {
                    let count = self.tokenizer.count(text?, with_special);
                    count.map_err(|why| or_reject(row, why)).ok().map(|count| count as i64)
                });
                ModelColumn::of(Arc::new(count.collect::<Int64Array>()))
            }
            Gives::Text { max } => {
                let cut = texts.map(|(row, text)| {
                    let cut = self.tokenizer.truncate(text?, max);
                    cut.map_err(|why| or_reject(row, why)).ok()
                });
                ModelColumn::of(Arc::new(cut.collect::<StringArray>()))
            }
        };
        Ok(vec![column.rejecting(rejected)])
    }

    fn work_bytes(&self, rows: &ModelRows) -> usize {
        // Texts are cut one after the other; the longest takes the most.
        let longest = rows
            .texts(0)
            .map_or(0, |texts| (0..texts.len()).map(|row| texts.value_length(row) as usize).max().unwrap_or(0));
        self.tokenizer.work_bytes(longest)
    }
}
