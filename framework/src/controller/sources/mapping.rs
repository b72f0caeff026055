use std::fmt;

use super::Lookup;
use crate::{
    controller::{Change, Result, hub::Hub},
    resource::{Object, ObjectKey},
};

/// From an object of kind `C` to keys of the reconciled kind.
pub(in crate::controller) enum Mapping<C> {
    /// Asked for the old object and for the new one.
    Object(Box<OfObject<C>>),
    /// Asked once.
    Change(Box<OfChange<C>>),
}

type OfObject<C> = dyn Fn(&C) -> Vec<ObjectKey> + Send;
type OfChange<C> = dyn Fn(&Change<'_, C>, &Lookup<'_>) -> Result<Vec<ObjectKey>> + Send;

impl<C: Object> Mapping<C> {
    /// The keys. A mapping that panics or fails is counted and logged with the name of the `kind` it maps from, and
    /// names none.
    pub(super) fn keys(&self, kind: &str, hub: &Hub, change: &Change<'_, C>) -> Vec<ObjectKey> {
        match self {
            Self::Object(map) => {
                let keys = |object: &C| {
                    let what = format_args!("the mapping from {kind} {}", object.key());
                    hub.guarded(what, || map(object)).unwrap_or_default()
                };
                change.objects().flat_map(keys).collect()
            }
            Self::Change(map) => {
                let object = change.new().or(change.old());
                let key = object.map(|object| object.key().to_string());
                let what = format!("the mapping from {kind} {}", key.unwrap_or_default());
                named(hub, &what, || map(change, &Lookup::new(&hub.readers)))
            }
        }
    }
}

/// What `map` names; nothing if it panics or fails, which is counted and logged.
pub(super) fn named<T: Default>(
    hub: &Hub,
    what: &dyn fmt::Display,
    map: impl FnOnce() -> Result<T>,
) -> T {
    match hub.guarded(what, map) {
        Some(Ok(named)) => named,
        Some(Err(failure)) => {
            hub.metrics.handler_panics.inc();
            tracing::error!(controller = hub.name, "{what} failed: {failure}");
            T::default()
        }
        None => T::default(),
    }
}
