use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    metrics::InformerMetrics,
    resource::{ApiResource, Object, ObjectKey, ObjectMeta, Undecodable},
};

/// What a transform may fail with.
pub(super) type TransformError = Box<dyn Error + Send + Sync>;

pub(super) type Function<K> = dyn Fn(&mut K) -> Result<(), TransformError> + Send + Sync;

/// What becomes of each object of a kind before a cache stores it.
pub(super) struct Transform<K> {
    resource: ApiResource,
    metrics: InformerMetrics,
    function: Arc<Function<K>>,
}

impl<K: Object> Transform<K> {
    pub(super) fn new(
        resource: ApiResource,
        metrics: InformerMetrics,
        function: Arc<Function<K>>,
    ) -> Self {
        Self {
            resource,
            metrics,
            function,
        }
    }

    /// The object as it is to be stored. Where the function fails, panics or takes away what the object is known
    /// by, the object is not lost: it counts as one that does not decode (design promise R8).
    pub(super) fn apply(&self, mut object: Arc<K>) -> Result<Arc<K>, Box<Undecodable>> {
        let mut undecodable = undecodable(&self.resource, object.key(), object.metadata());
        // It came just now and nobody else has it.
        let outcome = Arc::get_mut(&mut object).map(|object| {
            let function = AssertUnwindSafe(|| (self.function)(object));
            catch_unwind(function)
        });
        let is_same = object.key() == undecodable.key
            && object.uid() == undecodable.uid.as_deref()
            && object.resource_version() == undecodable.resource_version.as_deref();
        undecodable.reason = match outcome {
            Some(Ok(Ok(()))) if is_same => return Ok(object),
            Some(Ok(Ok(()))) => {
                "its transform changed the name, namespace, UID or resource version".to_owned()
            }
            Some(Ok(Err(error))) => format!("its transform failed: {error}"),
            Some(Err(_)) => "its transform panicked".to_owned(),
            None => "its transform found it in use".to_owned(),
        };
        self.metrics.transform_errors.inc();
        Err(Box::new(undecodable))
    }
}

/// What it is without a reason.
fn undecodable(resource: &ApiResource, key: ObjectKey, metadata: &ObjectMeta) -> Undecodable {
    Undecodable {
        resource: resource.clone(),
        key,
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        labels: metadata.labels.clone().unwrap_or_default(),
        owner_references: metadata.owner_references.clone().unwrap_or_default(),
        reason: String::new(),
    }
}
