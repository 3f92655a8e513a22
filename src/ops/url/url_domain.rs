//! `url_domain(url)`: the registered domain of an address.

use super::address::{domain, host};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "url_domain",
    family: Family::Url,
    summary: "the registered domain of an address, by the public suffix list",
    details: "The host's public suffix (`com`, `co.uk`) and one label more: what someone registered. Suffixes that firms \
              offer below their own domain (`github.io`) count only with `private_suffixes`: block lists are written \
              without them, and so tldextract reads addresses unless told otherwise. Empty for numeric hosts, and where \
              the suffix is not in the list. A list in a file is a subquery: \
              `url_domain(url) NOT IN (SELECT domain FROM 'blocked.csv')`.",
    params: &[
        Param::text("url", "the address"),
        Param::bool("private_suffixes", "take `github.io` and the like for suffixes").default(Literal::Bool(false)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("url_domain('https://www.example.co.uk/a')", "'example.co.uk'"),
        Example::of("url_domain('https://me.github.io/a')", "'github.io'"),
        Example::of("url_domain('https://me.github.io/a', private_suffixes => true)", "'me.github.io'"),
        Example::of("url_domain('http://127.0.0.1/')", "''"),
        Example::of("url_domain('')", "''"),
        Example::of("url_domain(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.5).and_ns_per_row(200.0), // estimate
    cpu: Cpu::Text(|url, args| {
        let private_suffixes = args.bool("private_suffixes");
        match host(url) {
            Cow::Borrowed(host) => Cow::Borrowed(domain(host, private_suffixes)),
            Cow::Owned(host) => Cow::Owned(domain(&host, private_suffixes).to_string()),
        }
    }),
    gpu: Gpu::No("the public suffix list is on the CPU only"),
};
