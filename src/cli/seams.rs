//! Stand-ins for what `ops` and `syntax` will give; each is one call once those are there.

use crate::diag::{Diagnostic, SourceText};
use crate::session::ExplainFormat;
use crate::syntax::ast::Script;
use crate::{Error, Result};

/// `crate::ops::reference::list(&registry)`
pub fn list_ops() -> String {
    String::new()
}

/// `crate::ops::reference::describe(&registry, name)`
pub fn describe_op(name: &str) -> Result<String> {
    Err(Error::Data(format!("no operator `{name}`; `curator ops` lists all")))
}

/// `crate::ops::reference::markdown(&registry)`
pub fn ops_markdown() -> String {
    String::new()
}

/// `crate::syntax::format(source)`
pub fn format(source: &SourceText) -> std::result::Result<String, Vec<Diagnostic>> {
    Ok(source.text().to_string())
}

/// The syntax tree of a whole text as text.
pub fn explain_ast(script: &Script, format: ExplainFormat) -> String {
    format!("{format:?} {:#?}", script.statements)
}
