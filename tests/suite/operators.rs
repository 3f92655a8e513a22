//! The examples of the operators, as the reference page shows them, run through the language.

use super::harness::{block_on, run};
use curator::Config;
use curator::diag::SourceText;
use curator::{Language, Session};
use datafusion::common::ScalarValue;

fn show(value: &ScalarValue) -> String {
    match value {
        null if null.is_null() => "NULL".to_string(),
        ScalarValue::Utf8(Some(text)) => {
            format!("'{}'", text.replace('\n', r"\n").replace('\r', r"\r").replace('\t', r"\t"))
        }
        ScalarValue::Float64(Some(n)) => format!("{n:?}"),
        ScalarValue::Struct(row) => {
            let fields = row.fields().iter().zip(row.columns()).map(|(field, column)| {
                format!("{}: {}", field.name(), show(&ScalarValue::try_from_array(column, 0).unwrap()))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[test]
fn every_example_gives_what_it_says() {
    let mut session = Session::new(Config::default()).unwrap();
    let mut wrong = Vec::new();
    let known = Session::new(Config::default()).unwrap();
    for spec in known.operators().iter() {
        for example in spec.examples {
            let source = SourceText::new("example", format!("SELECT {}", example.call));
            let result = match block_on(run(&mut session, &source, Language::Sql)) {
                Ok(outcomes) => show(&ScalarValue::try_from_array(outcomes[0].batches[0].column(0), 0).unwrap()),
                Err(error) => error.to_string(),
            };
            if result != example.result {
                wrong.push(format!("{}\n  says  {}\n  gives {result}", example.call, example.result));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
