//! A model that tests can look into: it counts the words that a file lists, one a line.

use super::super::harness::{Outcome, block_on, run};
use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, StringArray};
use arrow::datatypes::{DataType, Field};
use curator::diag::SourceText;
use curator::ops::{
    Args, Cost, Cpu, Effects, Family, Gpu, Model, ModelBatch, ModelCode, ModelColumn, ModelFacts, ModelFile, ModelRows,
    ModelSetting, ModelUse, OpSpec, Param, PreparedModel, RejectedRow, Returns,
};
use curator::{Compiled, Config, Error, ExplainFormat, Language, Plan, Result, Session, Stage};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What the models of a test have done.
#[derive(Debug, Default)]
pub struct Seen {
    pub opened: AtomicUsize,
    pub prepared: AtomicUsize,
    /// The rows of each batch, and how many models it was for.
    pub batches: Mutex<Vec<(usize, usize)>>,
    /// From how many batches on the models fail; 0: never.
    pub fails_after: AtomicUsize,
}

impl Seen {
    /// The rows of each batch.
    pub fn sizes(&self) -> Vec<usize> {
        self.batches.lock().unwrap().iter().map(|(n_rows, _)| *n_rows).collect()
    }

    pub fn n_rows(&self) -> usize {
        self.sizes().iter().sum()
    }

    pub fn forget(&self) {
        self.batches.lock().unwrap().clear();
        self.prepared.store(0, Relaxed);
    }
}

/// What a model gives for a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gives {
    /// How often each word of the file occurs.
    Counts,
    /// The word that occurs most; the first of equals.
    Label,
}

/// How models of a test behave.
#[derive(Debug, Clone)]
pub struct Habits {
    pub batch_rows: usize,
    pub held_bytes: usize,
    pub work_bytes_per_row: usize,
    pub ns_per_row: f64,
}

impl Default for Habits {
    fn default() -> Self {
        Self { batch_rows: 1024, held_bytes: 0, work_bytes_per_row: 0, ns_per_row: 1e6 }
    }
}

#[derive(Debug)]
struct Lexicon {
    gives: Gives,
    file: ModelFile,
    words: Vec<String>,
    habits: Habits,
    seen: Arc<Seen>,
}

impl Model for Lexicon {
    fn returns(&self) -> DataType {
        match self.gives {
            Gives::Counts => DataType::new_fixed_size_list(DataType::Float32, self.words.len() as i32, true),
            Gives::Label => DataType::Utf8,
        }
    }

    fn files(&self) -> Vec<ModelFile> {
        vec![self.file.clone()]
    }

    fn facts(&self, setting: &ModelSetting) -> ModelFacts {
        let title = format!("a lexicon of {} words", self.words.len());
        let facts = ModelFacts::on_cpu(title, Cost::ns_per_byte(0.0).and_ns_per_row(self.habits.ns_per_row));
        let rows = setting.batch_rows.unwrap_or(self.habits.batch_rows);
        let batch = ModelBatch { rows, ..ModelBatch::default() };
        ModelFacts { held_bytes: self.habits.held_bytes, batch, ..facts }
    }

    fn share_key(&self) -> Option<String> {
        Some(format!("lexicon {}", self.file.path))
    }

    fn prepare(&self, group: &[Arc<dyn Model>], _: &ModelSetting) -> Result<Arc<dyn PreparedModel>> {
        self.seen.prepared.fetch_add(1, Relaxed);
        let gives = group.iter().map(|model| (&**model as &dyn Any).downcast_ref::<Lexicon>().unwrap().gives).collect();
        let (words, seen) = (self.words.clone(), self.seen.clone());
        Ok(Arc::new(Counter { gives, words, seen, work_bytes_per_row: self.habits.work_bytes_per_row }))
    }
}

struct Counter {
    gives: Vec<Gives>,
    words: Vec<String>,
    seen: Arc<Seen>,
    work_bytes_per_row: usize,
}

impl PreparedModel for Counter {
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>> {
        self.seen.batches.lock().unwrap().push((rows.len(), self.gives.len()));
        let fails_after = self.seen.fails_after.load(Relaxed);
        if fails_after > 0 && self.seen.sizes().len() > fails_after {
            return Err(Error::Data("the lexicon burned down".into()));
        }
        let texts = rows.texts(0)?;
        let counts = |text: &str| -> Vec<f32> {
            self.words.iter().map(|word| text.split_whitespace().filter(|part| part == word).count() as f32).collect()
        };
        let counts: Vec<Vec<f32>> = texts.iter().map(|text| counts(text.expect("no nulls come here"))).collect();
        assert!(!texts.iter().flatten().any(|text| text.contains("PANIC")), "a document with PANIC in it");
        let refused = texts.iter().enumerate().filter(|(_, text)| text.is_some_and(|text| text.contains("REFUSE")));
        let refused: Vec<RejectedRow> =
            refused.map(|(row, _)| RejectedRow { row, reason: "it says REFUSE".into() }).collect();
        let column = |gives: &Gives| -> ArrayRef {
            match gives {
                Gives::Counts => Arc::new(FixedSizeListArray::new(
                    Arc::new(Field::new_list_field(DataType::Float32, true)),
                    self.words.len() as i32,
                    Arc::new(Float32Array::from_iter_values(counts.iter().flatten().copied())),
                    None,
                )),
                Gives::Label => {
                    let best = |counts: &Vec<f32>| {
                        let most = counts.iter().copied().fold(0.0, f32::max);
                        counts.iter().position(|count| *count == most).filter(|_| most > 0.0)
                    };
                    let labels = counts.iter().map(|counts| best(counts).map(|word| self.words[word].as_str()));
                    Arc::new(StringArray::from_iter(labels))
                }
            }
        };
        Ok(self.gives.iter().map(|gives| ModelColumn::of(column(gives)).rejecting(refused.clone())).collect())
    }

    fn work_bytes(&self, rows: &ModelRows) -> usize {
        rows.len() * self.work_bytes_per_row
    }
}

fn spec(name: &'static str, gives: Gives, habits: &Habits, seen: &Arc<Seen>) -> OpSpec {
    let (habits, seen) = (habits.clone(), seen.clone());
    let open = move |args: &Args| {
        seen.opened.fetch_add(1, Relaxed);
        let path = Path::new(args.text("path"));
        let file = ModelFile::of("words", path)?;
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::Data(format!("{}: {error}", path.display())))?;
        let words: Vec<String> = text.lines().map(str::to_string).collect();
        if words.is_empty() {
            return Err(Error::Data(format!("{}: a lexicon without a word", path.display())));
        }
        let (habits, seen) = (habits.clone(), seen.clone());
        Ok(Arc::new(Lexicon { gives, file, words, habits, seen }) as Arc<dyn Model>)
    };
    OpSpec {
        name,
        family: Family::Custom,
        summary: "words of a list that a document has",
        details: "",
        params: const { &[Param::text("text", "the document"), Param::text("path", "the list")] },
        returns: Returns::Opened("what the list says"),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(0.0),
        cpu: Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) }),
        gpu: Gpu::No("a test"),
    }
}

/// A session with `counts(text, path)` and `label(text, path)`, a list of words, and what came of them.
pub struct Bench {
    pub session: Session,
    pub seen: Arc<Seen>,
    habits: Habits,
    pub folder: tempfile::TempDir,
}

fn session(config: Config, habits: &Habits, seen: &Arc<Seen>) -> Session {
    let mut session = Session::new(config).unwrap();
    session.register(spec("counts", Gives::Counts, habits, seen)).unwrap();
    session.register(spec("label", Gives::Label, habits, seen)).unwrap();
    session
}

impl Bench {
    pub fn new(config: Config) -> Self {
        Self::with_habits(config, Habits::default())
    }

    pub fn with_habits(config: Config, habits: Habits) -> Self {
        let seen = Arc::new(Seen::default());
        let session = session(config, &habits, &seen);
        let bench = Self { session, seen, habits, folder: tempfile::tempdir().unwrap() };
        bench.write("words", "tree\nriver\n");
        bench
    }

    /// Another session on the same files.
    pub fn start_again(&mut self, config: Config) {
        self.session = session(config, &self.habits, &self.seen);
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A query in which `DIR` stands for the folder.
    pub fn text(&self, query: &str) -> SourceText {
        SourceText::new("query", query.replace("DIR", &self.folder.path().display().to_string()))
    }

    pub fn run(&mut self, query: &str) -> Result<Vec<Outcome>> {
        let text = self.text(query);
        block_on(run(&mut self.session, &text, Language::Cql))
    }

    fn plan(&mut self, query: &str) -> Plan {
        let script = self.session.parse(&self.text(query), Language::Cql).unwrap();
        match block_on(self.session.compile(&script, 0)).unwrap() {
            Compiled::Query(plan) => plan,
            other => panic!("{other:?}"),
        }
    }

    pub fn models(&mut self, query: &str) -> Vec<ModelUse> {
        let plan = self.plan(query);
        self.session.models(&plan)
    }

    /// The physical plan, with `DIR` for the folder.
    pub fn explained(&mut self, query: &str) -> String {
        let plan = self.plan(query);
        let text = block_on(self.session.explain(&plan, Stage::Physical, ExplainFormat::Tree)).unwrap();
        text.replace(&self.folder.path().display().to_string(), "DIR")
    }

    pub fn analyzed(&mut self, query: &str) -> String {
        let plan = self.plan(query);
        block_on(self.session.explain_analyze(&plan)).unwrap().0
    }

    pub fn rows(&mut self, query: &str) -> String {
        self.run(query).unwrap().last().unwrap().rows()
    }
}
