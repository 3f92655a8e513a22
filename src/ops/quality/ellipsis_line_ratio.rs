//! `ellipsis_line_ratio(text)`: the share of lines that break off.

use crate::ops::Line;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "ellipsis_line_ratio",
    family: Family::Quality,
    summary: "share of lines that end in an ellipsis or \"read more\"",
    details: "(lines that end in one of `marks`, in any case) / lines, over the lines that are not blank, each \
              with the white space at its ends removed. The default marks are NeMo's, whose EllipsisFilter keeps \
              documents up to 0.3. A document without such lines gives 0; NeMo raises an error.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("marks", "the ends of such lines, in lower case").default(Literal::TextList(&[
            "...",
            "[...]",
            "…",
            "(...)",
            "[…]",
            "-»",
            "read more..",
            "read more",
        ])),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"ellipsis_line_ratio(E'And then…\nThe end.')", "0.5"),
        Example::of("ellipsis_line_ratio('Read More')", "1.0"),
        Example::of("ellipsis_line_ratio('Kx', marks => ['kx'])", "1.0"),
        Example::of("ellipsis_line_ratio('')", "0.0"),
        Example::of("ellipsis_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.88),
    cpu: Cpu::measure(|_| Needs::LINES, ellipsis_line_ratio),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/ellipsis_line_ratio.cu"))
        .and_instructions_per_byte(50.0),
};

fn ellipsis_line_ratio(doc: &Doc, args: &Args) -> f64 {
    let (marks, set) = (args.texts("marks"), args.set("marks"));
    let text = doc.text();
    // The last two bytes in lower case settle most lines; letters outside ASCII that have a lower case are looked at whole.
    let is_broken = |line: &Line| {
        let bytes = line.trimmed_bytes(text);
        let may_be_broken = set.may_end(bytes)
            || bytes.last().is_some_and(|last| !last.is_ascii()) && line.trimmed(text).ends_with(scan::has_lower_case);
        may_be_broken && marks.iter().any(|mark| ends_with_in_lower_case(line.trimmed(text), mark))
    };
    scan::ratio(doc.lines().full().filter(is_broken).count(), doc.lines().n_full())
}

/// Whether `line.lower()` ends with `mark`.
fn ends_with_in_lower_case(line: &str, mark: &str) -> bool {
    // A character may become longer or shorter in lower case, so a line is lower-cased from its last character on,
    // until enough is known.
    let mut wanted = mark.chars().rev();
    let mut next = wanted.next();
    for c in line.chars().rev() {
        if next.is_none() {
            return true;
        }
        if c.is_ascii() || !scan::has_lower_case(c) {
            if next != Some(c.to_ascii_lowercase()) {
                return false;
            }
            next = wanted.next();
        } else {
            for lower in c.to_lowercase().rev() {
                match next {
                    None => return true,
                    Some(want) if want == lower => next = wanted.next(),
                    Some(_) => return false,
                }
            }
        }
    }
    next.is_none()
}
