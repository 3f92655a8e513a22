//! The operators that a session knows, by name.

use super::spec::OpSpec;
use super::{code, dedup, quality, repetition, safety, signals, text, url, web};
use crate::diag::did_you_mean;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A set of operators with distinct names.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    by_name: BTreeMap<&'static str, Arc<OpSpec>>,
}

fn shipped() -> impl Iterator<Item = &'static OpSpec> {
    let families = [
        quality::OPERATORS,
        repetition::OPERATORS,
        web::OPERATORS,
        url::OPERATORS,
        signals::OPERATORS,
        code::OPERATORS,
        text::OPERATORS,
        safety::OPERATORS,
        dedup::OPERATORS,
    ];
    families.into_iter().flatten().copied()
}

/// Whether an operator of this name comes with curator.
pub(crate) fn is_shipped(name: &str) -> bool {
    shipped().any(|spec| spec.name == name)
}

impl Registry {
    /// Every operator that curator ships.
    pub fn builtin() -> Self {
        Self { by_name: shipped().map(|spec| (spec.name, Arc::new(OpSpec::clone(spec)))).collect() }
    }

    /// Adds an operator of the caller's own. Its name must be free and its parts must fit together.
    ///
    /// ```
    /// use curator::ops::{Cost, Cpu, Effects, Family, Gpu, OpSpec, Param, Registry, Returns};
    ///
    /// static QUESTIONS: OpSpec = OpSpec {
    ///     name: "questions",
    ///     family: Family::Custom,
    ///     summary: "number of question marks",
    ///     details: "",
    ///     params: &[Param::text("text", "the document")],
    ///     returns: Returns::Int64,
    ///     examples: &[],
    ///     effects: Effects::PURE,
    ///     cost: Cost::ns_per_byte(0.1),
    ///     cpu: Cpu::Int(|text, _| text.matches('?').count() as i64),
    ///     gpu: Gpu::No("not tried"),
    /// };
    ///
    /// let mut registry = Registry::builtin();
    /// registry.register(QUESTIONS.clone())?;
    /// assert!(registry.find("questions").is_some());
    /// # Ok::<(), curator::Error>(())
    /// ```
    pub fn register(&mut self, spec: OpSpec) -> Result<()> {
        spec.check()?;
        if self.by_name.contains_key(spec.name) {
            return Err(Error::Data(format!("there is an operator `{}` already; give yours another name", spec.name)));
        }
        self.by_name.insert(spec.name, Arc::new(spec));
        Ok(())
    }

    /// The operator of that name.
    pub fn find(&self, name: &str) -> Option<&Arc<OpSpec>> {
        self.by_name.get(name)
    }

    /// "did you mean …?" for a name that is not here.
    pub fn suggest(&self, name: &str) -> Option<String> {
        did_you_mean(name, self.by_name.keys())
    }

    /// All operators, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<OpSpec>> {
        self.by_name.values()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ops::prelude::*;
    use crate::ops::{ParamType, Value, evaluate};
    use arrow::array::{Array, ArrayRef, AsArray, Int64Array, LargeStringArray, StringArray, StringViewArray};
    use arrow::datatypes::Int64Type;

    #[test]
    fn shipped_operators_are_sound_and_have_distinct_names() {
        let registry = Registry::builtin();
        for spec in registry.iter() {
            spec.check().unwrap();
            assert!(!spec.summary.is_empty() && !spec.summary.ends_with('.'), "{}: summary", spec.name);
            assert!(!spec.examples.is_empty(), "{}: examples", spec.name);
        }
        assert_eq!(registry.iter().count(), shipped().count());
    }

    #[test]
    fn every_operator_gives_the_same_on_each_text_layout_sliced_or_not() {
        let docs = [Some("dropped"), Some("a b\r\n\r\n\r\na b\n"), None, Some(""), Some("Ünïcode\u{3000}… #")];
        let layouts: [ArrayRef; 3] = [
            Arc::new(StringArray::from_iter(docs).slice(1, 4)),
            Arc::new(LargeStringArray::from_iter(docs).slice(1, 4)),
            Arc::new(StringViewArray::from_iter(docs).slice(1, 4)),
        ];
        for spec in Registry::builtin().iter() {
            let required = spec.options().iter().filter(|param| param.default.is_none());
            let given = required
                .map(|param| match param.ty {
                    ParamType::Text => Value::Text("b".into()),
                    ParamType::TextList => Value::TextList(vec!["b".into()]),
                    ParamType::Choice(choices) => Value::Text(choices[0].into()),
                    _ => Value::Int(1),
                })
                .collect();
            let args = Args::new(spec, given).unwrap();
            let results: Vec<ArrayRef> =
                layouts.iter().map(|documents| evaluate(spec, documents, &args).unwrap()).collect();
            assert_eq!(results[0].data_type(), &spec.returns.data_type(), "{}", spec.name);
            assert_eq!(results[0].len(), 4, "{}", spec.name);
            assert!(results[0].is_null(1) && results[0].null_count() == 1, "{}: null gives null", spec.name);
            assert_eq!(&results[0], &results[1], "{}", spec.name);
            assert_eq!(&results[0], &results[2], "{}", spec.name);
        }
    }

    fn shouts() -> OpSpec {
        // State that the operator owns: what a function pointer could not hold.
        let mark = String::from("!");
        OpSpec {
            name: "shouts",
            family: Family::Custom,
            summary: "documents that end in an exclamation mark",
            details: "",
            params: const { &[Param::text("text", "the document")] },
            returns: Returns::Int64,
            examples: &[],
            effects: Effects::PURE,
            cost: Cost::ns_per_byte(0.0).and_ns_per_row(10.0),
            cpu: Cpu::Batch(Arc::new(move |documents, _| {
                let texts = documents.as_string::<i32>();
                let ends = texts.iter().map(|text| text.map(|text| i64::from(text.ends_with(&mark))));
                Ok(Arc::new(ends.collect::<Int64Array>()))
            })),
            gpu: Gpu::No("a closure of the caller"),
        }
    }

    #[test]
    fn a_callers_operator_may_own_state() {
        let mut registry = Registry::builtin();
        registry.register(shouts()).unwrap();
        let documents: ArrayRef = Arc::new(StringArray::from(vec![Some("hey!"), None, Some("hey")]));
        let spec = registry.find("shouts").unwrap();
        let result = evaluate(spec, &documents, &Args::new(spec, vec![]).unwrap()).unwrap();
        assert_eq!(result.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(1), None, Some(0)]));
    }

    #[test]
    fn operators_that_do_not_fit_together_are_refused() {
        type Break = fn(&mut OpSpec);
        let broken: [(Break, &str); 6] = [
            (|spec| spec.name = "words", "there is an operator `words` already"),
            (|spec| spec.name = "Shouts!", "names are lower-case letters"),
            (|spec| spec.params = &[], "no parameter for the document"),
            (|spec| spec.params = const { &[Param::int("n", "")] }, "first parameter must be the document"),
            (|spec| spec.cpu = Cpu::Float(|_, _| 0.0), "Float code cannot return BIGINT"),
            (
                |spec| {
                    spec.params =
                        const { &[Param::text("text", ""), Param::int("n", "").at_least(1).default(Literal::Int(0))] }
                },
                "`n` is a whole number of at least 1, not 0",
            ),
        ];
        for (break_it, expected) in broken {
            let mut spec = shouts();
            break_it(&mut spec);
            let refused = Registry::builtin().register(spec).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_batch_result_of_the_wrong_length_is_an_error() {
        let mut spec = shouts();
        spec.cpu = Cpu::Batch(Arc::new(|_, _| Ok(Arc::new(Int64Array::from(vec![1])))));
        let documents: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let refused = evaluate(&spec, &documents, &Args::new(&spec, vec![]).unwrap()).unwrap_err().to_string();
        assert!(refused.contains("returned 1 rows of Int64 for 2 documents"), "{refused}");
    }
}
