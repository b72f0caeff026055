use std::{error::Error, sync::Arc};

use crate::{
    health::catch_panic,
    metrics::InformerMetrics,
    resource::{ApiResource, Object, ObjectKey, ObjectMeta, Undecodable},
};

/// The error that a transform may return.
pub(in crate::cache) type TransformError = Box<dyn Error + Send + Sync>;

pub(in crate::cache) type TransformFn<K> =
    dyn Fn(&mut K) -> Result<(), TransformError> + Send + Sync;

/// Changes each object of a kind before a cache stores it.
pub(in crate::cache) struct Transform<K> {
    resource: ApiResource,
    metrics: InformerMetrics,
    function: Arc<TransformFn<K>>,
}

impl<K: Object> Transform<K> {
    pub(super) fn new(
        resource: ApiResource,
        metrics: InformerMetrics,
        function: Arc<TransformFn<K>>,
    ) -> Self {
        Self {
            resource,
            metrics,
            function,
        }
    }

    /// Returns the object as it is to be stored.
    ///
    /// # Errors
    /// The function failed, panicked, or changed what identifies the object. The object is not lost: it counts as one
    /// that does not decode (R8).
    pub(super) fn apply(&self, mut object: Arc<K>) -> Result<Arc<K>, Box<Undecodable>> {
        let mut undecodable = undecodable(&self.resource, object.key(), object.metadata());
        let span = tracing::trace_span!("transform", resource = %self.resource).entered();
        // The object has just arrived, and nothing else holds it.
        let outcome =
            Arc::get_mut(&mut object).map(|object| catch_panic(|| (self.function)(object)));
        drop(span);
        let is_same = object.key() == undecodable.key
            && object.uid() == undecodable.uid.as_deref()
            && object.resource_version() == undecodable.resource_version.as_deref();
        undecodable.reason = match outcome {
            Some(Ok(Ok(()))) if is_same => return Ok(object),
            Some(Ok(Ok(()))) => {
                "the transform changed the name, namespace, UID or resource version".to_owned()
            }
            Some(Ok(Err(error))) => format!("the transform failed: {error}"),
            Some(Err(panic)) => format!("the transform panicked: {panic}"),
            None => {
                "the transform needs an object that nobody else holds, but the source shares it"
                    .to_owned()
            }
        };
        self.metrics.transform_errors.inc();
        Err(Box::new(undecodable))
    }
}

/// The object without its content, and without a reason.
fn undecodable(resource: &ApiResource, key: ObjectKey, metadata: &ObjectMeta) -> Undecodable {
    Undecodable {
        resource: resource.clone(),
        key,
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        labels: metadata.labels.clone().unwrap_or_default(),
        owner_references: metadata.owner_references.clone().unwrap_or_default(),
        is_deleting: metadata.deletion_timestamp.is_some(),
        reason: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::metrics::Metrics;

    #[test]
    fn a_transform_that_removes_the_uid_is_refused() {
        let metrics = Metrics::new().informer("", "v1", "configmaps");
        let removes = Arc::new(|object: &mut ConfigMap| {
            object.metadata.uid = None;
            Ok(())
        });
        let transform = Transform::new(ApiResource::of::<ConfigMap>(), metrics, removes);
        let mut object = ConfigMap::default();
        object.metadata.uid = Some("1".into());
        let refused = transform.apply(Arc::new(object)).unwrap_err();
        assert_eq!(
            refused.reason,
            "the transform changed the name, namespace, UID or resource version"
        );
    }
}
