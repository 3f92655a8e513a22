//! Any text: parsing never panics, and formatting what parses is idempotent.

#![no_main]

use curator::diag::SourceText;
use curator::internals::{format, is_complete, parse, tree};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = SourceText::new("fuzz", text);
    for sql_only in [false, true] {
        if let Ok(script) = parse(&source, sql_only) {
            tree(&script);
        }
    }
    is_complete(text);
    if let Ok(once) = format(&source) {
        let twice = format(&SourceText::new("fuzz", once.clone()));
        assert_eq!(twice.ok(), Some(once));
    }
});
