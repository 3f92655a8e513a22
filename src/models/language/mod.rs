//! `lang(text)`, `lang_score(text)` and `lang_top(text, k)`: the language that a text is written in.
//!
//! By the model that is built in ([`langid`]), or by any fastText model of languages. Calls of one model on one column read
//! each text once.

mod langid;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::fasttext::{self, FastText, Opened};
use super::idle::Idle;
use super::labels;
use crate::ops::prelude::*;
use crate::ops::{Model, ModelCode, ModelColumn, ModelFacts, ModelFile, ModelRows, ModelSetting, PreparedModel};
use crate::{Result, bug};
use arrow::datatypes::DataType;
use langid::Langid;
use std::any::Any;
use std::sync::Arc;

pub(super) fn operators() -> Vec<OpSpec> {
    vec![lang(), lang_score(), lang_top()]
}

/// The name of the model that is built in.
const BUILT_IN: &str = "langid";
const TEXT: Param = Param::text("text", "the document");
const MODEL: Param = Param::text("model", "`langid`, which is built in, or a fastText model as `lid.176.ftz`")
    .default(Literal::Text(BUILT_IN));

/// Measured on web pages, most of them of one to five kilobytes.
const LANGID_COST: Cost = Cost::ns_per_byte(15.0).and_ns_per_row(10_000.0);

fn lang() -> OpSpec {
    OpSpec {
        name: "lang",
        family: Family::Language,
        summary: "the language of a text, as an ISO 639-1 code",
        details: "The built-in model is langid.py's (BSD), which knows 97 languages by n-grams of bytes. On documentation in 38 \
                  languages, 3,959 pages of the web, it names the language of 97.3 % as their folders do \
                  (`docs/models.md`). Norwegian is `no`, as fastText says; Nynorsk is `nn`. With `model => 'lid.176.ftz'` (or \
                  `.bin`, GlotLID, OpenLID…) the code is the label of that model, as it stands in the file: `en`, `eng_Latn`. \
                  Line feeds count as spaces. A text in which nothing tells languages apart gives NULL.",
        params: const { &[TEXT, MODEL] },
        returns: Returns::Opened("TEXT"),
        examples: const {
            &[
                Example::of("lang('The quick brown fox jumps over the lazy dog.')", "'en'"),
                Example::of("lang('Der schnelle braune Fuchs springt über den faulen Hund.')", "'de'"),
                Example::of("lang('素早い茶色の狐はのろまな犬を飛び越える。')", "'ja'"),
                Example::of("lang('')", "NULL"),
            ]
        },
        effects: Effects::PURE,
        cost: LANGID_COST,
        cpu: code(|_| Gives::Code),
        gpu: Gpu::No("an automaton takes one byte after the other"),
    }
}

fn lang_score() -> OpSpec {
    OpSpec {
        name: "lang_score",
        family: Family::Language,
        summary: "how probable the language is that `lang` gives, from 0 to 1",
        details: "A fastText model's score is its probability, which may be a little above 1. Those of the built-in model are \
                  softened: naive Bayes takes n-grams for independent and is nearly sure of everything, so the logarithms are \
                  divided by the square root of the number of n-grams found. Of the pages that `lang` was tried on, those with a \
                  score of at least 0.9 were right in 99 of 100 cases, those below 0.5 in three of four.",
        params: const { &[TEXT, MODEL] },
        returns: Returns::Opened("DOUBLE"),
        examples: const { &[Example::of("lang_score('The quick brown fox jumps over the lazy dog.') > 0.5", "true")] },
        effects: Effects::PURE,
        cost: LANGID_COST,
        cpu: code(|_| Gives::Score),
        gpu: Gpu::No("an automaton takes one byte after the other"),
    }
}

fn lang_top() -> OpSpec {
    OpSpec {
        name: "lang_top",
        family: Family::Language,
        summary: "the most probable languages of a text, best first",
        details: "Codes as `lang` has them, scores as `lang_score` has them.",
        params: const { &[TEXT, Param::int("k", "how many").between(1, 10_000).default(Literal::Int(3)), MODEL] },
        returns: Returns::Opened("STRUCT<lang TEXT, score DOUBLE>[]"),
        examples: const { &[Example::of("lang_top('Det er en kort setning på norsk.', 2)[1]['lang']", "'no'")] },
        effects: Effects::PURE,
        cost: LANGID_COST,
        cpu: code(|args| Gives::Top { k: args.count("k") }),
        gpu: Gpu::No("an automaton takes one byte after the other"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Gives {
    Code,
    Score,
    Top { k: usize },
}

impl Gives {
    /// Languages that are looked for.
    fn n_languages(self) -> usize {
        match self {
            Gives::Code | Gives::Score => 1,
            Gives::Top { k } => k,
        }
    }
}

fn code(gives: fn(&Args) -> Gives) -> Cpu {
    let open = move |args: &Args| {
        let by = match args.text("model") {
            BUILT_IN => By::Langid(langid::model()?),
            path => By::FastText(Opened::at(path)?),
        };
        Ok(Arc::new(Call { by, gives: gives(args) }) as Arc<dyn Model>)
    };
    Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) })
}

#[derive(Debug, Clone)]
enum By {
    Langid(&'static Langid),
    FastText(Opened),
}

/// A call of one of the operators.
#[derive(Debug)]
struct Call {
    by: By,
    gives: Gives,
}

impl Model for Call {
    fn returns(&self) -> DataType {
        match self.gives {
            Gives::Code => DataType::Utf8,
            Gives::Score => DataType::Float64,
            Gives::Top { .. } => labels::list_type("lang"),
        }
    }

    fn files(&self) -> Vec<ModelFile> {
        match &self.by {
            By::Langid(_) => vec![],
            By::FastText(opened) => opened.files(),
        }
    }

    fn facts(&self, setting: &ModelSetting) -> ModelFacts {
        match &self.by {
            By::FastText(opened) => opened.facts(setting),
            By::Langid(model) => {
                let title = format!("langid, {} languages, built in", model.names().len());
                let mut facts = ModelFacts::on_cpu(title, LANGID_COST);
                facts.held_bytes = model.memory_bytes();
                facts
            }
        }
    }

    fn share_key(&self) -> Option<String> {
        let path = |file: &ModelFile| file.path.clone();
        Some(format!("language {}", self.files().first().map_or(BUILT_IN.to_string(), path)))
    }

    fn prepare(&self, group: &[Arc<dyn Model>], _: &ModelSetting) -> Result<Arc<dyn PreparedModel>> {
        let gives = |model: &Arc<dyn Model>| (&**model as &dyn Any).downcast_ref::<Call>().map(|call| call.gives);
        let gives = group.iter().map(gives).collect::<Option<Vec<_>>>();
        let gives = gives.ok_or_else(|| bug!("a model of languages shares its key with a model of another kind"))?;
        Ok(match &self.by {
            By::Langid(model) => Arc::new(Identifier { model: *model, gives, idle: Idle::new() }),
            By::FastText(opened) => Arc::new(Identifier { model: Arc::clone(&opened.model), gives, idle: Idle::new() }),
        })
    }
}

/// What finds languages in a text.
trait Identify: Send + Sync {
    /// What one thread needs.
    type Scratch: Send;

    fn scratch(&self) -> Self::Scratch;

    /// The `k` most probable languages, best first; none if nothing tells them apart.
    fn languages(&self, text: &str, k: usize, scratch: &mut Self::Scratch) -> Vec<(&str, f32)>;
}

impl Identify for &'static Langid {
    type Scratch = langid::Scratch;

    fn scratch(&self) -> Self::Scratch {
        langid::Scratch::default()
    }

    fn languages(&self, text: &str, k: usize, scratch: &mut Self::Scratch) -> Vec<(&str, f32)> {
        self.best(text, k, scratch)
    }
}

impl Identify for Arc<FastText> {
    type Scratch = fasttext::Scratch;

    fn scratch(&self) -> Self::Scratch {
        FastText::scratch(self)
    }

    fn languages(&self, text: &str, k: usize, scratch: &mut Self::Scratch) -> Vec<(&str, f32)> {
        if !self.read_text(text, true, scratch) {
            return Vec::new();
        }
        self.best(k, scratch).into_iter().map(|found| (self.label(found.label), found.score)).collect()
    }
}

struct Identifier<I: Identify> {
    model: I,
    gives: Vec<Gives>,
    idle: Idle<I::Scratch>,
}

impl<I: Identify> PreparedModel for Identifier<I> {
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>> {
        let texts = rows.texts(0)?;
        let k = self.gives.iter().map(|gives| gives.n_languages()).max().unwrap_or(1);
        let found: Vec<Vec<(&str, f32)>> = self.idle.with(
            || self.model.scratch(),
            |scratch| texts.iter().flatten().map(|text| self.model.languages(text, k, scratch)).collect(),
        );
        let column = |gives: &Gives| match gives {
            Gives::Code => labels::first_labels(&found),
            Gives::Score => labels::first_scores(&found),
            Gives::Top { k } => {
                let top: Vec<_> = found.iter().map(|found| found[..found.len().min(*k)].to_vec()).collect();
                labels::lists("lang", &top)
            }
        };
        Ok(self.gives.iter().map(|gives| ModelColumn::of(column(gives))).collect())
    }
}
