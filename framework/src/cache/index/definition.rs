use std::{collections::BTreeMap, panic::Location};

use crate::{
    cache::entry::IncomingObject,
    health::{CaughtPanic, catch_panic},
    resource::{Object, ObjectKey},
};

/// Returns the values of an object, or why it has none.
pub(in crate::cache) type Function<K, V> = dyn Fn(&K) -> Result<Vec<V>, String> + Send + Sync;
/// Returns the values of an object with these labels.
pub(super) type LabelsFunction<V> = dyn Fn(&BTreeMap<String, String>) -> Vec<V> + Send + Sync;

/// The functions of an index that was added.
pub(in crate::cache) struct Definition<K, V> {
    pub(super) function: Box<Function<K, V>>,
    /// Takes the place of `function` for objects that are not decoded, or do not decode, if the labels tell their values.
    pub(super) by_labels: Option<Box<LabelsFunction<V>>>,
    pub(super) location: &'static Location<'static>,
    /// Counts a failure; the argument tells whether it was a panic.
    pub(super) failed: Box<dyn Fn(bool) + Send + Sync>,
}

/// The result of an index function for a version of an object.
pub(super) enum IndexValues<V> {
    /// The object has these values.
    Known(Vec<V>),
    /// The values are unknown: no version of the object ever decoded.
    Unknown,
}

/// Why an index function returned no values.
enum Failure {
    Error(String),
    Panic(CaughtPanic),
}

impl<K: Object, V> Definition<K, V> {
    /// The values of the object. A failure is counted, and the object then has no values.
    pub(super) fn values_of(
        &self,
        key: &ObjectKey,
        version: &IncomingObject<'_, K>,
    ) -> IndexValues<V> {
        self.evaluate(version).unwrap_or_else(|failure| {
            let location = self.location;
            (self.failed)(matches!(failure, Failure::Panic(_)));
            match failure {
                Failure::Error(error) => {
                    tracing::warn!(%key, "the index defined at {location} leaves the object out: {error}");
                }
                Failure::Panic(panic) => {
                    tracing::error!(%key, "the index defined at {location} panicked and leaves the object out: {panic}");
                }
            }
            IndexValues::Known(Vec::new())
        })
    }

    /// Whether it reads objects, and not only their labels.
    pub(super) fn reads_objects(&self) -> bool {
        self.by_labels.is_none()
    }

    /// Like [`values_of`](Self::values_of), without counting failures: for a single read.
    pub(super) fn values_uncounted(&self, version: &IncomingObject<'_, K>) -> IndexValues<V> {
        let filing = self.evaluate(version);
        filing.unwrap_or_else(|_| IndexValues::Known(Vec::new()))
    }

    fn evaluate(&self, version: &IncomingObject<'_, K>) -> Result<IndexValues<V>, Failure> {
        let unpacked;
        let object = match (version, &self.by_labels) {
            (IncomingObject::Object(object), _) => *object,
            (IncomingObject::Undecodable { object, .. }, Some(by_labels)) => {
                return Ok(IndexValues::Known(by_labels(&object.labels)));
            }
            (IncomingObject::Unread { packed, .. }, by_labels) => {
                let by_labels = by_labels.as_ref();
                let labels = by_labels.and_then(|by_labels| Some((by_labels, packed.labels()?)));
                if let Some((by_labels, labels)) = labels {
                    return Ok(IndexValues::Known(by_labels(&labels)));
                }
                match packed.object() {
                    Ok(object) => {
                        unpacked = object;
                        &*unpacked
                    }
                    Err(_) => return Ok(IndexValues::Unknown),
                }
            }
            (
                IncomingObject::Undecodable {
                    last: Some(last), ..
                },
                None,
            ) => last,
            (IncomingObject::Undecodable { last: None, .. }, None) => {
                return Ok(IndexValues::Unknown);
            }
        };
        // The function only reads the object. If it has state of its own, the user must keep that state valid across
        // a panic.
        let span = tracing::trace_span!("index").entered();
        let values = catch_panic(|| (self.function)(object));
        drop(span);
        let values = values.map_err(Failure::Panic)?;
        values.map(IndexValues::Known).map_err(Failure::Error)
    }
}
