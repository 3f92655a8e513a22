//! `python_comment_ratio(text)`: the share of comments and docstrings in a Python file.

use super::python;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "python_comment_ratio",
    family: Family::Code,
    summary: "share of comments and docstrings in a Python file; 0 if it is not valid Python 3.11",
    details: "(characters of all comments with their `#` + characters of all docstrings, cleaned as `inspect.cleandoc` does \
              and joined with a line feed) / characters. Docstrings are those of the module, of classes and of functions, \
              not of `async def`. 0 for a file that Python 3.11's `ast.parse` or `tokenize` refuses; an empty document \
              gives 0. As NeMo Curator's PythonCommentToCodeFilter, which keeps 0.01 to 0.85. Not checked: the names in \
              `\\N{…}`, and what the compiler alone refuses.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Float64,
    examples: &[
        Example::of("python_comment_ratio('x = 1 # c')", "0.3333333333333333"),
        Example::of("python_comment_ratio(E'def f():\\n  \"\"\"doc\"\"\"')", "0.15"),
        Example::of("python_comment_ratio('print x # c')", "0.0"),
        Example::of("python_comment_ratio('')", "0.0"),
        Example::of("python_comment_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(20.0),
    cpu: Cpu::Float(|text, _| {
        scan::ratio(python::comment_and_docstring_chars(text).unwrap_or(0), text.chars().count())
    }),
    gpu: Gpu::No("a grammar is followed token by token"),
};
