//! An operator that holds something, of this program's own: the standing of a page's site, from a table in a file.
//!
//! ```text
//! cargo run --example own_model
//! ```
//! The table is looked at when the query is bound, so that a wrong one is a mistake in the query; it is loaded when the first page
//! comes, once for all threads, and then asked about many pages at once. A page without a site is set aside.
#![allow(clippy::print_stdout)]

use arrow::array::{ArrayRef, Float32Array};
use arrow::datatypes::DataType;
use curator::diag::SourceText;
use curator::ops::{
    Args, Cost, Cpu, Effects, Family, Gpu, Model, ModelCode, ModelColumn, ModelFacts, ModelFile, ModelRows,
    ModelSetting, OpSpec, Param, PreparedModel, RejectedRow, Returns,
};
use curator::{Compiled, Config, Error, Language, Result, Session};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `site_standing(url, 'table.tsv')`: a number for each site of the table, 0 for others.
pub fn site_standing() -> OpSpec {
    OpSpec {
        name: "site_standing",
        family: Family::Custom,
        summary: "the standing of the page's site in a table",
        details: "",
        params: const { &[Param::text("url", "the page's address"), Param::text("table", "site, tab, number")] },
        returns: Returns::Opened("FLOAT"),
        examples: &[],
        effects: Effects::PURE,
        // What counts is in `ModelFacts`.
        cost: Cost::ns_per_byte(0.0),
        cpu: Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) }),
        gpu: Gpu::No("a table of the embedding program"),
    }
}

/// The table, looked at.
#[derive(Debug)]
struct Table {
    path: PathBuf,
    file: ModelFile,
}

fn open(args: &Args) -> Result<Arc<dyn Model>> {
    let path = PathBuf::from(args.text("table"));
    let file = ModelFile::of("table", &path)?;
    Ok(Arc::new(Table { path, file }))
}

impl Model for Table {
    fn returns(&self) -> DataType {
        DataType::Float32
    }

    fn files(&self) -> Vec<ModelFile> {
        vec![self.file.clone()]
    }

    fn facts(&self, _: &ModelSetting) -> ModelFacts {
        let cost = Cost::ns_per_byte(0.5).and_ns_per_row(100.0);
        // Twice the file, for the strings and the hash table.
        let held_bytes = 2 * self.file.n_bytes as usize;
        ModelFacts { held_bytes, ..ModelFacts::on_cpu(format!("a table of {} bytes", self.file.n_bytes), cost) }
    }

    fn prepare(&self, _: &[Arc<dyn Model>], _: &ModelSetting) -> Result<Arc<dyn PreparedModel>> {
        Ok(Arc::new(Sites { standing: read(&self.path)? }))
    }
}

/// The table, loaded.
struct Sites {
    standing: HashMap<String, f32>,
}

fn read(path: &Path) -> Result<HashMap<String, f32>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
    let row = |(number, line): (usize, &str)| {
        let cells = line.split_once('\t').and_then(|(site, standing)| Some((site.to_string(), standing.parse().ok()?)));
        cells.ok_or_else(|| Error::Data(format!("{}:{}: not a site, a tab and a number", path.display(), number + 1)))
    };
    text.lines().enumerate().map(row).collect()
}

impl PreparedModel for Sites {
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>> {
        let sites: Vec<Option<&str>> = rows.texts(0)?.iter().map(|url| url.and_then(site)).collect();
        let standing = |site: &Option<&str>| site.map(|site| self.standing.get(site).copied().unwrap_or(0.0));
        let values: ArrayRef = Arc::new(sites.iter().map(standing).collect::<Float32Array>());
        let without = sites.iter().enumerate().filter(|(_, site)| site.is_none());
        let rejected = without.map(|(row, _)| RejectedRow { row, reason: "its address has no site".to_string() });
        Ok(vec![ModelColumn::of(values).rejecting(rejected.collect())])
    }
}

/// `example.org` of `https://example.org/a/b`.
fn site(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split('/').next().filter(|site| !site.is_empty())
}

/// Asks which pages come from a site of good standing.
#[tokio::main]
pub async fn main() -> Result<()> {
    let folder = std::env::temp_dir().join("curator-own-model");
    std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, error))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| Error::io(&path, error))?;
        Ok::<_, Error>(path.display().to_string())
    };
    let table = write("sites.tsv", "example.org\t0.9\nspam.example\t0.1\n")?;
    let pages = write(
        "pages.jsonl",
        "{\"url\":\"https://example.org/a\"}\n{\"url\":\"https://spam.example/b\"}\n{\"url\":\"nowhere\"}\n",
    )?;
    let query = format!("FROM '{pages}' |> WHERE site_standing(url, '{table}') > 0.5 |> SELECT url");

    let mut session = Session::new(Config::default())?;
    session.register(site_standing())?;
    let script = session.parse(&SourceText::new("own_model", query), Language::Cql)?;
    let Compiled::Query(plan) = session.compile(&script, 0).await? else { return Ok(()) };
    for model in session.models(&plan) {
        println!("{}: {}", model.call, model.facts.title);
    }
    let mut run = session.execute(&plan).await?;
    let mut n_pages = 0;
    while let Some(batch) = run.next().await {
        n_pages += batch?.num_rows();
    }
    println!("{n_pages} page kept; set aside: {:?}", run.report().rejected_examples);
    Ok(())
}
