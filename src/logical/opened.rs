//! The files that a session has looked into: binding asks what columns they have, and never reads a disk itself.
//!
//! ```text
//! bind ──asks for a file──► not looked at yet: noted, and binding stops
//!   ▲                                            │
//!   └──── again, until nothing is missing ◄── look at all that were noted, off the threads that must not block
//! ```
//! So checking a script and running it look once, and standard input, which can be read only once, is.

use crate::sources::{self, FileTable, SourceSpec};
use crate::{Config, Error};
use futures::future::join_all;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::spawn_blocking;

/// What is known of files. See the module's text.
#[derive(Debug, Default)]
pub struct OpenedFiles {
    files: Mutex<HashMap<SourceSpec, Look>>,
}

#[derive(Debug, Clone)]
enum Look {
    /// Binding has asked for it.
    Wanted,
    Found(Box<FileTable>),
    Failed(Arc<Error>),
}

impl OpenedFiles {
    /// The files of a source, if somebody has looked at them. If not, the error says nothing to a user: [`look`](Self::look), and
    /// ask again.
    pub(super) fn table(&self, spec: &SourceSpec) -> Result<FileTable, Arc<Error>> {
        match self.files().entry(spec.clone()).or_insert(Look::Wanted) {
            Look::Found(table) => Ok(FileTable::clone(table)),
            Look::Failed(error) => Err(Arc::clone(error)),
            Look::Wanted => Err(Arc::new(crate::bug!("nobody has looked at '{}' yet", spec.location))),
        }
    }

    /// Looks at all files that were asked for in vain; false if there are none.
    pub async fn look(&self, config: &Config) -> bool {
        let is_wanted = |(spec, look): (&SourceSpec, &Look)| matches!(look, Look::Wanted).then(|| spec.clone());
        let wanted: Vec<SourceSpec> = self.files().iter().filter_map(is_wanted).collect();
        let looks = wanted.iter().map(|spec| {
            let (spec, config) = (spec.clone(), config.clone());
            spawn_blocking(move || sources::open(&spec, &config))
        });
        let looked = join_all(looks).await;
        for (spec, opened) in wanted.iter().zip(looked) {
            let opened = opened.unwrap_or_else(|died| Err(crate::bug!("looking at '{}': {died}", spec.location)));
            let look = match opened {
                Ok(table) => Look::Found(Box::new(table)),
                Err(error) => Look::Failed(Arc::new(error)),
            };
            self.files().insert(spec.clone(), look);
        }
        !wanted.is_empty()
    }

    /// Files, or settings, may have changed; look again when they are named again.
    pub fn forget(&self) {
        let is_stream = |look: &Look| matches!(look, Look::Found(table) if table.is_stream());
        self.files().retain(|spec, look| spec.location == "-" || is_stream(look));
    }

    fn files(&self) -> MutexGuard<'_, HashMap<SourceSpec, Look>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
