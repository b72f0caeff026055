use std::sync::Arc;

use serde_json::Value;

use super::options::FieldValidation;
use super::update::Change;
use super::{DeleteOptions, Deleted, Target, WriteOptions, create, delete, update};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::{Key, Subscription};

/// The API for controllers inside the sandbox: the same rules as over HTTP, without HTTP. Objects have their stored
/// version.
#[derive(Clone)]
pub(crate) struct Handle {
    core: Arc<Core>,
    manager: &'static str,
}

impl Handle {
    /// A handle that writes as the field manager `manager`.
    pub(crate) fn new(core: &Arc<Core>, manager: &'static str) -> Self {
        Self {
            core: core.clone(),
            manager,
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    fn options(&self) -> WriteOptions {
        WriteOptions {
            manager: self.manager.into(),
            validation: FieldValidation::Ignore,
            ..WriteOptions::default()
        }
    }

    /// The target for a resource in a namespace. Returns `None` if the resource is not served.
    pub(crate) fn target(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
    ) -> Result<Target, ApiError> {
        let registry = self.core.registry();
        let kind = registry.storage(&resource.group, &resource.resource);
        kind.map(|kind| Target::new(kind, namespace))
            .ok_or_else(|| ApiError::not_found(resource, ""))
    }

    pub(crate) fn get(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Arc<Value>> {
        let entry = self.core.store.get(resource, &Key::new(namespace, name))?;
        Some(entry.object)
    }

    /// Every object of a kind, in one namespace or in all. Returns an empty list if the kind is not served.
    pub(crate) fn list(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
    ) -> Vec<Arc<Value>> {
        match self.core.store.list(resource, namespace, None, None) {
            Some(Ok(snapshot)) => snapshot
                .entries
                .into_iter()
                .map(|entry| entry.object)
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Creates `object` in the namespace of its `metadata.namespace`.
    pub(crate) fn create(
        &self,
        resource: &GroupResource,
        object: Value,
    ) -> Result<Value, ApiError> {
        let namespace = meta::text(&object, "namespace").to_owned();
        let target = self.target(resource, Some(&namespace))?;
        create(&self.core, &target, object, &self.options(), false).map(|written| written.object)
    }

    /// Changes an object or one of its subresources (`""` is the main resource). `change` may be called more than once.
    /// If it sets an older `metadata.resourceVersion`, the write fails with a conflict and is not tried again.
    pub(crate) fn update(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        name: &str,
        subresource: &str,
        mut change: impl FnMut(&mut Value),
    ) -> Result<Value, ApiError> {
        let target = self.target(resource, namespace)?;
        let written = update(
            &self.core,
            &target,
            name,
            subresource,
            &self.options(),
            |current| {
                let mut new = current.clone();
                change(&mut new);
                Ok(Change::Plain(new))
            },
        )?;
        Ok(written.object)
    }

    pub(crate) fn delete(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, ApiError> {
        let target = self.target(resource, namespace)?;
        delete(&self.core, &target, name, options)
    }

    /// The changes of a kind after a resource version. Returns `None` if the kind is not served. A caller that also
    /// lists takes
    /// [`version`](Self::version) before it lists, so that it misses nothing.
    pub(crate) fn subscribe(&self, resource: &GroupResource, version: u64) -> Option<Subscription> {
        self.core.store.watch(resource, version)
    }

    /// The resource version of the last write.
    pub(crate) fn version(&self) -> u64 {
        self.core.store.version()
    }
}
