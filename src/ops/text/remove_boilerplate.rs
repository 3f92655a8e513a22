//! `remove_boilerplate(text, only_at_ends => true)`: paragraphs of cookie notices and policies are deleted.

use super::boilerplate::boilerplate;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "remove_boilerplate",
    family: Family::Text,
    summary: "paragraphs with cookie notices or policy links are deleted at one end; filler text empties the document",
    details: "Paragraphs are what `\\n\\n` separates. One that holds `lorem ipsum` empties the document. One that \
              holds a policy sentence (terms of use, privacy policy, cookie policy, use(s) cookies, …; any case) is \
              boilerplate: with `only_at_ends`, these paragraphs are deleted if they stand together at the top or at \
              the bottom and are not the whole document, else all stays as it is; without, one of them empties the \
              document. An empty document stays empty. As NeMo Curator's BoilerPlateStringModifier.",
    params: &[
        Param::text("text", "the document"),
        Param::bool("only_at_ends", "delete paragraphs at one end, rather than the whole document")
            .default(Literal::Bool(true)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of(r"remove_boilerplate(E'A story.\n\nThis site uses cookies.')", "'A story.'"),
        Example::of(r"remove_boilerplate(E'A.\n\nTerms of Use\n\nB.')", r"'A.\n\nTerms of Use\n\nB.'"),
        Example::of(r"remove_boilerplate(E'A.\n\nTerms of Use\n\nB.', only_at_ends => false)", "''"),
        Example::of("remove_boilerplate('Lorem ipsum dolor')", "''"),
        Example::of("remove_boilerplate('')", "''"),
        Example::of("remove_boilerplate(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.4), // measured on mixed documents
    cpu: Cpu::Text(|text, args| remove_boilerplate(text, args.bool("only_at_ends"))),
    gpu: Gpu::NOT_YET,
};

fn remove_boilerplate(text: &str, only_at_ends: bool) -> Cow<'_, str> {
    let mut n_paragraphs = 0;
    // Numbers of the first and last paragraph of boilerplate, and how many there are.
    let (mut first, mut last, mut n_found) = (0, 0, 0);
    for (number, paragraph) in text.split("\n\n").enumerate() {
        n_paragraphs += 1;
        let found = boilerplate(paragraph);
        if found.lorem_ipsum || (found.policy && !only_at_ends) {
            return Cow::Borrowed("");
        }
        if found.policy {
            first = if n_found == 0 { number } else { first };
            last = number;
            n_found += 1;
        }
    }
    let is_one_run = n_found > 0 && last - first + 1 == n_found;
    let is_at_end = first == 0 || last + 1 == n_paragraphs;
    if !is_one_run || !is_at_end || n_found == n_paragraphs {
        return Cow::Borrowed(text);
    }
    let kept: Vec<&str> =
        text.split("\n\n").enumerate().filter(|(number, _)| !(first..=last).contains(number)).map(|(_, p)| p).collect();
    Cow::Owned(kept.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_run_at_one_end_is_deleted() {
        let cookies = "We use cookies.";
        for (text, expected) in [
            (format!("{cookies}\n\na\n\nb"), "a\n\nb".to_string()),
            (format!("{cookies}\n\n{cookies}\n\na"), "a".to_string()),
            (format!("a\n\n{cookies}"), "a".to_string()),
            (format!("{cookies}\n\na\n\n{cookies}"), format!("{cookies}\n\na\n\n{cookies}")),
            (format!("a\n\n{cookies}\n\nb"), format!("a\n\n{cookies}\n\nb")),
            (cookies.to_string(), cookies.to_string()),
            // Three line feeds: the third begins the next paragraph.
            (format!("{cookies}\n\n\na"), "\na".to_string()),
            // An empty last paragraph is a paragraph.
            (format!("a\n\n{cookies}\n\n"), format!("a\n\n{cookies}\n\n")),
        ] {
            assert_eq!(remove_boilerplate(&text, true), expected, "{text:?}");
        }
    }
}
