//! `score_head(vector, 'head.safetensors')`: a few linear layers on a vector that is there already.
//!
//! What scores images, instructions and texts by their embeddings: LAION's aesthetic predictor, detectors of what is not safe
//! for work, Instruction Data Guard.

use super::files::ModelFiles;
use super::weights::{Layout, Weights};
use crate::ops::prelude::*;
use crate::ops::{
    Model, ModelCode, ModelColumn, ModelFacts, ModelFile, ModelRows, ModelSetting, PreparedModel, RejectedRow,
};
use crate::{Error, Result, bug};
use arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray, Float32Array};
use arrow::datatypes::{DataType, Field, Float32Type};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

pub fn spec() -> OpSpec {
    OpSpec {
        name: "score_head",
        family: Family::Model,
        summary: "a few linear layers on a vector: a number, or several",
        details: "The head is one file of safetensors with matrices `….weight` and vectors `….bias`, applied in the order of the \
                  numbers in their names, with `activation` between them and `output` behind the last. A vector of another length is \
                  rejected. LAION's aesthetic predictor has no activation, Instruction Data Guard 'relu', 'sigmoid' and \
                  `normalize => true`.",
        params: const {
            &[
                Param::vector("vector", "the vector, as `embed` gives it"),
                Param::text("head", "the file of the head"),
                Param::choice("activation", "between layers", &["none", "relu"]).default(Literal::Text("relu")),
                Param::choice("output", "behind the last layer", &["none", "sigmoid"]).default(Literal::Text("none")),
                Param::bool("normalize", "whether the vector is given length 1 before").default(Literal::Bool(false)),
            ]
        },
        returns: Returns::Opened("FLOAT, or FLOAT[n] where the last layer gives several numbers"),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(0.0),
        cpu: Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) }),
        gpu: Gpu::No("heads run on the CPU"),
    }
}

fn open(args: &Args) -> Result<Arc<dyn Model>> {
    let path = Path::new(args.text("head"));
    let parent = path.parent().map(|parent| parent.display().to_string()).filter(|parent| !parent.is_empty());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if path.extension().is_none_or(|ending| ending != "safetensors") {
        return Err(Error::Data(format!("{}: a head is a file of safetensors; no other is opened", path.display())));
    }
    let files = ModelFiles::open(parent.as_deref().unwrap_or("."))?;
    let mut weights = Weights::open_file(&files, &name)?;
    let layers = layers(&weights, &path.display().to_string())?;
    let mut numbers = Vec::new();
    weights.load();
    for layer in &layers {
        let matrix = weights.place(&format!("{}.weight", layer.name), &[layer.n_out, layer.n_in], Layout::Stored)?;
        let bias = match layer.has_bias {
            true => Some(weights.place(&format!("{}.bias", layer.name), &[layer.n_out], Layout::Stored)?),
            false => None,
        };
        numbers.push((matrix, bias));
    }
    if let Some(tensor) = weights.unused().next() {
        return Err(Error::Data(format!("{}: tensor {tensor:?} belongs to no linear layer", path.display())));
    }
    let buffer = weights.into_buffer();
    let read = |place: &super::weights::Placed| -> Vec<f32> {
        let bytes = &buffer[place.offset..place.offset + place.length];
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    let layers = layers.into_iter().zip(numbers).map(|(layer, (matrix, bias))| Linear {
        n_in: layer.n_in,
        matrix: read(&matrix),
        bias: bias.map_or_else(|| vec![0.0; layer.n_out], |bias| read(&bias)),
    });
    Ok(Arc::new(ScoreHead {
        name,
        layers: layers.collect(),
        files: files.seen()?,
        relu: args.text("activation") == "relu",
        sigmoid: args.text("output") == "sigmoid",
        normalize: args.bool("normalize"),
    }))
}

/// A linear layer of a file.
struct Layer {
    name: String,
    n_in: usize,
    n_out: usize,
    has_bias: bool,
}

/// The layers in their order, each taking what the one before gives.
fn layers(weights: &Weights, shown: &str) -> Result<Vec<Layer>> {
    let mut layers = Vec::new();
    for name in weights.names().filter_map(|name| name.strip_suffix(".weight")) {
        if let Some([n_out, n_in]) = weights.shape(&format!("{name}.weight")) {
            let has_bias = weights.has(&format!("{name}.bias"));
            layers.push(Layer { name: name.to_string(), n_in: *n_in, n_out: *n_out, has_bias });
        }
    }
    // `layers.10` stands behind `layers.2`.
    let numbers =
        |name: &str| -> Vec<u64> { name.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect() };
    layers.sort_by_cached_key(|layer| (numbers(&layer.name), layer.name.clone()));
    if layers.is_empty() {
        return Err(Error::Data(format!("{shown}: there is no matrix `….weight` in it")));
    }
    if let Some([a, b]) = layers.array_windows().find(|[a, b]| a.n_out != b.n_in || b.n_in == 0) {
        return Err(Error::Data(format!(
            "{shown}: layer {:?} gives {} numbers, and {:?} takes {}: the order of layers is that of the numbers in their names",
            a.name, a.n_out, b.name, b.n_in
        )));
    }
    Ok(layers)
}

#[derive(Debug, Clone)]
struct Linear {
    n_in: usize,
    /// Row by row.
    matrix: Vec<f32>,
    bias: Vec<f32>,
}

#[derive(Debug, Clone)]
struct ScoreHead {
    name: String,
    layers: Vec<Linear>,
    files: Vec<ModelFile>,
    relu: bool,
    sigmoid: bool,
    normalize: bool,
}

impl ScoreHead {
    fn n_out(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.bias.len())
    }

    fn apply(&self, vector: &[f32]) -> Vec<f32> {
        let mut x = vector.to_vec();
        if self.normalize {
            super::values::to_unit_length(&mut x);
        }
        for (place, layer) in self.layers.iter().enumerate() {
            let row = |(row, bias): (&[f32], &f32)| dot(row, &x) + bias;
            let mut y: Vec<f32> = layer.matrix.chunks_exact(layer.n_in.max(1)).zip(&layer.bias).map(row).collect();
            if self.relu && place + 1 < self.layers.len() {
                y.iter_mut().for_each(|y| *y = y.max(0.0));
            }
            x = y;
        }
        if self.sigmoid {
            x.iter_mut().for_each(|x| *x = (1.0 / (1.0 + (-f64::from(*x)).exp())) as f32);
        }
        x
    }
}

/// Eight sums side by side, always in the same order.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0f32; 8];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

impl Model for ScoreHead {
    fn returns(&self) -> DataType {
        if self.n_out() == 1 { DataType::Float32 } else { super::values::vectors_type(self.n_out()) }
    }

    fn files(&self) -> Vec<ModelFile> {
        self.files.clone()
    }

    fn facts(&self, _: &ModelSetting) -> ModelFacts {
        let n_weights: usize = self.layers.iter().map(|layer| layer.matrix.len()).sum();
        let n_layers = self.layers.len();
        let title = format!("{}: {n_layers} linear layers, {n_weights} weights", self.name);
        let cost = Cost::ns_per_byte(0.0).and_ns_per_row(n_weights as f64 / 4.0);
        ModelFacts { held_bytes: 4 * n_weights, ..ModelFacts::on_cpu(title, cost) }
    }

    fn prepare(&self, group: &[Arc<dyn Model>], _: &ModelSetting) -> Result<Arc<dyn PreparedModel>> {
        let head = |model: &Arc<dyn Model>| (&**model as &dyn Any).downcast_ref::<ScoreHead>().cloned();
        let heads: Option<Vec<ScoreHead>> = group.iter().map(head).collect();
        Ok(Arc::new(Heads(heads.ok_or_else(|| bug!("a head among other models"))?)))
    }
}

struct Heads(Vec<ScoreHead>);

impl PreparedModel for Heads {
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>> {
        let vectors = rows.vectors(0)?;
        self.0.iter().map(|head| head.column(vectors)).collect()
    }
}

impl ScoreHead {
    fn column(&self, vectors: &arrow::array::ListArray) -> Result<ModelColumn> {
        let (n_in, n_out) = (self.layers.first().map_or(0, |layer| layer.n_in), self.n_out());
        let (mut values, mut rejected) = (vec![0f32; vectors.len() * n_out], vec![]);
        for row in 0..vectors.len() {
            let vector = vectors.value(row);
            let vector =
                vector.as_primitive_opt::<Float32Type>().ok_or_else(|| bug!("a vector is not of Float32"))?.values();
            if vector.len() != n_in {
                let reason = format!("its vector has {} numbers, and {} takes {n_in}", vector.len(), self.name);
                rejected.push(RejectedRow { row, reason });
                continue;
            }
            let scores = self.apply(vector);
            if scores.iter().any(|score| !score.is_finite()) {
                rejected.push(RejectedRow { row, reason: format!("{} gives no finite number for it", self.name) });
                continue;
            }
            values[row * n_out..(row + 1) * n_out].copy_from_slice(&scores);
        }
        let values = Float32Array::from(values);
        let values: ArrayRef = match n_out {
            1 => Arc::new(values),
            _ => {
                let field = Arc::new(Field::new_list_field(DataType::Float32, true));
                Arc::new(FixedSizeListArray::new(field, n_out as i32, Arc::new(values), None))
            }
        };
        Ok(ModelColumn::of(values).rejecting(rejected))
    }
}
