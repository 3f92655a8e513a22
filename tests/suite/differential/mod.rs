//! Random pipelines give the rows that a plain interpreter of the verbs gives, in the same order, in every way of
//! computing them: threads, batches, rules on and off, JSON Lines and Parquet, one file and several.
//!
//! `CURATOR_DIFFERENTIAL=20000` tries so many pipelines, `CURATOR_DIFFERENTIAL_SEED=7` begins at another one; see
//! `tests/differential.sh`. A failure names its seed: with that and one pipeline it is run alone. To see past known
//! failures, `CURATOR_DIFFERENTIAL_WITHOUT='DISTINCT ON,EXCEPT'` passes over pipelines with one of these words;
//! `CURATOR_DIFFERENTIAL_WITH` passes over those without.

mod checks;
mod columns;
mod data;
mod evaluate;
mod generate;
mod generate_exprs;
mod generate_subqueries;
mod interpret;
mod query;
mod render;
mod run;
mod shapes;
mod shapes_guarded;
mod shrink;
mod values;

use data::Table;
use generate::Generator;
use query::Pipeline;
use render::Places;
use run::{Found, Runner, Way};
use values::{Chance, Row};

/// Pipelines in an ordinary run of the tests.
const N_PIPELINES: u64 = 250;
/// After so many different failures the run ends (`CURATOR_DIFFERENTIAL_FAILURES`), with at most `MOST_ALIKE` of one
/// class.
const MOST_FAILURES: u64 = 20;
const MOST_ALIKE: usize = 5;
/// Runs that are spent on making one failure small.
const MOST_SHRINKING: usize = 400;

/// One pipeline over its tables, computed in one way.
#[derive(Clone)]
struct Case {
    seed: u64,
    tables: Vec<Table>,
    pipeline: Pipeline,
    way: Way,
}

#[test]
fn random_pipelines_give_the_rows_of_the_interpreter_in_every_way() {
    // Plans of many verbs are walked recursively, in debug builds with large frames.
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let report = thread.spawn(try_all).unwrap().join().unwrap();
    assert!(report.is_empty(), "{report}");
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// To see past a failure that is known, or to look closely at one: words that must not, and that must, be in a query.
fn is_asked_for(pipeline: &Pipeline) -> bool {
    let text = Places(&["t".to_string(), "t".to_string(), "t".to_string()]).pipeline(pipeline);
    let has_one_of =
        |variable: &str| std::env::var(variable).ok().map(|words| words.split(',').any(|word| text.contains(word)));
    has_one_of("CURATOR_DIFFERENTIAL_WITHOUT") != Some(true) && has_one_of("CURATOR_DIFFERENTIAL_WITH") != Some(false)
}

fn try_all() -> String {
    let first = number("CURATOR_DIFFERENTIAL_SEED", 1);
    let n_pipelines = number("CURATOR_DIFFERENTIAL", N_PIPELINES);
    let most_failures = number("CURATOR_DIFFERENTIAL_FAILURES", MOST_FAILURES) as usize;
    let is_long = n_pipelines > N_PIPELINES;
    let mut runner = Runner::new();
    let mut failures: Vec<Failure> = vec![];
    let mut n_failed = 0;
    let mut n_good = 0;
    for seed in first..first + n_pipelines {
        let mut chance = Chance::new(seed);
        let tables = data::tables(&mut chance);
        let pipeline = Generator::new(chance.clone(), &tables).pipeline();
        if interpret::pipeline(&tables, &pipeline).is_err() || !is_asked_for(&pipeline) {
            continue;
        }
        n_good += 1;
        for _ in 0..2 + chance.below(2) {
            let case = Case { seed, tables: tables.clone(), pipeline: pipeline.clone(), way: Way::random(&mut chance) };
            let Some(problem) = problem(&mut runner, &case) else { continue };
            n_failed += 1;
            let alike = failures.iter().filter(|failure| failure.class == problem.class).count();
            if alike < MOST_ALIKE {
                let (case, problem) = shrunk(&mut runner, case, problem);
                let verbs = verbs(&case.pipeline);
                let is_new = !failures.iter().any(|other| other.class == problem.class && other.verbs == verbs);
                if is_new {
                    let text = show(&case, &problem);
                    // A long run may be stopped: what it found so far is told at once.
                    if is_long {
                        println!("{text}");
                    }
                    failures.push(Failure { class: problem.class, verbs, text });
                }
            }
            break;
        }
        if failures.len() >= most_failures {
            break;
        }
        if is_long && n_good % 500 == 0 {
            println!("{n_good} pipelines, up to seed {seed}: {n_failed} failed");
        }
    }
    if failures.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = failures.into_iter().map(|failure| failure.text).collect();
    format!("{n_failed} of {n_good} pipelines failed; {} of them, made small:\n\n{}", texts.len(), texts.join("\n"))
}

/// A failure that was made small.
struct Failure {
    class: String,
    /// With the class, this tells one cause from another.
    verbs: Vec<String>,
    text: String,
}

/// The kinds of a pipeline's verbs.
fn verbs(pipeline: &Pipeline) -> Vec<String> {
    let kind = |verb: &query::Verb| format!("{verb:?}").split(|c: char| !c.is_alphabetic()).next().map(str::to_string);
    pipeline.verbs.iter().filter_map(kind).collect()
}

struct Problem {
    /// What failures of one cause have in common, as far as that can be seen.
    class: String,
    expected: Vec<Row>,
    found: Found,
}

/// What is wrong with what curator gives, if anything.
fn problem(runner: &mut Runner, case: &Case) -> Option<Problem> {
    let expected = interpret::pipeline(&case.tables, &case.pipeline).ok()?;
    let found = runner.run(&case.tables, &case.pipeline, &case.way);
    let class = match &found {
        Err(error) => {
            // Numbers and names differ from case to case.
            let line = error.lines().next().unwrap_or_default();
            line.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 3).take(9).collect::<Vec<_>>().join(" ")
        }
        Ok((names, _)) if !names.iter().eq(expected.columns.iter().map(|column| &column.name.name)) => {
            "names".to_string()
        }
        Ok((_, rows)) if *rows == expected.rows => return None,
        Ok((_, rows)) => {
            let (mut these, mut those) = (rows.clone(), expected.rows.clone());
            these.sort();
            those.sort();
            if these == those { "order".to_string() } else { "rows".to_string() }
        }
    };
    Some(Problem { class, expected: expected.rows, found })
}

/// A case as small as it gets that still fails in the same way, and how it does.
fn shrunk(runner: &mut Runner, mut case: Case, mut problem: Problem) -> (Case, Problem) {
    let mut n_runs = 0;
    'again: loop {
        for (tables, pipeline) in shrink::smaller(&case.tables, &case.pipeline) {
            let smaller = Case { tables, pipeline, ..case.clone() };
            if interpret::pipeline(&smaller.tables, &smaller.pipeline).is_err() {
                continue;
            }
            n_runs += 1;
            if n_runs > MOST_SHRINKING {
                return (case, problem);
            }
            if let Some(same) = self::problem(runner, &smaller).filter(|found| found.class == problem.class) {
                (case, problem) = (smaller, same);
                continue 'again;
            }
        }
        return (case, problem);
    }
}

/// All that is needed to see a failure again by hand.
fn show(case: &Case, problem: &Problem) -> String {
    let ending = if case.way.layout.parquet { "parquet" } else { "jsonl" };
    let places: Vec<String> = (0..case.tables.len()).map(|number| format!("'table{number}.{ending}'")).collect();
    let query = Places(&places).pipeline(&case.pipeline);
    let mut text = format!("---- seed {}, {:?}\n{query}\n", case.seed, case.way);
    for (table, place) in case.tables.iter().zip(&places).filter(|(_, place)| query.contains(*place)) {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.name.as_str()).collect();
        text += &format!("{place} ({}):\n{}", names.join(", "), table.json_lines(&table.rows));
    }
    let lines = |rows: &[Row]| -> String {
        let line = |row: &Row| row.iter().map(|value| value.literal()).collect::<Vec<_>>().join(" | ") + "\n";
        rows.iter().map(line).collect()
    };
    let found = match &problem.found {
        Err(error) => error.clone(),
        Ok((names, rows)) => format!("{}\n{}", names.join(" | "), lines(rows)),
    };
    text += &format!("expected:\n{}found ({}):\n{found}\n", lines(&problem.expected), problem.class);
    text
}
