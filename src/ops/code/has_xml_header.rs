//! `has_xml_header(text, within => 100)`: whether a file begins as XML.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "has_xml_header",
    family: Family::Code,
    summary: "whether `<?xml version=` is among the first `within` characters",
    details: "Finds XML files under the name of another language. All of `<?xml version=` must be within. An empty document \
              gives false. As NeMo Curator's XMLHeaderFilter, which drops a file that has it.",
    params: &[
        Param::text("text", "the source file"),
        Param::int("within", "characters to look at").at_least(0).default(Literal::Int(100)),
    ],
    returns: Returns::Boolean,
    examples: &[
        Example::of("has_xml_header('<?xml version=\"1.0\"?><a/>')", "true"),
        Example::of("has_xml_header('<?xml version=\"1.0\"?>', within => 13)", "false"),
        Example::of("has_xml_header('')", "false"),
        Example::of("has_xml_header(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.0).and_ns_per_row(60.0), // estimate
    cpu: Cpu::test(
        |_| Needs::TEXT,
        |doc, args| {
            let text = doc.text();
            let end = text.char_indices().nth(args.count("within")).map_or(text.len(), |(at, _)| at);
            text[..end].contains("<?xml version=")
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/code/has_xml_header.cu")).and_instructions_per_byte(3.0),
};
