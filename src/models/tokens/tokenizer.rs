//! Tokenizers: the tables of OpenAI and others that are built in, `tokenizer.json` files, and SentencePiece models.

use super::sentencepiece::SentencePiece;
use crate::diag::did_you_mean;
use crate::ops::ModelFile;
use crate::store::{Kind, read, stat};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tiktoken::CoreBpe;
use tokenizers::Tokenizer as HuggingFace;

/// Something that cuts a text into tokens, on any thread.
#[derive(Clone)]
pub(super) enum Tokenizer {
    /// A byte-pair encoding that is built in.
    BuiltIn { name: &'static str, table: &'static CoreBpe },
    /// A file of the `tokenizers` library.
    File { file: ModelFile, tokenizer: Arc<HuggingFace> },
    /// A file of the SentencePiece library.
    SentencePiece { file: ModelFile, model: Arc<SentencePiece> },
}

/// Short names of tables, as users write them.
const SHORT: [(&str, &str); 8] = [
    ("cl100k", "cl100k_base"),
    ("o200k", "o200k_base"),
    ("p50k", "p50k_base"),
    ("r50k", "r50k_base"),
    ("deepseek", "deepseek_v3"),
    ("mistral", "mistral_v3"),
    ("qwen", "qwen2"),
    ("qwen2.5", "qwen2"),
];

impl Tokenizer {
    /// A table by its name, else the file, or the folder of a model with a `tokenizer.json` in it.
    pub(super) fn open(name: &str) -> Result<Self> {
        let long = SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| long);
        if let Some(name) = tiktoken::list_encodings().iter().find(|known| **known == long)
            && let Some(table) = tiktoken::get_encoding(name)
        {
            return Ok(Tokenizer::BuiltIn { name, table });
        }
        Self::from_file(name)
    }

    fn from_file(name: &str) -> Result<Self> {
        let path = match stat(Path::new(name)) {
            Ok(found) if found.kind == Kind::Folder => Path::new(name).join("tokenizer.json"),
            Ok(_) => PathBuf::from(name),
            Err(_) if !name.contains(['/', '\\', '.']) => return Err(unknown_name(name)),
            Err(_) => PathBuf::from(name),
        };
        let file = ModelFile::of("tokenizer", &path)?;
        let bytes = read(&path).map_err(|error| Error::io(&path, error))?;
        if path.extension().is_some_and(|ending| ending == "model") {
            let model = SentencePiece::read(&bytes);
            let wrong = |why| Error::Data(format!("{}: not a SentencePiece model: {why}", path.display()));
            return Ok(Tokenizer::SentencePiece { file, model: Arc::new(model.map_err(wrong)?) });
        }
        let wrong = |why: String| Error::Data(format!("{}: not a tokenizer.json: {why}", path.display()));
        let mut tokenizer = HuggingFace::from_bytes(&bytes).map_err(|error| wrong(error.to_string()))?;
        // What a file says of truncation and padding is about the input of its model, not about a text.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| wrong(error.to_string()))?;
        Ok(Tokenizer::File { file, tokenizer: Arc::new(tokenizer) })
    }

    /// A few words about it.
    pub(super) fn title(&self) -> String {
        match self {
            Tokenizer::BuiltIn { name, table } => format!("{name}, {} tokens, built in", table.vocab_size()),
            Tokenizer::File { file, tokenizer } => {
                format!("{}, {} tokens", file.path, tokenizer.get_vocab_size(true))
            }
            Tokenizer::SentencePiece { file, model } => format!("{}, {} tokens", file.path, model.n_pieces()),
        }
    }

    /// The file that it was read from.
    pub(super) fn files(&self) -> Vec<ModelFile> {
        match self {
            Tokenizer::BuiltIn { .. } => vec![],
            Tokenizer::File { file, .. } | Tokenizer::SentencePiece { file, .. } => vec![file.clone()],
        }
    }

    /// Nanoseconds for a byte of text on one core.
    pub(super) fn ns_per_byte(&self) -> f64 {
        match self {
            Tokenizer::BuiltIn { .. } => 25.0,
            Tokenizer::SentencePiece { .. } => 120.0,
            Tokenizer::File { .. } => 350.0,
        }
    }

    /// About what it takes in memory, by the size of its words.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Tokenizer::BuiltIn { table, .. } => table.vocab_size() * 64,
            Tokenizer::File { file, .. } | Tokenizer::SentencePiece { file, .. } => file.n_bytes as usize * 6,
        }
    }

    /// Bytes that a text of this size takes while it is cut: the library keeps each token as a text with its place.
    pub(super) fn work_bytes(&self, text_bytes: usize) -> usize {
        match self {
            Tokenizer::BuiltIn { .. } => text_bytes * 2,
            Tokenizer::File { .. } => text_bytes * 40,
            Tokenizer::SentencePiece { .. } => text_bytes * 120,
        }
    }

    /// How many tokens a text has; `with_special` counts those that its model puts around it.
    pub(super) fn count(&self, text: &str, with_special: bool) -> Result<usize, String> {
        match self {
            Tokenizer::BuiltIn { table, .. } => Ok(table.count(text)),
            Tokenizer::File { tokenizer, .. } => {
                let cut = tokenizer.encode_fast(text, with_special).map_err(|error| error.to_string())?;
                Ok(cut.len())
            }
            Tokenizer::SentencePiece { model, .. } => Ok(model.count(text)),
        }
    }

    /// What it cannot do, and what can.
    pub(super) fn refuse(&self, places: bool, special: bool) -> Result<()> {
        let Tokenizer::SentencePiece { file, .. } = self else { return Ok(()) };
        let help = "; a `tokenizer.json` of the same model does, as `AutoTokenizer.from_pretrained(…).save_pretrained(…)` writes it";
        let what = match (places, special) {
            (true, _) => "does not say where its pieces stand in the text",
            (false, true) => "does not say what its model's input has around a text",
            (false, false) => return Ok(()),
        };
        Err(Error::Data(format!("{}: a SentencePiece model {what}{help}", file.path)))
    }

    /// The beginning of a text that its first `max` tokens cover, without part of a character.
    pub(super) fn truncate<'a>(&self, text: &'a str, max: usize) -> Result<&'a str, String> {
        let n_bytes = match self {
            // Its tokens are pieces of the text, each of a byte at least.
            Tokenizer::BuiltIn { .. } if text.len() <= max => return Ok(text),
            Tokenizer::BuiltIn { table, .. } => {
                let tokens = table.encode(text);
                if tokens.len() <= max {
                    return Ok(text);
                }
                table.decode(&tokens[..max]).len()
            }
            Tokenizer::File { tokenizer, .. } => {
                let cut = tokenizer.encode(text, false).map_err(|error| error.to_string())?;
                let places = cut.get_offsets();
                match (max.checked_sub(1).and_then(|last| places.get(last)), places.get(max)) {
                    (_, None) => return Ok(text),
                    (None, Some(_)) => 0,
                    // White space between the two goes with the next one. Tokens of one character have the same place: then it
                    // goes too.
                    (Some((_, end)), Some((next, _))) => *end.min(next),
                }
            }
            Tokenizer::SentencePiece { .. } => return Err("its pieces have no places".to_string()),
        };
        let whole = (0..=n_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        Ok(&text[..whole.unwrap_or(0)])
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.title())
    }
}

fn unknown_name(name: &str) -> Error {
    let known = || SHORT.iter().map(|(short, _)| *short).chain(tiktoken::list_encodings().iter().copied());
    let help = did_you_mean(name, known()).unwrap_or_else(|| {
        let names: Vec<&str> = known().take(2).collect();
        format!("built in are {} and others (`curator ops tokens`); a file is named by its path", names.join(", "))
    });
    Error::Data(format!("there is no tokenizer `{name}`; {help}"))
}
