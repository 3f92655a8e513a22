//! `remove_lines(text, lines)`: lines that say exactly one of these things are deleted.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "remove_lines",
    family: Family::Text,
    summary: "lines that are equal to one of `lines` are deleted",
    details: "Lines are what line feeds separate; a line must be equal in every character, white space and case \
              included. `''` deletes empty lines. An empty document is one empty line. As NeMo Curator's LineRemover.",
    params: &[Param::text("text", "the document"), Param::text_list("lines", "the lines to delete")],
    returns: Returns::Utf8,
    examples: &[
        Example::of(r"remove_lines(E'Home\nA story.\nShare', ['Home', 'Share'])", "'A story.'"),
        Example::of(r"remove_lines(E'a\n\nb\n', lines => [''])", r"'a\nb'"),
        Example::of(r"remove_lines(E'home\n Home', ['Home'])", r"'home\n Home'"),
        Example::of("remove_lines('', ['Home'])", "''"),
        Example::of("remove_lines(NULL, ['Home'])", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.6), // measured on mixed documents
    cpu: Cpu::Text(|text, args| remove_lines(text, |line| args.has_text("lines", line))),
    gpu: Gpu::NOT_YET,
};

fn remove_lines(text: &str, is_removed: impl Fn(&str) -> bool) -> Cow<'_, str> {
    if !text.split('\n').any(&is_removed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut is_first = true;
    for line in text.split('\n').filter(|line| !is_removed(line)) {
        if !is_first {
            out.push('\n');
        }
        is_first = false;
        out.push_str(line);
    }
    Cow::Owned(out)
}
