//! `url_host(url)`: the host of an address.

use super::address::host;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "url_host",
    family: Family::Url,
    summary: "the host of an address, in lower case",
    details: "What stands between the scheme, which may be missing, and the path, without user, port and a full stop at \
              its end: `www.example.com`. The host of an address with an IPv6 number is the number without its \
              brackets. Empty if there is no host.",
    params: &[Param::text("url", "the address")],
    returns: Returns::Utf8,
    examples: &[
        Example::of("url_host('https://user@www.Example.com:8080/a?b')", "'www.example.com'"),
        Example::of("url_host('example.com/a')", "'example.com'"),
        Example::of("url_host('/a/b')", "''"),
        Example::of("url_host('')", "''"),
        Example::of("url_host(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.5).and_ns_per_row(60.0), // estimate
    cpu: Cpu::Text(|url, _| host(url)),
    gpu: Gpu::NOT_YET,
};
