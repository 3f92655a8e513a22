//! Several statistics of the same documents, computed together.
//!
//! ```text
//! document ──read──► Doc ──► words = 12, is ≥ 50? no: stop            columns: words 12, stop_words ·, alpha_ratio ·
//!                        ──► words = 80, is ≥ 50? yes ──► stop_words = 9, is ≥ 2? yes ──► alpha_ratio = 0.8
//! ```
//! A document is taken apart once. If it is known which values rules will keep ([`Gate`]), a statistic that is expensive even
//! then is not computed for a document that an earlier rule drops. And if nobody wants to know more of a value than
//! whether it is below a limit, a bound that is below the limit will do ([`Bound`](super::Bound)).
//!
//! Invariant: a column for each statistic, with a row for each document. A null document gives null, and so does one whose
//! value was not computed; the column says which those are, so that who reads one finds out. A statistic that reads
//! a part of a document which it does not declare ends in an internal error, never in a value.

use super::doc::{Doc, Needs};
use super::evaluate::{Texts, fault};
use super::spec::{Bound, Cpu, OpSpec, Statistic, StatisticValue};
use super::value::Args;
use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, Float64Array, Int64Array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use std::sync::Arc;

/// Places in a document are counted in 32 bits, with some room for what is padded.
const LONGEST_BYTES: usize = u32::MAX as usize - 64;

/// What the value of a statistic must be for the others to be worth computing: a rule will drop the document otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// The place of the statistic among the calls.
    pub statistic: usize,
    /// What values it lets pass.
    pub range: Range,
    /// Whether nobody but this gate reads the value, so that any other on the same side of its limits will do.
    pub is_only_reader: bool,
}

/// The values that a rule may keep. What lies outside is dropped for certain, what lies inside is kept; at the limits the
/// rule decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The least; true counts as 1, false as 0.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Range {
    fn has(self, value: f64) -> bool {
        // What cannot be compared is left to the rule.
        !(value < self.least || value > self.most)
    }

    /// Whether all values up to `bound` are kept, also by a rule that does not keep its limit.
    fn has_all_up_to(self, bound: f64) -> bool {
        self.least == f64::NEG_INFINITY && bound < self.most
    }
}

/// The values of one statistic.
#[derive(Debug, Clone)]
pub struct StatisticColumn {
    /// One for each document; null for null documents and where none was computed.
    pub values: ArrayRef,
    /// The documents of which none was computed, because a gate stopped them before; `None` if there are none. Nobody
    /// may read these values: they are not NULL, they are not known.
    pub skipped: Option<BooleanBuffer>,
}

/// Several statistics of the same documents: each document is taken apart once. Gives a column for each statistic,
/// with a row for each of `rows`, or for every document if `None`.
///
/// `gates` are tried in order. Of a document that one of them stops, the statistics that no gate before it asked for are
/// skipped. A statistic that only its gate reads may hold a bound.
pub fn evaluate_statistics(
    calls: &[(&OpSpec, &Args)],
    documents: &ArrayRef,
    rows: Option<&[u32]>,
    gates: &[Gate],
) -> Result<Vec<StatisticColumn>> {
    let Some((first, _)) = calls.first() else { return Ok(vec![]) };
    let texts = Texts::of(first, documents)?;
    let n_rows = rows.map_or(documents.len(), <[u32]>::len);
    let mut columns =
        calls.iter().map(|(spec, args)| ColumnBuilder::new(spec, args, n_rows)).collect::<Result<Vec<_>>>()?;
    let nulls = documents.logical_nulls().map(|nulls| match rows {
        None => nulls,
        Some(rows) => {
            NullBuffer::new(BooleanBuffer::collect_bool(n_rows, |place| nulls.is_valid(rows[place] as usize)))
        }
    });
    let needs = bound_where_it_will_do(&mut columns, gates);
    let mut doc = Doc::new();
    for place in 0..n_rows {
        let row = rows.map_or(place, |rows| rows[place] as usize);
        let Some(text) = texts.get(row) else {
            columns.iter_mut().for_each(ColumnBuilder::push_null);
            continue;
        };
        if text.len() > LONGEST_BYTES {
            return Err(fault(first, "a document of 4 GiB or more; cut it before"));
        }
        doc.read(text, needs);
        let mut passes = true;
        for gate in gates {
            passes = gate.range.has(columns[gate.statistic].value(&mut doc, place, gate.range)?);
            if !passes {
                break;
            }
        }
        for column in columns.iter_mut().filter(|column| column.len() == place) {
            if passes { column.push(&doc)? } else { column.skip() }
        }
    }
    Ok(columns.into_iter().map(|column| column.finish(nulls.as_ref())).collect())
}

/// Lets statistics begin with their bounds whose gates ask for no more. Gives the parts to take every document apart
/// into.
fn bound_where_it_will_do(columns: &mut [ColumnBuilder], gates: &[Gate]) -> Needs {
    for gate in gates.iter().filter(|gate| gate.is_only_reader) {
        let column = &mut columns[gate.statistic];
        column.bound = column.statistic.bound;
    }
    // What is found in any case need not be bounded.
    let in_any_case = columns.iter().filter(|column| column.bound.is_none());
    let needs = in_any_case.fold(Needs::TEXT, |needs, column| needs.and(column.needs()));
    for column in columns.iter_mut().filter(|column| needs.has_walks_of(column.needs())) {
        column.bound = None;
    }
    // If one bound will not do, the other statistics that are found together with this one are, too.
    let bounded: Vec<Needs> =
        columns.iter().filter(|column| column.bound.is_some()).map(ColumnBuilder::needs).collect();
    for column in &mut *columns {
        let of_one_walk = bounded.iter().filter(|other| other.has_walks_of(column.needs()));
        column.found_together = of_one_walk.fold(column.needs(), |needs, other| needs.and(*other));
    }
    let first = |column: &ColumnBuilder| match column.bound {
        Some(bound) => (bound.needs)(column.args).and(column.needs().without_grams()),
        None => column.needs(),
    };
    columns.iter().fold(Needs::TEXT, |needs, column| needs.and(first(column)))
}

/// The values of one statistic so far, with a neutral one where none is known.
struct ColumnBuilder<'a> {
    name: &'static str,
    statistic: Statistic,
    args: &'a Args,
    /// What is asked first, if that may do; and what must be found if it does not.
    bound: Option<Bound>,
    found_together: Needs,
    values: StatisticValues,
    /// The places whose value was not computed, ascending.
    skipped: Vec<usize>,
}

enum StatisticValues {
    Int(fn(&Doc, &Args) -> i64, Vec<i64>),
    Float(fn(&Doc, &Args) -> f64, Vec<f64>),
    Bool(fn(&Doc, &Args) -> bool, BooleanBufferBuilder),
}

impl<'a> ColumnBuilder<'a> {
    fn new(spec: &OpSpec, args: &'a Args, n_rows: usize) -> Result<Self> {
        let Cpu::Statistic(statistic) = spec.cpu else { return Err(bug!("`{}` is no statistic", spec.name)) };
        let values = match statistic.value {
            StatisticValue::Int(of) => StatisticValues::Int(of, Vec::with_capacity(n_rows)),
            StatisticValue::Float(of) => StatisticValues::Float(of, Vec::with_capacity(n_rows)),
            StatisticValue::Bool(of) => StatisticValues::Bool(of, BooleanBufferBuilder::new(n_rows)),
        };
        let found_together = Needs::TEXT;
        Ok(Self { name: spec.name, statistic, args, bound: None, found_together, values, skipped: vec![] })
    }

    fn needs(&self) -> Needs {
        (self.statistic.needs)(self.args)
    }

    /// How many documents it has a value for.
    fn len(&self) -> usize {
        match &self.values {
            StatisticValues::Int(_, values) => values.len(),
            StatisticValues::Float(_, values) => values.len(),
            StatisticValues::Bool(_, values) => values.len(),
        }
    }

    /// The value of the document at `place`, the last one, as a number; computed if it was not yet. A bound instead if that
    /// is in the range.
    fn value(&mut self, doc: &mut Doc, place: usize, range: Range) -> Result<f64> {
        if self.len() == place && !self.push_bound(doc, range)? {
            self.push(doc)?;
        }
        Ok(match &self.values {
            StatisticValues::Int(_, values) => values[place] as f64,
            StatisticValues::Float(_, values) => values[place],
            StatisticValues::Bool(_, values) => f64::from(u8::from(values.get_bit(place))),
        })
    }

    /// Writes down the bound if it is in the range. If it is not, what the value is read off is found.
    fn push_bound(&mut self, doc: &mut Doc, range: Range) -> Result<bool> {
        let (Some(bound), StatisticValues::Float(_, values)) = (self.bound, &mut self.values) else { return Ok(false) };
        let at_most = (bound.at_most)(doc, self.args);
        if range.has_all_up_to(at_most) {
            values.push(at_most);
            self.check_declared(doc)?;
            return Ok(true);
        }
        self.check_declared(doc)?;
        doc.read_grams(self.found_together);
        Ok(false)
    }

    fn push(&mut self, doc: &Doc) -> Result<()> {
        match &mut self.values {
            StatisticValues::Int(of, values) => values.push(of(doc, self.args)),
            StatisticValues::Float(of, values) => values.push(of(doc, self.args)),
            StatisticValues::Bool(of, values) => values.append(of(doc, self.args)),
        }
        self.check_declared(doc)
    }

    /// A part that was not asked for holds nothing, or what an earlier document left there.
    #[inline]
    fn check_declared(&self, doc: &Doc) -> Result<()> {
        match doc.undeclared() {
            None => Ok(()),
            Some(part) => Err(bug!("statistic `{}` reads {part} of a document and does not declare it", self.name)),
        }
    }

    fn skip(&mut self) {
        self.skipped.push(self.len());
        self.push_null();
    }

    fn push_null(&mut self) {
        match &mut self.values {
            StatisticValues::Int(_, values) => values.push(0),
            StatisticValues::Float(_, values) => values.push(0.0),
            StatisticValues::Bool(_, values) => values.append(false),
        }
    }

    /// `nulls` are those of the documents.
    fn finish(self, nulls: Option<&NullBuffer>) -> StatisticColumn {
        let skipped = (!self.skipped.is_empty()).then(|| {
            let mut skipped = BooleanBufferBuilder::new(self.len());
            skipped.append_n(self.len(), false);
            self.skipped.iter().for_each(|place| skipped.set_bit(*place, true));
            skipped.build()
        });
        let known = skipped.as_ref().map(|skipped| NullBuffer::new(!skipped));
        let nulls = NullBuffer::union(nulls, known.as_ref());
        let values: ArrayRef = match self.values {
            StatisticValues::Int(_, values) => Arc::new(Int64Array::new(values.into(), nulls)),
            StatisticValues::Float(_, values) => Arc::new(Float64Array::new(values.into(), nulls)),
            StatisticValues::Bool(_, values) => Arc::new(BooleanArray::new(values.build(), nulls)),
        };
        StatisticColumn { values, skipped }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ops::{Registry, Value};
    use arrow::array::{AsArray, StringArray};
    use arrow::datatypes::{Float64Type, Int64Type};
    use proptest::prelude::*;

    #[test]
    fn what_comes_after_a_closed_gate_is_not_computed() {
        let registry = Registry::builtin();
        let call = |name: &str| {
            let spec = Arc::clone(registry.find(name).unwrap());
            let args = Args::new(&spec, vec![]).unwrap();
            (spec, args)
        };
        let calls = ["alpha_ratio", "words", "chars"].map(call);
        let calls: Vec<(&OpSpec, &Args)> = calls.iter().map(|(spec, args)| (spec.as_ref(), args)).collect();
        let documents: ArrayRef =
            Arc::new(StringArray::from(vec![Some("one two"), Some("one"), None, Some("1 2 3"), Some("a b c d")]));
        let at_least =
            |statistic, least| Gate { statistic, range: Range { least, most: f64::INFINITY }, is_only_reader: false };
        let at_most = |statistic, most| Gate {
            statistic,
            range: Range { least: f64::NEG_INFINITY, most },
            is_only_reader: false,
        };
        // Words are asked about twice; the gate between must not see a document that the first one stops.
        let gates = [at_least(1, 2.0), at_least(0, 0.5), at_most(1, 3.0)];
        let columns = evaluate_statistics(&calls, &documents, None, &gates).unwrap();
        let whole = |at: usize| columns[at].values.as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
        let skipped = |at: usize| columns[at].skipped.as_ref().map(|skipped| skipped.set_indices().collect::<Vec<_>>());
        assert_eq!(whole(1), [Some(2), Some(1), None, Some(3), Some(4)]);
        assert_eq!(skipped(1), None);
        // What was not computed is null, and not mistaken for the value of a null document.
        let ratios: Vec<_> = columns[0].values.as_primitive::<Float64Type>().iter().collect();
        assert_eq!(ratios, [Some(6.0 / 7.0), None, None, Some(0.0), Some(4.0 / 7.0)]);
        assert_eq!(skipped(0), Some(vec![1]));
        assert_eq!(whole(2), [Some(7), None, None, None, None]);
        assert_eq!(skipped(2), Some(vec![1, 3, 4]));
        // The same without gates, for some of the rows.
        let columns = evaluate_statistics(&calls, &documents, Some(&[1, 2, 4]), &[]).unwrap();
        let chars: Vec<_> = columns[2].values.as_primitive::<Int64Type>().iter().collect();
        assert_eq!(chars, [Some(3), None, Some(7)]);
    }

    type Measure = fn(&Doc, &Args) -> f64;

    /// A statistic of its own, which says that it reads nothing but the text.
    fn declaring_nothing(value: Measure) -> OpSpec {
        let spec = Arc::clone(Registry::builtin().find("alpha_ratio").unwrap());
        OpSpec { name: "careless", cpu: Cpu::measure(|_| Needs::TEXT, value), ..(*spec).clone() }
    }

    #[test]
    fn a_statistic_that_reads_what_it_does_not_declare_is_an_internal_error() {
        let reads: [(Measure, &str); 6] = [
            (|doc, _| doc.chars().n_chars as f64, "chars"),
            (|doc, _| doc.words().n_chars as f64, "words"),
            (|doc, _| doc.n_chars() as f64, "the number of characters"),
            (|doc, _| doc.grams().chars(0, 3) as f64, "n-grams (Words)"),
            (|doc, _| doc.level(3).top_count as f64, "3-grams (Words)"),
            (|doc, _| doc.joined_repeated_bytes_at_most(2) as f64, "2-grams (JoinedBound)"),
        ];
        let documents: ArrayRef = Arc::new(StringArray::from(vec!["one two three", "four"]));
        for (value, part) in reads {
            let spec = declaring_nothing(value);
            let args = Args::new(&spec, vec![]).unwrap();
            let error = evaluate_statistics(&[(&spec, &args)], &documents, None, &[]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let message = error.to_string();
            assert!(message.contains(&format!("statistic `careless` reads {part} of a document")), "{message}");
        }
    }

    #[test]
    fn n_grams_of_another_length_are_not_taken_for_those_asked_for() {
        let careless = |doc: &Doc, _: &Args| doc.level(2).top_count as f64;
        let spec = OpSpec { cpu: Cpu::measure(|_| Needs::grams(3), careless), ..declaring_nothing(|_, _| 0.0) };
        let args = Args::new(&spec, vec![]).unwrap();
        let documents: ArrayRef = Arc::new(StringArray::from(vec!["a b a b a b"]));
        let error = evaluate_statistics(&[(&spec, &args)], &documents, None, &[]).unwrap_err();
        assert!(error.to_string().contains("reads 2-grams (Words)"), "{error}");
    }

    /// Texts of few words, some of which are others run together.
    fn repetitive_text() -> impl Strategy<Value = String> {
        let word =
            prop::sample::select(vec!["a", "ab", "b", "ba", "bab", "é", "the", "representative", "世界", "thera"]);
        let gap = prop::sample::select(vec![" ", " ", " ", "\n", "  "]);
        let run = prop::collection::vec((word, gap), 0..12)
            .prop_map(|words| words.into_iter().map(|(word, gap)| format!("{word}{gap}")).collect::<String>());
        prop::collection::vec((run, 1..4_usize), 0..6)
            .prop_map(|runs| runs.into_iter().map(|(run, times)| run.repeat(times)).collect())
    }

    proptest! {
        #[test]
        fn a_bound_is_never_below_the_value(texts in prop::collection::vec(repetitive_text(), 1..8), n in 1..12_i64) {
            let mut n_bounded = 0;
            for spec in Registry::builtin().iter() {
                let Cpu::Statistic(Statistic { needs, value: StatisticValue::Float(value), bound: Some(bound) }) = spec.cpu
                else { continue };
                n_bounded += 1;
                let args = Args::new(spec, vec![Value::Int(n)]).unwrap();
                let (mut bounded, mut exact) = (Doc::new(), Doc::new());
                for text in &texts {
                    bounded.read(text, (bound.needs)(&args));
                    exact.read(text, needs(&args));
                    let (at_most, value) = ((bound.at_most)(&bounded, &args), value(&exact, &args));
                    prop_assert!(at_most >= value, "{} of {text:?}: {value}, not at most {at_most}", spec.name);
                }
            }
            prop_assert!(n_bounded > 3);
        }

        #[test]
        fn a_gate_lets_the_same_documents_pass_whether_it_sees_values_or_bounds(
            texts in prop::collection::vec(repetitive_text(), 1..20),
            lengths in prop::collection::vec(1..11_i64, 6),
            limits in prop::collection::vec(0.0..1.0, 6),
        ) {
            let registry = Registry::builtin();
            let names = [
                "top_ngram_char_ratio", "duplicate_ngram_char_ratio", "nemo_top_ngram_ratio",
                "nemo_duplicate_ngram_ratio", "duplicate_ngram_char_ratio", "top_ngram_covered_char_ratio",
            ];
            let calls: Vec<_> = names.iter().zip(lengths).map(|(name, n)| {
                let spec = Arc::clone(registry.find(name).unwrap());
                let args = Args::new(&spec, vec![Value::Int(n)]).unwrap();
                (spec, args)
            }).collect();
            let calls: Vec<(&OpSpec, &Args)> = calls.iter().map(|(spec, args)| (spec.as_ref(), args)).collect();
            let documents: ArrayRef = Arc::new(StringArray::from(texts));
            let kept = |is_only_reader| {
                let gate = |(statistic, most): (usize, &f64)| {
                    Gate { statistic, range: Range { least: f64::NEG_INFINITY, most: *most }, is_only_reader }
                };
                let gates: Vec<Gate> = limits.iter().enumerate().map(gate).collect();
                let columns = evaluate_statistics(&calls, &documents, None, &gates).unwrap();
                let is_kept = |row: usize| {
                    columns.iter().zip(&limits).all(|(column, most)| {
                        let values = column.values.as_primitive::<Float64Type>();
                        values.is_valid(row) && values.value(row) <= *most
                    })
                };
                (0..documents.len()).filter(|row| is_kept(*row)).collect::<Vec<_>>()
            };
            prop_assert_eq!(kept(true), kept(false));
        }
    }

    #[test]
    fn a_value_that_cannot_be_compared_passes() {
        let range = Range { least: 0.0, most: 1.0 };
        for (value, expected) in [(0.0, true), (-0.0, true), (1.0, true), (1.1, false), (-0.1, false), (f64::NAN, true)]
        {
            assert_eq!(range.has(value), expected, "{value}");
        }
    }
}
