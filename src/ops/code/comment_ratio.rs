//! `comment_ratio(text, language)`: the share of comments in a source file.

use super::comments::{self, LANGUAGES};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "comment_ratio",
    family: Family::Code,
    summary: "share of comments in a source file, by the comment rules of its language",
    details: "(characters of all comments, joined with a space) / characters. The marks of a comment (`//`, `/* */`, `#`, \
              `<!-- -->`) do not count. `c` is C, C++, C#, Java; `html` is XML, too. Where comments cannot be told (one \
              that never ends, Python that cannot be split into tokens) the result is 9999, which no sensible range \
              keeps. An empty document gives 0. As NeMo Curator's GeneralCommentToCodeFilter with comment_parser 1.2.4, \
              quirks included: `nemo_comment_ratio` takes its MIME types.",
    params: &[
        Param::text("text", "the source file"),
        Param::choice("language", "the language whose comments to look for", LANGUAGES),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("comment_ratio('x // why', 'c')", "0.5"),
        Example::of("comment_ratio('x = 1 # c', 'python')", "0.2222222222222222"),
        Example::of("comment_ratio('/* a', 'go')", "9999.0"),
        Example::of("comment_ratio('', 'shell')", "0.0"),
        Example::of("comment_ratio(NULL, 'html')", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.0),
    cpu: Cpu::Float(|text, args| match comments::find(text, args.text("language")) {
        Some(found) => scan::ratio(found.joined_chars(), text.chars().count()),
        None => UNKNOWN,
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/code/comment_ratio.cu"))
        .and_instructions_per_byte(45.0)
        .if_it_takes(|args| {
            if args.text("language") == "python" { Err("Python is told apart by its tokens") } else { Ok(()) }
        }),
};

/// The value of a file whose comments cannot be told.
const UNKNOWN: f64 = 9999.0;
