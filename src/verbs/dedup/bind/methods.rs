//! What each method of `DEDUP` takes: how many expressions of which type, which options with which defaults.

use super::asked::{Asked, Keyed};
use super::hash::{dedup_hash, has_key};
use super::options::{Options, between, boolean, fraction, link, positive, semantic_link, span_length, which, whole};
use crate::Error;
use crate::config::parse_bytes;
use crate::dedup::{
    Exact, Fuzzy, KeepWhich, Lines, LinesUnit, Link, Method, Semantic, SemanticKeep, SemanticLink, SpanLength,
    Substring,
};
use crate::diag::{Code, Diagnostic};
use crate::logical::{gpu_share, type_name};
use crate::ops::dedup::{HashFamily, Normalize, Shingle, ShingleUnit, bands_and_rows};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::planner::ContextProvider;
use datafusion::logical_expr::{Expr, ExprSchemable, cast, lit};
use std::sync::Arc;

/// A column that there is, or one that has to be computed.
pub(in crate::verbs) enum Part {
    There(Column),
    Computed(Expr),
}

/// A method with what it reads.
pub(in crate::verbs) struct Bound {
    pub method: Method,
    pub key: Option<Part>,
    pub value: Option<Part>,
    pub compared: Vec<Column>,
}

/// Binds what comes after `DEDUP`: the method's own options, and what is after `ON`.
pub(in crate::verbs) fn bind_method(
    asked: &Asked,
    options: &mut Options,
    schema: &DFSchema,
    functions: &dyn ContextProvider,
) -> Result<Bound> {
    use crate::verbs::dedup::read::DedupMethod::{Exact, Fuzzy, Lines, Paragraphs, Semantic, Sentences, Substring};
    match asked.method {
        Exact => exact(asked, options, schema),
        Fuzzy => fuzzy(asked, options, schema, functions),
        Lines => lines(asked, options, schema, LinesUnit::Line),
        Paragraphs => lines(asked, options, schema, LinesUnit::Paragraph),
        Sentences => lines(asked, options, schema, LinesUnit::Sentence),
        Substring => substring(asked, options, schema),
        Semantic => semantic(asked, options, schema),
    }
}

fn exact(asked: &Asked, options: &mut Options, schema: &DFSchema) -> Result<Bound> {
    let verify = options.setting("verify", false, boolean);
    refuse_verify_with_index(asked, options, verify, "hashes and no values");
    let mut n_texts = 0;
    for key in &asked.on {
        let kind = key.expr.get_type(schema)?;
        n_texts += usize::from(is_text(&kind));
        if !has_key(&kind) {
            let message = format!("DEDUP EXACT cannot compare what is {}", type_name(&kind));
            options.problems.push(key.place.error(Code::Type, message));
        }
    }
    let one_text = if let [one] = asked.on.as_slice() { Some(one).filter(|_| n_texts == 1) } else { None };
    if verify && one_text.is_none() {
        options.refuse("verify", "texts are compared: it needs one text after ON");
    }
    let value = one_text.and_then(|one| match &one.expr {
        Expr::Column(column) => Some(Part::There(column.clone())),
        computed => verify.then(|| Part::Computed(computed.clone())),
    });
    let columns: Option<Vec<Column>> = asked.on.iter().map(|key| key.expr.try_as_col().cloned()).collect();
    let values = asked.on.iter().map(|key| key.expr.clone()).collect();
    Ok(Bound {
        method: Method::Exact(Exact { verify }),
        key: Some(Part::Computed(dedup_hash().call(values))),
        value,
        compared: columns.unwrap_or_default(),
    })
}

/// What a hash family sets unless the query says otherwise: each reproduces the tool it is named after.
struct Family {
    shingle: Shingle,
    normalize: Normalize,
    bands: u32,
    rows: u32,
    seed: u64,
    verify: bool,
    link: Link,
}

fn family(hash: HashFamily) -> Family {
    let words = Shingle { unit: ShingleUnit::Words, n: 5 };
    let chars = Shingle { unit: ShingleUnit::Chars, n: 24 };
    match hash {
        HashFamily::Native => Family {
            shingle: words,
            normalize: Normalize::Words,
            bands: 14,
            rows: 8,
            seed: 1,
            verify: true,
            link: Link::Kept,
        },
        HashFamily::Nemo => Family {
            shingle: chars,
            normalize: Normalize::None,
            bands: 20,
            rows: 13,
            seed: 42,
            verify: false,
            link: Link::Component,
        },
        HashFamily::Datatrove => Family {
            shingle: words,
            normalize: Normalize::Datatrove,
            bands: 14,
            rows: 8,
            seed: 1,
            verify: false,
            link: Link::Component,
        },
    }
}

/// The operator that gives the fingerprints of a text's bands.
const BANDS_OPERATOR: &str = "minhash_bands";
/// The threshold that is meant where none is given.
const THRESHOLD: f64 = 0.8;
/// Hashes of a signature, where bands and rows are to be chosen and their number is not said.
const PERMUTATIONS: u32 = 112;
/// What the operator takes.
const MOST_BANDS: u32 = 1024;
const MOST_ROWS: u32 = 256;
/// More hashes than this make no better choice of bands and rows, and looking through them all takes long.
const MOST_CHOSEN_FROM: u32 = 4096;

fn fuzzy(asked: &Asked, options: &mut Options, schema: &DFSchema, functions: &dyn ContextProvider) -> Result<Bound> {
    let text = only_text(asked, options, schema)?;
    let hash = options.setting("hash", HashFamily::Native, str::parse);
    let defaults = family(hash);
    let chosen = options.has("threshold") || options.has("permutations");
    let threshold = options.setting("threshold", THRESHOLD, fraction);
    let permutations = options.value("permutations", between(1, MOST_BANDS * MOST_ROWS));
    if let Some(permutations) = &permutations {
        options.show("permutations", permutations, &PERMUTATIONS);
    }
    let bands = options.value("bands", between(1, MOST_BANDS));
    let rows = options.value("rows", between(1, MOST_ROWS));
    let (bands, rows) = match (bands, rows) {
        (Some(bands), Some(rows)) => {
            let n_hashes = u64::from(bands) * u64::from(rows);
            if let Some(most) = permutations.filter(|most| n_hashes > u64::from(*most)) {
                options.refuse("bands", format!("{bands} bands of {rows} need {n_hashes} permutations, not {most}"));
            }
            (bands, rows)
        }
        (Some(bands), None) => {
            options.refuse("bands", "bands and rows go together: give `rows` too, or `threshold` alone");
            (bands, defaults.rows)
        }
        (None, Some(rows)) => {
            options.refuse("rows", "bands and rows go together: give `bands` too, or `threshold` alone");
            (defaults.bands, rows)
        }
        (None, None) if chosen => {
            let permutations = permutations.unwrap_or(PERMUTATIONS);
            let (bands, rows) = bands_and_rows(threshold, permutations.min(MOST_CHOSEN_FROM));
            (bands.min(MOST_BANDS), rows.min(MOST_ROWS))
        }
        (None, None) => (defaults.bands, defaults.rows),
    };
    if options.has("bands") {
        options.show("bands", &bands, &defaults.bands);
        options.show("rows", &rows, &defaults.rows);
    }
    let shingle = options.setting("shingle", defaults.shingle, str::parse);
    let normalize = options.setting("normalize", defaults.normalize, str::parse);
    let seed = options.setting("seed", defaults.seed, between(0, u64::from(u32::MAX)));
    let verify = options.setting("verify", defaults.verify && asked.against.is_none(), boolean);
    refuse_verify_with_index(asked, options, verify, "fingerprints and no texts");
    let link = fuzzy_link(asked, options, defaults.link);
    let operator = functions
        .get_function_meta(BANDS_OPERATOR)
        .ok_or_else(|| crate::bug!("DEDUP FUZZY needs the operator {BANDS_OPERATOR}"))?;
    let arguments = vec![
        text.clone(),
        lit(i64::from(bands)),
        lit(i64::from(rows)),
        lit(shingle.to_string()),
        lit(normalize.to_string()),
        lit(hash.to_string()),
        lit(seed as i64),
    ];
    let value = match &text {
        Expr::Column(column) => Some(Part::There(column.clone())),
        _ => verify.then_some(Part::Computed(text)),
    };
    let method = Method::Fuzzy(Fuzzy { bands, rows, threshold, shingle, normalize, hash, seed, verify, link });
    Ok(Bound { method, key: Some(Part::Computed(operator.call(arguments))), value, compared: vec![] })
}

/// Where nobody stays there is nobody to be similar to: every document that has a duplicate goes, and duplicates are
/// told by what hangs together.
fn fuzzy_link(asked: &Asked, options: &mut Options, default: Link) -> Link {
    if asked.keep.as_ref().is_none_or(|keep| keep.which != KeepWhich::None) {
        return options.setting("link", default, link);
    }
    if options.value("link", link) == Some(Link::Kept) {
        options.refuse("link", "with KEEP NONE no document stays that others could be similar to");
    }
    Link::Component
}

fn lines(asked: &Asked, options: &mut Options, schema: &DFSchema, unit: LinesUnit) -> Result<Bound> {
    let column = only_text_column(asked, options, schema)?;
    // Sentences as datatrove has them: three in a row, and little is left of a document that loses most of them.
    let (span, normalize, words, units) = match unit {
        LinesUnit::Line | LinesUnit::Paragraph => (1, Normalize::None, 0, 0),
        LinesUnit::Sentence => (3, Normalize::Datatrove, 50, 3),
    };
    let lines = Lines {
        unit,
        span: options.setting("span", span, whole(1)),
        min_words: options.setting("min_words", 0, whole(0)),
        normalize: options.setting("normalize", normalize, str::parse),
        min_document_words: options.setting("min_document_words", words, whole(0)),
        min_document_units: options.setting("min_document_units", units, whole(0)),
    };
    keeps_first_or_none(asked, options);
    Ok(Bound { method: Method::Lines(lines), key: None, value: column.map(Part::There), compared: vec![] })
}

fn substring(asked: &Asked, options: &mut Options, schema: &DFSchema) -> Result<Bound> {
    let column = only_text_column(asked, options, schema)?;
    let substring = Substring {
        min_length: options.setting("min_length", SpanLength::Bytes(100), span_length),
        min_document_words: options.setting("min_document_words", 0, whole(0)),
    };
    keeps_first_or_none(asked, options);
    Ok(Bound { method: Method::Substring(substring), key: None, value: column.map(Part::There), compared: vec![] })
}

fn semantic(asked: &Asked, options: &mut Options, schema: &DFSchema) -> Result<Bound> {
    let vector = only(asked, options)?;
    let kind = vector.expr.get_type(schema)?;
    if !is_vector(&kind) {
        let message = format!("DEDUP SEMANTIC needs a list of numbers, this is {}", type_name(&kind));
        options.problems.push(vector.place.error(Code::Type, message));
        return Err(refused(options));
    }
    const CLOSE: f64 = 0.99;
    let eps = options.value("eps", fraction);
    if options.has("threshold") && options.has("eps") {
        options.refuse("eps", "`threshold` is 1 - eps: give one of the two");
    }
    let threshold = match eps {
        Some(eps) => {
            // In decimals, so that 1 - 0.01 is what one would write.
            let threshold = ((1.0 - eps) * 1e12).round() / 1e12;
            options.show("threshold", &threshold, &CLOSE);
            threshold
        }
        None => options.setting("threshold", CLOSE, fraction),
    };
    let semantic = Semantic {
        threshold,
        clusters: options.setting("clusters", 100, whole(1)),
        iterations: options.setting("iterations", 300, whole(1)),
        tolerance: options.setting("tolerance", 1e-4, positive),
        seed: options.setting("seed", 42, whole(0)),
        sample: options.setting("sample", 1_000_000, whole(1)),
        which: options.setting("which", SemanticKeep::Hard, which),
        link: options.setting("link", SemanticLink::Any, semantic_link),
        gpus: options.value("gpus", gpu_share),
        gpu_memory_bytes: options.value("gpu_memory", parse_bytes).map(|bytes| bytes as u64),
    };
    if let Some(keep) = &asked.keep {
        let by_centre = keep.by.is_empty() && keep.which == KeepWhich::Any && !keep.per.is_empty();
        if options.has("which") && !by_centre {
            options.refuse("which", "KEEP … BY ranks the rows already: give one of the two");
        }
        if keep.which == KeepWhich::None || (keep.by.is_empty() && !by_centre) {
            let message = "DEDUP SEMANTIC takes KEEP only with BY, or KEEP ANY PER";
            options.problems.push(
                keep.place
                    .error(Code::Unsupported, message)
                    .help("without KEEP, rows are ranked by their distance from the centre of their cluster (`which`)"),
            );
        }
    }
    let wanted = DataType::List(Arc::new(Field::new_list_field(DataType::Float32, true)));
    let key = match &vector.expr {
        Expr::Column(column) if kind == wanted => Part::There(column.clone()),
        expr if kind == wanted => Part::Computed(expr.clone()),
        expr => Part::Computed(cast(expr.clone(), wanted)),
    };
    Ok(Bound { method: Method::Semantic(semantic), key: Some(key), value: None, compared: vec![] })
}

fn refuse_verify_with_index(asked: &Asked, options: &mut Options, verify: bool, held: &str) {
    if verify && asked.against.is_some() {
        options.refuse("verify", format!("an index holds {held} to compare with"));
    }
}

/// What cuts texts goes through them in input order.
fn keeps_first_or_none(asked: &Asked, options: &mut Options) {
    let Some(keep) = &asked.keep else { return };
    if keep.which == KeepWhich::Last || !keep.by.is_empty() || !keep.per.is_empty() {
        let name = asked.method.name();
        let message = format!("DEDUP {name} takes KEEP FIRST or KEEP NONE");
        let problem = keep.place.error(Code::Unsupported, message);
        options.problems.push(problem.help("ORDER BY before it to choose what comes first"));
    }
}

fn only<'a>(asked: &'a Asked, options: &mut Options) -> Result<&'a Keyed> {
    match asked.on.as_slice() {
        [one] => Ok(one),
        [] => {
            let name = asked.method.name();
            options.problems.push(asked.place.error(Code::Arguments, format!("DEDUP {name} compares nothing")));
            Err(refused(options))
        }
        [_, second, ..] => {
            let message = format!("DEDUP {} takes one expression after ON", asked.method.name());
            options.problems.push(second.place.error(Code::Arguments, message).at("the second"));
            Err(refused(options))
        }
    }
}

fn only_text(asked: &Asked, options: &mut Options, schema: &DFSchema) -> Result<Expr> {
    let text = only(asked, options)?;
    let kind = text.expr.get_type(schema)?;
    if is_text(&kind) {
        return Ok(text.expr.clone());
    }
    let message = format!("DEDUP {} needs a text, this is {}", asked.method.name(), type_name(&kind));
    options.problems.push(text.place.error(Code::Type, message));
    Err(refused(options))
}

/// The text is rewritten, so it must be a column.
fn only_text_column(asked: &Asked, options: &mut Options, schema: &DFSchema) -> Result<Option<Column>> {
    let text = only_text(asked, options, schema)?;
    if let Expr::Column(column) = text {
        return Ok(Some(column));
    }
    let message = format!("DEDUP {} rewrites its text, so it takes a column", asked.method.name());
    options.problems.extend(asked.on.first().map(|key| {
        let problem: Diagnostic = key.place.error(Code::Unsupported, message);
        problem.help("SET or EXTEND with the expression first")
    }));
    Ok(None)
}

/// All that was found to be wrong so far, as one error.
pub(in crate::verbs) fn refused(options: &mut Options) -> datafusion::error::DataFusionError {
    Error::Query(std::mem::take(&mut options.problems)).into()
}

pub(in crate::verbs) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, value) => value.is_string(),
        kind => kind.is_string(),
    }
}

fn is_vector(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type().is_numeric()
        }
        _ => false,
    }
}
