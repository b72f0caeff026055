use std::collections::BTreeMap;

use super::{ApiResource, ObjectKey, ObjectMeta, TypeMeta};

/// Anything with Kubernetes metadata.
///
/// Every k8s-openapi kind implements it, and so does [`DynamicObject`](super::DynamicObject). `#[derive(Resource)]`
/// implements it for your own kinds. The getters borrow. A missing name is `""`, as it is on the wire.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    note = "add `#[derive(Resource)]` and `#[resource(group = \"..\", version = \"v1\", namespaced)]` to the struct that holds `metadata`, `spec` and `status`"
)]
pub trait Object: Send + Sync + 'static {
    /// Whether the type holds nothing but metadata. A client then asks the server for metadata only: see
    /// [`PartialObject`](super::PartialObject).
    const METADATA_ONLY: bool = false;

    /// Whether the type leaves out a part of its kind. A write of the whole object would lose that part, so the client
    /// refuses `create` and `replace`.
    const PARTIAL: bool = Self::METADATA_ONLY;

    /// Whether the type holds each field that a server sends, also those of newer servers. Some encodings lose such fields, so the client asks for
    /// JSON.
    #[doc(hidden)]
    const HAS_ALL_FIELDS: bool = false;

    /// The object's metadata.
    fn metadata(&self) -> &ObjectMeta;

    /// The object's metadata, to change.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;

    /// Sets `apiVersion` and `kind` if the type stores them and they are missing, as in the items of a list.
    #[doc(hidden)]
    fn fill_types(&mut self, resource: &ApiResource) {
        let _ = resource;
    }

    /// The object's `apiVersion` and `kind`, if the type stores them.
    #[doc(hidden)]
    fn types(&self) -> Option<&TypeMeta> {
        None
    }

    /// An object with a name and nothing else, as the base of a struct literal.
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

    /// `metadata.name`; `""` until the server has generated it.
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

    /// The value of the label `key`.
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

    /// The value of the annotation `key`.
    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata()
            .annotations
            .as_ref()?
            .get(key)
            .map(String::as_str)
    }

    /// Whether deletion has begun. The object still exists because of its finalizers or its grace period.
    fn is_deleting(&self) -> bool {
        self.metadata().deletion_timestamp.is_some()
    }

    /// Namespace and name: the key in stores and queues.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }
}

#[diagnostic::do_not_recommend]
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
