//! One copy of a prepared model for all threads of the process, as long as somebody uses it.

use crate::Result;
use crate::ops::{Model, ModelSetting, PreparedModel};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// What a prepared model is known by: the calls that it computes, as written, with the hashes of their files, and what it may
/// use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelKey {
    calls: Vec<String>,
    setting: ModelSetting,
}

impl ModelKey {
    /// The key of a group of models. `calls` say for each of them which operator it is and with what constants.
    pub fn new(calls: &[String], group: &[Arc<dyn Model>], setting: &ModelSetting) -> Self {
        let with_files = |(call, model): (&String, &Arc<dyn Model>)| {
            let files = model.files().into_iter().map(|file| format!(" {}={}", file.path, file.hash));
            std::iter::once(call.clone()).chain(files).collect::<String>()
        };
        Self { calls: calls.iter().zip(group).map(with_files).collect(), setting: setting.clone() }
    }
}

/// The place of one model: empty until somebody has prepared it.
type Place = Arc<Mutex<Weak<Held>>>;

/// A prepared model that is held by all that use it.
struct Held(Arc<dyn PreparedModel>);

static PLACES: LazyLock<Mutex<HashMap<ModelKey, Place>>> = LazyLock::new(Mutex::default);

/// Somebody's hold on a prepared model.
#[derive(Clone)]
pub struct Prepared(Arc<Held>);

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}

impl Prepared {
    /// The model.
    pub fn model(&self) -> &dyn PreparedModel {
        self.0.0.as_ref()
    }
}

/// The prepared model of a group: the one that is there, or prepared now while others who want the same wait.
pub fn prepared(key: &ModelKey, group: &[Arc<dyn Model>]) -> Result<Prepared> {
    let place = {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody uses any more is forgotten, so that a long session does not grow.
        places.retain(|_, place| {
            let in_use = Arc::strong_count(place) > 1;
            in_use || place.lock().unwrap_or_else(PoisonError::into_inner).strong_count() > 0
        });
        Arc::clone(places.entry(key.clone()).or_default())
    };
    let mut held = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(held) = held.upgrade() {
        return Ok(Prepared(held));
    }
    let Some(first) = group.first() else { return Err(crate::bug!("a group without a model is prepared")) };
    let made = Arc::new(Held(first.prepare(group, &key.setting)?));
    *held = Arc::downgrade(&made);
    Ok(Prepared(made))
}
