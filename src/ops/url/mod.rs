//! Addresses: the parts of a URL, and lists of those to leave out. One file an operator; each is listed here.

mod address;
mod url_block_reason;
mod url_domain;
mod url_host;

pub(super) use self::address::host;
use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[&url_block_reason::SPEC, &url_domain::SPEC, &url_host::SPEC];
