//! `url_ratio(text)`: the share of characters that belong to addresses.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "url_ratio",
    family: Family::Quality,
    summary: "share of characters that are in web addresses",
    details: "(characters of addresses) / characters. An address is `http://` or `https://` and at least one of \
              letters, digits, ``$-_@.&+/:=?#~!*(),`` and `%` with two hexadecimal digits: the regular expression \
              of NeMo's UrlsFilter, which keeps documents up to 0.2. An empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("url_ratio('see http://a.b')", "0.7142857142857143"),
        Example::of("url_ratio('www.a.b')", "0.0"),
        Example::of("url_ratio('')", "0.0"),
        Example::of("url_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.41),
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| scan::ratio(scan::urls(doc.text()).map(str::len).sum(), doc.chars().n_chars),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/url_ratio.cu")).and_instructions_per_byte(30.0),
};
