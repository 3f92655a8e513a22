//! What the session knows, for completion and highlighting: tables, columns, functions.

use crate::diag::SourceText;
use crate::session::Compiled;
use crate::{Error, Language, Result, Session};
use arrow::datatypes::{Schema, SchemaRef};
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// The names of a session at one time.
#[derive(Debug, Default)]
pub struct Names {
    /// Functions, macros and operators, sorted.
    pub functions: Vec<String>,
    /// The same in lower case, to ask for one.
    pub known_functions: HashSet<String>,
    /// Tables with their columns.
    pub tables: Vec<(String, Vec<String>)>,
    /// Changes whenever the names may have.
    pub version: usize,
}

impl Names {
    /// The tables' names.
    pub fn table_names(&self) -> Vec<String> {
        self.tables.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// The names, shared by the prompt (which writes) with the editor (which reads).
#[derive(Debug, Clone, Default)]
pub struct SharedNames {
    inner: Arc<RwLock<Names>>,
}

impl SharedNames {
    /// Reads them again.
    pub fn refresh(&self, session: &Session) {
        let mut functions = session.function_names();
        functions.sort_unstable();
        functions.dedup();
        let known_functions = functions.iter().map(|name| name.to_lowercase()).collect();
        let tables = session.tables().into_iter().map(|(name, schema)| (name, column_names(&schema))).collect();
        let version = self.read().version + 1;
        self.set(Names { functions, known_functions, tables, version });
    }

    /// Replaces them.
    pub fn set(&self, names: Names) {
        *self.inner.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// A look at them.
    pub fn read(&self) -> RwLockReadGuard<'_, Names> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The columns of a schema.
pub fn column_names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// The columns that a query gives, without running it.
pub async fn schema_of(session: &mut Session, query: &str) -> Result<SchemaRef> {
    let script = session.parse(&SourceText::new("<prompt>", query), Language::Cql)?;
    match session.compile(&script, 0).await? {
        Compiled::Query(plan) | Compiled::Explain { plan, .. } => Ok(plan.logical.schema().inner().clone()),
        Compiled::Done => Err(Error::Data(format!("`{query}` has no columns"))),
    }
}
