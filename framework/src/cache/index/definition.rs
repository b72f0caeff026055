use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use crate::{
    cache::incoming::Incoming,
    resource::{Object, ObjectKey, Undecodable},
};

/// The values of an object, or why there are none.
pub(super) type Function<K, V> = dyn Fn(&K) -> Result<Vec<V>, String> + Send + Sync;
/// The values of an object that does not decode.
pub(super) type Lenient<V> = dyn Fn(&Undecodable) -> Vec<V> + Send + Sync;

/// The functions of an index that was added.
pub(in crate::cache) struct Definition<K, V> {
    pub(super) function: Box<Function<K, V>>,
    /// For objects that do not decode, if their values are among what is read leniently.
    pub(super) lenient: Option<Box<Lenient<V>>>,
    pub(super) location: &'static Location<'static>,
    /// Counts a failure, and whether it was a panic.
    pub(super) failed: Box<dyn Fn(bool) + Send + Sync>,
}

/// What an index function says of a version of an object.
pub(super) enum Filing<V> {
    /// It belongs under these values.
    Under(Vec<V>),
    /// Nobody can tell: no version of it ever decoded.
    Unknown,
}

/// Why an index function gave no values.
enum Failure {
    Error(String),
    Panic,
}

impl<K: Object, V> Definition<K, V> {
    /// Where the object belongs; a failure is counted, and the object belongs nowhere.
    pub(super) fn file(&self, key: &ObjectKey, version: &Incoming<'_, K>) -> Filing<V> {
        self.judge(version).unwrap_or_else(|failure| {
            let location = self.location;
            (self.failed)(matches!(failure, Failure::Panic));
            match failure {
                Failure::Error(error) => {
                    tracing::warn!(%key, "the index defined at {location} leaves the object out: {error}");
                }
                Failure::Panic => {
                    tracing::error!(%key, "the index defined at {location} panicked and leaves the object out");
                }
            }
            Filing::Under(Vec::new())
        })
    }

    /// As [`file`](Self::file), without counting: for one reader.
    pub(super) fn peek(&self, version: &Incoming<'_, K>) -> Filing<V> {
        let filing = self.judge(version);
        filing.unwrap_or_else(|_| Filing::Under(Vec::new()))
    }

    fn judge(&self, version: &Incoming<'_, K>) -> Result<Filing<V>, Failure> {
        let object = match (version, &self.lenient) {
            (Incoming::Object(object), _) => object,
            (Incoming::Undecodable { object, .. }, Some(lenient)) => {
                return Ok(Filing::Under(lenient(object)));
            }
            (
                Incoming::Undecodable {
                    last: Some(last), ..
                },
                None,
            ) => last,
            (Incoming::Undecodable { last: None, .. }, None) => return Ok(Filing::Unknown),
        };
        // The function only reads the object; what it keeps of its own is its own to mend.
        let values = catch_unwind(AssertUnwindSafe(|| (self.function)(object)));
        let values = values.map_err(|_| Failure::Panic)?;
        values.map(Filing::Under).map_err(Failure::Error)
    }
}
