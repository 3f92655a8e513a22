//! `prompt_task(text, 'folder')`: what a prompt asks for, and how hard it is, by NVIDIA's classifier of prompts.
//!
//! One backbone, the mean of all tokens, and several linear layers on it. The first tells the task; each of the others gives
//! probabilities that are weighted, summed and divided, and six of these numbers make the complexity.

use super::classify::open_model;
use super::embed::max_tokens;
use super::files::Json;
use super::head::Head;
use super::loaded::Numbers;
use super::model::{EncoderCall, Gives};
use super::values::softmax;
use crate::ops::prelude::*;
use crate::ops::{Model, ModelCode};
use crate::{Error, Result};
use arrow::array::{ArrayRef, Float64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields};
use std::sync::Arc;

/// What the complexity is made of.
const COMPLEXITY: [(&str, f64); 6] = [
    ("creativity_scope", 0.35),
    ("reasoning", 0.25),
    ("constraint_ct", 0.15),
    ("domain_knowledge", 0.15),
    ("contextual_knowledge", 0.05),
    ("number_of_few_shots", 0.05),
];
const TASK: &str = "task_type";
/// A second task with a smaller probability is none.
const LEAST_SECOND: f64 = 0.1;
/// Fewer examples than this are none.
const LEAST_FEW_SHOTS: f64 = 0.05;

/// The questions that a model of prompts answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompts {
    pub questions: Vec<Question>,
    /// The tasks by number.
    tasks: Vec<String>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    name: String,
    /// Its linear layer.
    pub layer: String,
    pub n_labels: usize,
    /// What each label counts, and what the sum is divided by. Nothing for the task.
    weights: Vec<f64>,
    divisor: f64,
}

impl Prompts {
    /// As `config.json` has them.
    pub fn open(config: &Json) -> Result<Self> {
        let sizes = config.get("target_sizes").and_then(|sizes| sizes.as_object());
        let sizes =
            sizes.ok_or_else(|| config.wrong("`target_sizes` is not a map from questions to numbers of labels"))?;
        let mut prompts = Prompts { questions: Vec::new(), tasks: Vec::new() };
        for (place, (name, size)) in sizes.iter().enumerate() {
            let n_labels = size.as_u64().filter(|size| (1..1 << 20).contains(size));
            let n_labels =
                n_labels.ok_or_else(|| config.wrong(format!("`target_sizes`: {name} has {size} labels")))? as usize;
            let layer = format!("head_{place}.fc");
            let mut question = Question { name: name.clone(), layer, n_labels, weights: Vec::new(), divisor: 1.0 };
            if name == TASK {
                let task = |number: usize| {
                    let name = config.get("task_type_map").and_then(|names| names.get(number.to_string()));
                    name.and_then(|name| name.as_str()).map(str::to_string)
                };
                prompts.tasks = (0..n_labels).map_while(task).collect();
                if prompts.tasks.len() < n_labels {
                    return Err(config.wrong(format!("`task_type_map` does not name all of the {n_labels} tasks")));
                }
            } else {
                let weights =
                    config.get("weights_map").and_then(|weights| weights.get(name)).and_then(|list| list.as_array());
                let weights: Option<Vec<f64>> =
                    weights.and_then(|list| list.iter().map(|weight| weight.as_f64()).collect());
                question.weights = weights.filter(|weights| weights.len() == n_labels).ok_or_else(|| {
                    config.wrong(format!(
                        "`weights_map` does not have a number for each of the {n_labels} labels of {name}"
                    ))
                })?;
                let divisor = config
                    .get("divisor_map")
                    .and_then(|divisors| divisors.get(name))
                    .and_then(|number| number.as_f64());
                let divisor = divisor.filter(|divisor| *divisor != 0.0);
                question.divisor =
                    divisor.ok_or_else(|| config.wrong(format!("`divisor_map` has no number for {name}")))?;
            }
            prompts.questions.push(question);
        }
        for needed in std::iter::once(TASK).chain(COMPLEXITY.iter().map(|(name, _)| *name)) {
            if !prompts.questions.iter().any(|question| question.name == needed) {
                return Err(
                    config.wrong(format!("`target_sizes` does not have {needed:?}, which the complexity needs"))
                );
            }
        }
        Ok(prompts)
    }

    fn fields(&self) -> Fields {
        let texts = ["task_type_1", "task_type_2"].map(|name| Field::new(name, DataType::Utf8, true));
        let numbers = ["prompt_complexity_score", "task_type_prob"].into_iter();
        let numbers = numbers.chain(self.weighted().map(|(question, _)| question.name.as_str()));
        texts.into_iter().chain(numbers.map(|name| Field::new(name, DataType::Float64, true))).collect()
    }

    /// What a prompt gets.
    pub fn returns(&self) -> DataType {
        DataType::Struct(self.fields())
    }

    /// The questions but the task, each with the place of its first logit.
    fn weighted(&self) -> impl Iterator<Item = (&Question, usize)> {
        let mut end = 0;
        let placed = self.questions.iter().map(move |question| {
            end += question.n_labels;
            (question, end - question.n_labels)
        });
        placed.filter(|(question, _)| question.name != TASK)
    }

    /// The answers for each row.
    pub fn answers(&self, numbers: &Numbers) -> ArrayRef {
        let n_logits: usize = self.questions.iter().map(|question| question.n_labels).sum();
        let rows: Vec<Answers> = numbers.values.chunks_exact(n_logits).map(|logits| self.answer(logits)).collect();
        let number = |number: &dyn Fn(&Answers) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(number)))
        };
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.first))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.second))),
            number(&|row| row.complexity),
            number(&|row| row.probability),
        ];
        columns.extend((0..self.weighted().count()).map(|place| number(&|row| row.weighted[place])));
        Arc::new(StructArray::new(self.fields(), columns, None))
    }

    fn answer(&self, logits: &[f32]) -> Answers<'_> {
        let start: usize = self.questions.iter().take_while(|question| question.name != TASK).map(|q| q.n_labels).sum();
        let tasks = softmax(&logits[start..start + self.tasks.len()]);
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by(|a, b| tasks[*b].total_cmp(&tasks[*a]));
        let second = order.get(1).filter(|task| rounded(tasks[**task], 3) >= LEAST_SECOND);
        let value = |(question, start): (&Question, usize)| {
            let probabilities = softmax(&logits[start..start + question.n_labels]);
            let sum: f64 = probabilities.iter().zip(&question.weights).map(|(p, weight)| p * weight).sum();
            let value = rounded(sum / question.divisor, 4);
            if question.name == "number_of_few_shots" && value < LEAST_FEW_SHOTS { 0.0 } else { value }
        };
        let weighted: Vec<f64> = self.weighted().map(value).collect();
        let share = |(name, share): &(&str, f64)| {
            let place = self.weighted().position(|(question, _)| question.name == *name);
            place.map_or(0.0, |place| share * weighted[place])
        };
        Answers {
            first: &self.tasks[order[0]],
            second: second.map_or("NA", |task| &self.tasks[*task]),
            probability: rounded(tasks[order[0]], 3),
            complexity: rounded(COMPLEXITY.iter().map(share).sum(), 5),
            weighted,
        }
    }
}

struct Answers<'a> {
    first: &'a str,
    second: &'a str,
    probability: f64,
    complexity: f64,
    weighted: Vec<f64>,
}

fn rounded(x: f64, n_digits: i32) -> f64 {
    let scale = 10f64.powi(n_digits);
    (x * scale).round_ties_even() / scale
}

pub fn spec() -> OpSpec {
    OpSpec {
        name: "prompt_task",
        family: Family::Model,
        summary: "what a prompt asks for and how complex it is, by a model of prompts on this machine",
        details: "The model is a folder of NVIDIA's prompt-task-and-complexity-classifier: DeBERTa, the mean of all tokens, and a \
                  linear layer for each question; `config.json` has the labels and weights. Gives what NeMo Curator's \
                  PromptTaskComplexityClassifier gives: `task_type_1`, `task_type_2` ('NA' below 0.1), `task_type_prob`, a number \
                  for each question, and `prompt_complexity_score` = 0.35 creativity_scope + 0.25 reasoning + 0.15 constraint_ct \
                  + 0.15 domain_knowledge + 0.05 contextual_knowledge + 0.05 number_of_few_shots.",
        params: const { &[Param::text("text", "the prompt"), Param::text("model", "the model's folder"), max_tokens()] },
        returns: Returns::Opened(
            "STRUCT(task_type_1 TEXT, task_type_2 TEXT, prompt_complexity_score DOUBLE, task_type_prob DOUBLE, …)",
        ),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(0.0),
        cpu: Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) }),
        gpu: Gpu::No("encoders run on the CPU"),
    }
}

fn open(args: &Args) -> Result<Arc<dyn Model>> {
    let (files, encoder) = open_model(args)?;
    let Head::Prompts(prompts) = &encoder.head else {
        return Err(Error::Data(format!(
            "{}: this is no model of prompts: its config.json has no `target_sizes`; `classify` and `score` read other classifiers",
            args.text("model")
        )));
    };
    let gives = Gives::Prompts(prompts.clone());
    EncoderCall::model(&files, encoder, gives)
}
