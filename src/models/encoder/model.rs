//! An encoder as queries see it: opened when the query is bound, loaded when the first row comes, one copy for a process.

use super::files::ModelFiles;
use super::head::{Head, Labels};
use super::loaded::Loaded;
use super::opened::Encoder;
use super::prompts::Prompts;
use super::room::Room;
use super::values;
use crate::ops::{
    Cost, Model, ModelBatch, ModelColumn, ModelFacts, ModelFile, ModelRows, ModelSetting, PreparedModel, RejectedRow,
};
use crate::{Error, Result, bug};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// One call on an encoder.
#[derive(Debug)]
pub struct EncoderCall {
    encoder: Arc<Encoder>,
    name: String,
    files: Vec<ModelFile>,
    gives: Gives,
}

/// What a call wants of the model's numbers.
#[derive(Clone, Debug)]
pub enum Gives {
    Vector {
        normalize: bool,
    },
    Labels,
    /// The score of the label with this number.
    Score(usize),
    Prompts(Prompts),
}

impl EncoderCall {
    pub fn model(files: &ModelFiles, encoder: Encoder, gives: Gives) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(EncoderCall { encoder: Arc::new(encoder), name: files.name(), files: files.seen()?, gives }))
    }

    fn labels(&self) -> Result<&Labels> {
        self.encoder.head.labels().ok_or_else(|| bug!("labels of a model that has none"))
    }

    /// What the model's numbers depend on: equal for calls that only read them differently.
    fn key(&self) -> String {
        let Encoder { head, max_tokens, .. } = &*self.encoder;
        let files: Vec<&str> = self.files.iter().map(|file| file.hash.as_str()).collect();
        let head = match head {
            Head::Vectors(vectors) => format!("vectors by {}", vectors.pooling.name()),
            _ => "labels".into(),
        };
        format!("encoder: {head}, {max_tokens} tokens, {}", files.join(" "))
    }

    fn column(&self, numbers: &super::loaded::Numbers) -> Result<ArrayRef> {
        let n_outputs = self.encoder.n_outputs();
        Ok(match &self.gives {
            Gives::Vector { normalize } => values::vectors(numbers, n_outputs, *normalize),
            Gives::Labels => values::labelled(numbers, self.labels()?),
            Gives::Score(label) => values::scores(numbers, self.labels()?, *label),
            Gives::Prompts(prompts) => prompts.answers(numbers),
        })
    }
}

/// What one core computes in a second, for costs: about what was measured with MiniLM.
const FLOPS_PER_SECOND: f64 = 65e9;
/// How long one call should take at most, in seconds: until it is done it can be neither shown nor stopped.
const CALL_SECONDS: f64 = 10.0;
/// A typical document, until documents were seen.
const TYPICAL_TOKENS: usize = 500;

impl Model for EncoderCall {
    fn returns(&self) -> DataType {
        match &self.gives {
            Gives::Vector { .. } => values::vectors_type(self.encoder.n_outputs()),
            Gives::Labels => values::labelled_type(),
            Gives::Score(_) => DataType::Float32,
            Gives::Prompts(prompts) => prompts.returns(),
        }
    }

    fn files(&self) -> Vec<ModelFile> {
        self.files.clone()
    }

    fn facts(&self, setting: &ModelSetting) -> ModelFacts {
        let encoder = &*self.encoder;
        let shape = &encoder.shape;
        let n_tokens = encoder.max_tokens.min(TYPICAL_TOKENS);
        let seconds = |n_tokens: usize| encoder.flops(n_tokens) / FLOPS_PER_SECOND;
        let millions = encoder.weight_bytes as f64 / 4e6;
        let title = format!(
            "{}: {}, {} layers of {}, {millions:.1} million weights",
            self.name,
            shape.family.name(),
            shape.n_layers,
            shape.hidden,
        );
        // Enough rows to find some of equal length.
        let rows = ((CALL_SECONDS / seconds(encoder.max_tokens)) as usize).clamp(16, 1024);
        let room = Room::new(shape, encoder.held_bytes(), setting);
        let width = super::batches::width_of(encoder.max_tokens);
        let (at_once, work_bytes) = (room.most_rows(width), room.work_bytes(usize::MAX, width));
        let notes = vec![
            format!(
                "{:.1} MFLOP a token and {:.1} kFLOP more for each token beside it; {:.0} GFLOP/s a core are assumed",
                encoder.flops_per_token / 1e6,
                (encoder.flops(1) - encoder.flops_per_token) / 1e3,
                FLOPS_PER_SECOND / 1e9,
            ),
            format!(
                "reads the first {} tokens of a text; {at_once} rows of them at once take {:.1} MB on each thread, the weights \
                 {:.1} MB once",
                encoder.max_tokens,
                work_bytes as f64 / 1e6,
                encoder.weight_bytes as f64 / 1e6,
            ),
        ];
        let why = format!("about {CALL_SECONDS:.0} s of work, sorted by length");
        ModelFacts {
            batch: ModelBatch { rows: setting.batch_rows.unwrap_or(rows), why, ..ModelBatch::default() },
            held_bytes: encoder.held_bytes(),
            notes,
            device_reason: "rten runs it, which needs nothing installed and uses the CPU alone".into(),
            ..ModelFacts::on_cpu(title, Cost::ns_per_byte(0.0).and_ns_per_row(seconds(n_tokens) * 1e9))
        }
    }

    fn share_key(&self) -> Option<String> {
        Some(self.key())
    }

    fn prepare(&self, group: &[Arc<dyn Model>], setting: &ModelSetting) -> Result<Arc<dyn PreparedModel>> {
        let encoder = &self.encoder;
        let room = Room::new(&encoder.shape, encoder.held_bytes(), setting);
        let width = super::batches::width_of(encoder.max_tokens);
        if let Some(limit) = setting.memory_limit_bytes
            && room.row_bytes(width) > room.batch_bytes
        {
            return Err(Error::Data(format!(
                "out of memory: the model {} holds {} MB, and a text of {} tokens takes {} MB more on each of {} threads; the \
                 limit is {} MB. Raise it with --memory, or use fewer threads or max_tokens",
                self.name,
                encoder.held_bytes().div_ceil(1_000_000),
                encoder.max_tokens,
                room.row_bytes(width).div_ceil(1_000_000),
                setting.threads,
                limit / 1_000_000,
            )));
        }
        let call = |model: &Arc<dyn Model>| {
            let call = (&**model as &dyn Any).downcast_ref::<EncoderCall>();
            let call = call.ok_or_else(|| bug!("a model of another kind has the key of an encoder"))?;
            Ok(EncoderCall {
                encoder: call.encoder.clone(),
                name: call.name.clone(),
                files: vec![],
                gives: call.gives.clone(),
            })
        };
        let calls = group.iter().map(call).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Prepared { loaded: loaded(&self.key(), encoder)?, calls, room, max_tokens: encoder.max_tokens }))
    }
}

/// One copy of each model for a process, as long as a query has it.
fn loaded(key: &str, encoder: &Encoder) -> Result<Arc<Loaded>> {
    static LOADED: LazyLock<Mutex<HashMap<String, Weak<Loaded>>>> = LazyLock::new(Mutex::default);
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, model| model.strong_count() > 0);
    if let Some(model) = all.get(key).and_then(Weak::upgrade) {
        return Ok(model);
    }
    let model = Arc::new(encoder.load()?);
    all.insert(key.to_string(), Arc::downgrade(&model));
    Ok(model)
}

struct Prepared {
    loaded: Arc<Loaded>,
    calls: Vec<EncoderCall>,
    room: Room,
    max_tokens: usize,
}

impl PreparedModel for Prepared {
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>> {
        let texts = rows.texts(0)?;
        let encoded = rows.shared(self.loaded.tokens_key(), || {
            Ok(self.loaded.tokenize((0..texts.len()).map(|row| texts.value(row))))
        })?;
        let numbers = self.loaded.run(&encoded, |width| self.room.most_rows(width))?;
        let rejected = |(row, reason): &(usize, String)| RejectedRow { row: *row, reason: reason.clone() };
        let rejected: Vec<RejectedRow> = numbers.refused.iter().map(rejected).collect();
        let column = |call: &EncoderCall| Ok(ModelColumn::of(call.column(&numbers)?).rejecting(rejected.clone()));
        self.calls.iter().map(column).collect()
    }

    fn work_bytes(&self, rows: &ModelRows) -> usize {
        let Ok(texts) = rows.texts(0) else { return 0 };
        // A token takes at least a byte of the text; two more stand at its ends.
        let longest = (0..texts.len()).map(|row| texts.value_length(row) as usize + 2).max().unwrap_or(0);
        let width = super::batches::width_of(longest.min(self.max_tokens));
        self.room.work_bytes(rows.len(), width) + rows.len() * (self.max_tokens + self.loaded.n_outputs()) * 8
    }
}
