use std::collections::BTreeMap;

use super::{ApiResource, ObjectKey, ObjectMeta};

/// Anything with Kubernetes metadata.
///
/// Implemented for every k8s-openapi kind, for [`DynamicObject`](super::DynamicObject) and by
/// `#[derive(Resource)]`. The getters borrow; an absent name reads as `""`, as on the wire.
pub trait Object: Send + Sync + 'static {
    /// Whether the type holds nothing but metadata, so that servers need not send more: see
    /// [`PartialObject`](super::PartialObject).
    const METADATA_ONLY: bool = false;

    /// Whether the type leaves out a part of its kind, so that writing a whole object from it would
    /// lose that part: `create` and `replace` are refused.
    const PARTIAL: bool = Self::METADATA_ONLY;

    /// The object's metadata.
    fn metadata(&self) -> &ObjectMeta;

    /// The object's metadata, to change.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;

    /// Notes what kind it is, where the type itself does not say: the items of a list come without.
    #[doc(hidden)]
    fn fill_types(&mut self, resource: &ApiResource) {
        let _ = resource;
    }

    /// An object that has a name and nothing else: where a literal begins.
    ///
    /// ```
    /// use pilothouse::{k8s::api::core::v1::ConfigMap, resource::Object};
    ///
    /// let page = ConfigMap { immutable: Some(true), ..ConfigMap::named("page") };
    /// assert_eq!(page.name(), "page");
    /// ```
    fn named(name: impl Into<String>) -> Self
    where
        Self: Sized + Default,
    {
        let mut object = Self::default();
        object.metadata_mut().name = Some(name.into());
        object
    }

    /// `metadata.name`, `""` while the server has not generated it.
    fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }

    /// `metadata.namespace`; `None` for cluster-scoped objects.
    fn namespace(&self) -> Option<&str> {
        self.metadata()
            .namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty())
    }

    /// `metadata.uid`; `None` before the object was created.
    fn uid(&self) -> Option<&str> {
        self.metadata().uid.as_deref()
    }

    /// `metadata.resourceVersion`; `None` before the object was created.
    fn resource_version(&self) -> Option<&str> {
        self.metadata().resource_version.as_deref()
    }

    /// The label named `key`.
    fn label(&self, key: &str) -> Option<&str> {
        self.metadata()
            .labels
            .as_ref()?
            .get(key)
            .map(String::as_str)
    }

    /// All labels; `None` and an empty map mean the same.
    fn labels(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata().labels.as_ref()
    }

    /// The annotation named `key`.
    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata()
            .annotations
            .as_ref()?
            .get(key)
            .map(String::as_str)
    }

    /// Whether deletion has begun: the object still exists, for its finalizers or its grace period.
    fn is_deleting(&self) -> bool {
        self.metadata().deletion_timestamp.is_some()
    }

    /// Namespace and name, as stores and queues use them.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }
}

impl<K> Object for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + Send + Sync + 'static,
{
    fn metadata(&self) -> &ObjectMeta {
        k8s_openapi::Metadata::metadata(self)
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        k8s_openapi::Metadata::metadata_mut(self)
    }
}
