//! What an operator's file needs: `use crate::ops::prelude::*;`.

pub use super::doc::{Doc, Needs};
pub use super::evaluate::Record;
pub use super::param::Param;
pub(crate) use super::scan;
pub use super::spec::{Bound, Cost, Cpu, Effects, Example, Family, Gpu, Kernel, OpSpec, Returns, Scratch};
pub use super::value::{Args, Literal};
pub use std::borrow::Cow;
