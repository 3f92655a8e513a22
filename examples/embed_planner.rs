//! Plans a query that uses an operator of this program's own, and prints the plan at each stage. Nothing is run.
//!
//! ```text
//! cargo run --example embed_planner
//! ```
#![allow(clippy::print_stdout)]

use curator::diag::SourceText;
use curator::ops::{Cost, Cpu, Effects, Example, Family, Gpu, Literal, OpSpec, Param, Returns};
use curator::{Compiled, Config, ExplainFormat, Language, Session, Stage};

/// `mentions(text, what => 'curator')`: how often a word occurs. A spec is plain data; an operator that owns state (a
/// model, a large list) uses `Cpu::Batch` with a closure instead.
static MENTIONS: OpSpec = OpSpec {
    name: "mentions",
    family: Family::Custom,
    summary: "how often a word occurs",
    details: "",
    params: &[
        Param::text("text", "the document"),
        Param::text("what", "the word to look for").default(Literal::Text("curator")),
    ],
    returns: Returns::Int64,
    examples: &[Example::of("mentions('a b a', what => 'a')", "2")],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.2),
    cpu: Cpu::Int(|text, args| text.matches(args.text("what")).count() as i64),
    gpu: Gpu::No("a function of the embedding program"),
};

const QUERY: &str = "
LET english = FROM 'examples/data/*.jsonl*' |> WHERE coalesce(lang, 'en') = 'en';

FROM english
  |> WHERE words(text) > 50 AND mentions(text, what => 'river') > 0
  |> SELECT id, url, words(text) AS n_words
  |> ORDER BY n_words DESC
  |> LIMIT 10;
";

#[tokio::main]
async fn main() -> curator::Result<()> {
    let mut session = Session::new(Config::default())?;
    session.register(MENTIONS.clone())?;

    let script = session.parse(&SourceText::new("embed_planner", QUERY), Language::Cql)?;
    for index in 0..script.statements.len() {
        // Compiling reads the beginning of the files, to learn their columns. A `LET` has no plan of its own.
        let Compiled::Query(plan) = session.compile(&script, index).await? else { continue };
        for (name, stage) in
            [("logical", Stage::Logical), ("optimized", Stage::Optimized), ("physical", Stage::Physical)]
        {
            println!("-- {name}\n{}", session.explain(&plan, stage, ExplainFormat::Tree).await?);
        }
    }
    Ok(())
}
