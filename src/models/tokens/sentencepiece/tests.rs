//! Damaged files, and texts that are cut in a way of their own. Counts of the library: `tests/suite/models/tokens.rs`.

use super::*;

fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/tokens").join(name)).unwrap()
}

const MODELS: [&str; 2] = ["unigram.model", "pairs.model"];
const TEXT: &str = "  A corpus <|end|> is cleaned ﬁ ☃☃ by\u{3000}rules: 数据清洗 e\u{301} ";

#[test]
fn runs_of_unknown_characters_are_one_token_or_bytes() {
    let unigram = SentencePiece::read(&bytes_of("unigram.model")).unwrap();
    assert_eq!(unigram.count("☃"), unigram.count("☃☃☃"));
    let pairs = SentencePiece::read(&bytes_of("pairs.model")).unwrap();
    assert_eq!(pairs.count("☃☃☃") - pairs.count("☃"), 2 * "☃".len());
    assert_eq!((unigram.count(""), pairs.count("")), (0, 0));
}

#[test]
fn a_file_cut_anywhere_or_with_changed_bytes_is_an_error_or_a_model() {
    for name in MODELS {
        let good = bytes_of(name);
        let mut n_models = 0;
        for place in (0..good.len()).step_by(if cfg!(debug_assertions) { 11 } else { 1 }) {
            if let Ok(model) = SentencePiece::read(&good[..place]) {
                model.count(TEXT);
            }
            for changed in [0x00, 0x7F, 0x80, 0xFF] {
                let mut bytes = good.clone();
                bytes[place] = changed;
                if let Ok(model) = SentencePiece::read(&bytes) {
                    n_models += 1;
                    // A damaged table may replace a character by many.
                    assert!(model.count(TEXT) < 100_000, "{name}, byte {place}");
                }
            }
        }
        assert!(n_models > 100, "{name}: {n_models}");
    }
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let refused = |bytes: &[u8]| SentencePiece::read(bytes).unwrap_err();
    assert_eq!(refused(b""), "it has no pieces");
    assert_eq!(refused(b"PK\x03\x04 an archive"), "its bytes are no protocol buffer, or end too early");
    assert_eq!(
        refused(&[0x0A, 0x03, 0x0A, 0x01, b'a', 0x12, 0x02, 0x18, 0x04]),
        "a model of characters; unigram and BPE models can be read"
    );
}
