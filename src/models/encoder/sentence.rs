//! What sentence-transformers writes beside a model: how states become a vector, and how much of a text is read.

use super::files::{self, Json, ModelFiles};
use super::graph::heads::Dense;
use super::inputs::Pooling;
use super::weights::Weights;
use crate::Result;

/// From the states of the tokens to a vector.
#[derive(Clone, Debug)]
pub struct Vectors {
    pub pooling: Pooling,
    pub dense: Vec<Dense>,
}

impl Vectors {
    /// What the folder says; the mean of all tokens where it says nothing. Weights of `Dense` modules are added to
    /// `weights`, under the name of their folder.
    pub fn open<'f>(files: &'f ModelFiles, weights: &mut Weights<'f>) -> Result<Self> {
        let mut vectors = Vectors { pooling: Pooling::Mean, dense: Vec::new() };
        let Some(modules) = files::json(files, "modules.json")? else { return Ok(vectors) };
        let list = modules.value.as_array().ok_or_else(|| modules.wrong("it is not a list of modules"))?;
        for module in list {
            let kind = module["type"].as_str().unwrap_or_default();
            let path = module["path"].as_str().unwrap_or_default();
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" if path.is_empty() => {}
                "Pooling" => vectors.pooling = pooling(files, path)?,
                "Dense" => vectors.dense.push(dense(files, path, weights)?),
                // Whether vectors get length 1 is what the query says.
                "Normalize" => {}
                _ => return Err(modules.wrong(format!("the module {kind:?} at {path:?} is not known"))),
            }
        }
        Ok(vectors)
    }
}

fn pooling(files: &ModelFiles, folder: &str) -> Result<Pooling> {
    let name = format!("{folder}/config.json");
    let Some(config) = files::json(files, &name)? else {
        return Err(crate::Error::Data(format!(
            "{}: there is no such file, and modules.json names it",
            files.shown(&name)
        )));
    };
    if let Some(name) = config.text("pooling_mode") {
        return Pooling::parse(name).ok_or_else(|| config.wrong(format!("`pooling_mode` {name:?} is not known")));
    }
    let all = config.value.as_object().ok_or_else(|| config.wrong("it is not an object"))?;
    let modes = all
        .iter()
        .filter(|(_, on)| on.as_bool() == Some(true))
        .filter_map(|(key, _)| key.strip_prefix("pooling_mode_"));
    let modes: Vec<&str> = modes.collect();
    let [mode] = modes[..] else {
        return Err(config.wrong(format!("one way of pooling is taken, not {}", modes.len())));
    };
    Pooling::parse(mode).ok_or_else(|| config.wrong(format!("the pooling {mode:?} is not known")))
}

fn dense<'f>(files: &'f ModelFiles, folder: &str, weights: &mut Weights<'f>) -> Result<Dense> {
    let name = format!("{folder}/config.json");
    let Some(config) = files::json(files, &name)? else {
        return Err(crate::Error::Data(format!(
            "{}: there is no such file, and modules.json names it",
            files.shown(&name)
        )));
    };
    let function = config.text("activation_function").unwrap_or("torch.nn.modules.activation.Tanh");
    let tanh = match function.rsplit('.').next().unwrap_or_default() {
        "Tanh" => true,
        "Identity" => false,
        _ => return Err(config.wrong(format!("`activation_function` {function:?} is not known"))),
    };
    let own = Weights::open_file(files, &format!("{folder}/model.safetensors"))?;
    weights.extend_below(&format!("{folder}/"), own);
    Ok(Dense {
        prefix: format!("{folder}/"),
        n_in: config.count("in_features")?,
        n_out: config.count("out_features")?,
        has_bias: config.flag_or("bias", true)?,
        tanh,
    })
}

/// How many tokens the folder says are read, where it says so, and what a text is begun with.
pub fn max_tokens(files: &ModelFiles) -> Result<Option<usize>> {
    let Some(config) = files::json(files, "sentence_bert_config.json")? else { return Ok(None) };
    let most = config.get("max_seq_length").map(|_| config.count("max_seq_length")).transpose()?;
    Ok(most.filter(|most| *most > 0))
}

/// What the folder says that every text begins with (E5: `query: `), if it has a default.
pub fn prompt(files: &ModelFiles) -> Result<String> {
    let Some(config) = files::json(files, "config_sentence_transformers.json")? else { return Ok(String::new()) };
    let Some(name) = config.text("default_prompt_name") else { return Ok(String::new()) };
    let prompt = config.get("prompts").and_then(|prompts| prompts.get(name)).and_then(|prompt| prompt.as_str());
    let missing = |config: &Json| config.wrong(format!("`prompts` has no {name:?}, which is `default_prompt_name`"));
    prompt.map(str::to_string).ok_or_else(|| missing(&config))
}
