//! `fasttext(text, model)` and `fasttext_score(text, model, label)`.

use super::{FastText, Scratch};
use crate::diag::did_you_mean;
use crate::models::idle::Idle;
use crate::models::labels;
use crate::ops::prelude::*;
use crate::ops::{Model, ModelCode, ModelColumn, ModelFacts, ModelFile, ModelRows, ModelSetting, PreparedModel};
use crate::{Error, Result, bug, store};
use arrow::array::{ArrayRef, Float64Array, StructArray};
use arrow::datatypes::{DataType, Field, Fields};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

pub(in crate::models) fn operators() -> Vec<OpSpec> {
    vec![fasttext(), fasttext_score()]
}

const TEXT: Param = Param::text("text", "the document");
const MODEL: Param = Param::text("model", "the `.bin` or `.ftz` file");
const NEWLINES: Param =
    Param::choice("newlines", "what line feeds become", &["space", "remove", "cut"]).default(Literal::Text("space"));
const STRIP: Param =
    Param::bool("strip", "whether white space at both ends is removed first, as Python's `str.strip()` does")
        .default(Literal::Bool(false));

/// One pass over the text, measured with lid.176.ftz on web pages.
const NS_PER_BYTE: f64 = 25.0;

fn fasttext() -> OpSpec {
    OpSpec {
        name: "fasttext",
        family: Family::Model,
        summary: "the most probable label of a fastText model, with its score",
        details: "The file is one of fastText's supervised models, quantized or not, of any loss; labels and scores are those of \
                  the reference implementation, whose scores may be a little above 1. Names of labels stand without \
                  `__label__`. fastText reads one line: `newlines => 'space'` makes line feeds spaces (NeMo Curator, datatrove's \
                  language filter, DCLM), `'remove'` joins lines (datatrove's classifier filter), `'cut'` ends the text at the \
                  first one (fastText's command line). A text of which the model knows nothing, not even the end of a line, gives \
                  NULL. `top` has the `k` best labels, as `predict(text, k)` gives them. The file is mapped: all threads and \
                  processes of a machine share one copy.",
        params: const {
            &[
                TEXT,
                MODEL,
                Param::int("k", "labels in `top`").between(1, 1_000_000).default(Literal::Int(1)),
                NEWLINES,
                STRIP,
            ]
        },
        returns: Returns::Opened("STRUCT<label TEXT, score DOUBLE, top STRUCT<label TEXT, score DOUBLE>[]>"),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(NS_PER_BYTE),
        cpu: code(|args, _| Ok(Gives::Labels { k: args.count("k") })),
        gpu: Gpu::No("tables of words and rows all over memory"),
    }
}

fn fasttext_score() -> OpSpec {
    OpSpec {
        name: "fasttext_score",
        family: Family::Model,
        summary: "the probability that a fastText model gives a label",
        details: "As `fasttext`, of one label alone: 0 where a tree of labels does not reach it. A label that the model does not \
                  have is an error of the query.",
        params: const { &[TEXT, MODEL, Param::text("label", "the label, with or without `__label__`"), NEWLINES, STRIP] },
        returns: Returns::Opened("DOUBLE"),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(NS_PER_BYTE),
        cpu: code(|args, opened| {
            let wanted = args.text("label");
            let found = opened.model.find_label(wanted);
            let label = found.ok_or_else(|| opened.no_label(wanted))?;
            Ok(Gives::Score { label })
        }),
        gpu: Gpu::No("tables of words and rows all over memory"),
    }
}

/// A model whose file was read.
#[derive(Debug, Clone)]
pub(in crate::models) struct Opened {
    file: ModelFile,
    pub(in crate::models) model: Arc<FastText>,
}

impl Opened {
    pub(in crate::models) fn at(path: &str) -> Result<Self> {
        let file = ModelFile::of("weights", Path::new(path))?;
        let bytes = store::map(Path::new(path)).map_err(|error| Error::io(path, error))?;
        Ok(Self { file, model: Arc::new(FastText::read(bytes, path)?) })
    }

    pub(in crate::models) fn files(&self) -> Vec<ModelFile> {
        vec![self.file.clone()]
    }

    pub(in crate::models) fn facts(&self, setting: &ModelSetting) -> ModelFacts {
        // Behind the pass over the text a product for each label.
        let cost = Cost::ns_per_byte(NS_PER_BYTE).and_ns_per_row(self.model.work_per_text() as f64 * 0.5);
        let mut facts = ModelFacts::on_cpu(self.model.title(), cost);
        let (mapped, own) = (self.file.n_bytes as usize, self.model.memory_bytes());
        facts.held_bytes = mapped + own + setting.threads * self.model.scratch_bytes();
        facts
    }

    fn no_label(&self, wanted: &str) -> Error {
        let labels = || (0..self.model.n_labels()).map(|label| self.model.label(label));
        let first: Vec<String> = labels().take(5).map(|label| format!("`{label}`")).collect();
        let more = if self.model.n_labels() > 5 { ", …" } else { "" };
        let help = did_you_mean(wanted, labels()).unwrap_or_else(|| format!("it has {}{more}", first.join(", ")));
        Error::Data(format!("{}: the model has no label `{wanted}`; {help}", self.file.path))
    }
}

/// How a text becomes the line that a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    newlines: Newlines,
    strip: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newlines {
    Space,
    Remove,
    Cut,
}

impl Reading {
    fn of(args: &Args) -> Self {
        let newlines = match args.text("newlines") {
            "remove" => Newlines::Remove,
            "cut" => Newlines::Cut,
            _ => Newlines::Space,
        };
        Self { newlines, strip: args.bool("strip") }
    }

    /// Reads a text; false if the model knows nothing of it.
    fn read(self, text: &str, model: &FastText, scratch: &mut Scratch) -> bool {
        let is_space = |c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c);
        let text = if self.strip { text.trim_matches(is_space) } else { text };
        match self.newlines {
            Newlines::Space => model.read_text(text, true, scratch),
            Newlines::Remove if text.contains('\n') => model.read_text(&text.replace('\n', ""), true, scratch),
            Newlines::Remove | Newlines::Cut => model.read_text(text, false, scratch),
        }
    }
}

/// A call of one of the operators.
#[derive(Debug)]
struct Call {
    opened: Opened,
    reading: Reading,
    gives: Gives,
}

#[derive(Debug, Clone, Copy)]
enum Gives {
    Labels { k: usize },
    Score { label: usize },
}

fn code(gives: fn(&Args, &Opened) -> Result<Gives>) -> Cpu {
    let open = move |args: &Args| {
        let opened = Opened::at(args.text("model"))?;
        let gives = gives(args, &opened)?;
        Ok(Arc::new(Call { opened, reading: Reading::of(args), gives }) as Arc<dyn Model>)
    };
    Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) })
}

fn struct_fields() -> Fields {
    let top = labels::list_type("label");
    Fields::from(vec![
        Field::new("label", DataType::Utf8, true),
        Field::new("score", DataType::Float64, true),
        Field::new("top", top, true),
    ])
}

impl Model for Call {
    fn returns(&self) -> DataType {
        match self.gives {
            Gives::Labels { .. } => DataType::Struct(struct_fields()),
            Gives::Score { .. } => DataType::Float64,
        }
    }

    fn files(&self) -> Vec<ModelFile> {
        self.opened.files()
    }

    fn facts(&self, setting: &ModelSetting) -> ModelFacts {
        self.opened.facts(setting)
    }

    /// Labels and scores of one reading of a text come from one pass over it.
    fn share_key(&self) -> Option<String> {
        Some(format!("fasttext {} {:?}", self.opened.file.path, self.reading))
    }

    fn prepare(&self, group: &[Arc<dyn Model>], _: &ModelSetting) -> Result<Arc<dyn PreparedModel>> {
        let gives = |model: &Arc<dyn Model>| (&**model as &dyn Any).downcast_ref::<Call>().map(|call| call.gives);
        let gives = group.iter().map(gives).collect::<Option<Vec<_>>>();
        let gives = gives.ok_or_else(|| bug!("a fastText model shares its key with a model of another kind"))?;
        let model = Arc::clone(&self.opened.model);
        Ok(Arc::new(Classifier { model, reading: self.reading, gives, idle: Idle::new() }))
    }
}

struct Classifier {
    model: Arc<FastText>,
    reading: Reading,
    gives: Vec<Gives>,
    idle: Idle<Scratch>,
}

/// What one call of a group gives, row by row.
enum Column<'a> {
    Labels(Vec<Vec<(&'a str, f32)>>),
    Scores(Vec<Option<f64>>),
}

impl Classifier {
    fn add<'a>(&'a self, column: &mut Column<'a>, gives: Gives, is_known: bool, scratch: &mut Scratch) {
        let mut best = |k| if is_known { self.model.best(k, scratch) } else { Vec::new() };
        match (column, gives) {
            (Column::Labels(rows), Gives::Labels { k }) => {
                let found = best(k).into_iter().map(|found| (self.model.label(found.label), found.score));
                rows.push(found.collect());
            }
            (Column::Scores(rows), Gives::Score { label }) => {
                // What a tree of labels does not list is less probable than it can say.
                let found = best(usize::MAX).into_iter().find(|found| found.label == label);
                rows.push(is_known.then(|| found.map_or(0.0, |found| f64::from(found.score))));
            }
            (Column::Labels(_), Gives::Score { .. }) | (Column::Scores(_), Gives::Labels { .. }) => {}
        }
    }
}

impl PreparedModel for Classifier {
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>> {
        let texts = rows.texts(0)?;
        let empty = |gives: &Gives| match gives {
            Gives::Labels { .. } => Column::Labels(Vec::with_capacity(rows.len())),
            Gives::Score { .. } => Column::Scores(Vec::with_capacity(rows.len())),
        };
        let mut columns: Vec<Column<'_>> = self.gives.iter().map(empty).collect();
        let work = |scratch: &mut Scratch| {
            for text in texts.iter().flatten() {
                let is_known = self.reading.read(text, &self.model, scratch);
                for (column, gives) in columns.iter_mut().zip(&self.gives) {
                    self.add(column, *gives, is_known, scratch);
                }
            }
        };
        self.idle.with(|| self.model.scratch(), work);
        Ok(columns.into_iter().map(|column| ModelColumn::of(array(column))).collect())
    }
}

fn array(column: Column<'_>) -> ArrayRef {
    match column {
        Column::Scores(scores) => Arc::new(Float64Array::from(scores)),
        Column::Labels(rows) => {
            let columns = vec![labels::first_labels(&rows), labels::first_scores(&rows), labels::lists("label", &rows)];
            Arc::new(StructArray::new(struct_fields(), columns, None))
        }
    }
}
