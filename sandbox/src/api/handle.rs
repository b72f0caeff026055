use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use serde_json::Value;

use super::options::FieldValidation;
use super::update::Change;
use super::{
    DeleteOptions, Deleted, Target, WriteOptions, admission, create, delete, update, write_scale,
};
use crate::authentication::User;
use crate::calls::Known;
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::{Key, Subscription};

/// Runs a write that asks nobody.
pub(super) fn now<T>(write: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    match pin!(write).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        // Only a write that is admitted by others waits.
        Poll::Pending => Err(ApiError::waiting()),
    }
}

/// The API for controllers inside the sandbox: the same rules as over HTTP, without HTTP. Objects have their stored
/// version.
///
/// A controller does not wait. A write that has to ask a webhook goes on by itself and returns [`ApiError::waiting`].
#[derive(Clone)]
pub(crate) struct Handle {
    core: Arc<Core>,
    manager: &'static str,
    /// Whether a write has begun to wait.
    waits: Arc<AtomicBool>,
}

impl Handle {
    /// A handle that writes as the field manager `manager`.
    pub(crate) fn new(core: &Arc<Core>, manager: &'static str) -> Self {
        Self {
            core: core.clone(),
            manager,
            waits: Arc::default(),
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    fn options(&self) -> WriteOptions {
        WriteOptions {
            manager: self.manager.into(),
            validation: FieldValidation::Ignore,
            user: self.user(),
            admitted: admission::is_on(&self.core),
            ..WriteOptions::default()
        }
    }

    /// The user whom webhooks see.
    fn user(&self) -> User {
        match self.manager {
            "kube-apiserver" => User {
                name: "system:apiserver".into(),
                groups: vec!["system:masters".into(), "system:authenticated".into()],
                ..User::default()
            },
            "garbage-collector" => {
                User::service_account("kube-system", "generic-garbage-collector", "")
            }
            manager => User::service_account("kube-system", manager, ""),
        }
    }

    /// Whether a write has begun to wait for a webhook since the last call of this.
    pub(crate) fn take_waits(&self) -> bool {
        self.waits.swap(false, Ordering::Relaxed)
    }

    /// Runs a write that may have to ask a webhook. `name` tells it from other writes.
    fn run<T: Send>(
        &self,
        name: String,
        write: impl Future<Output = Result<T, ApiError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        let unfinished = &self.core.unfinished;
        let waiting = || {
            self.waits.store(true, Ordering::Relaxed);
            Err(ApiError::waiting())
        };
        match unfinished.take(&name) {
            Known::Nothing => {}
            Known::Waits => return waiting(),
            Known::Failed(error) => return Err(error),
        }
        let mut write = Box::pin(write);
        let first = write.as_mut();
        if let Poll::Ready(done) = first.poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
        unfinished.begin(name.clone());
        let core = self.core.clone();
        self.core.spawn(async move {
            let failure = write.await.err();
            core.unfinished.end(name, failure);
        });
        waiting()
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

    /// The target for an object in the version in which it is stored, so that its read needs no conversion.
    fn target_of(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Target, ApiError> {
        let target = self.target(resource, namespace)?;
        if target.kind.converter.is_none() {
            return Ok(target);
        }
        let stored = self.get(resource, namespace, name);
        let version = stored
            .as_ref()
            .and_then(|stored| stored["apiVersion"].as_str());
        let version = version.and_then(|version| version.rsplit('/').next());
        let registry = self.core.registry();
        let kind =
            version.and_then(|version| registry.find(&resource.group, version, &resource.resource));
        Ok(kind.map_or(target, |kind| Target::new(kind, namespace)))
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
        let options = self.options();
        if !options.admitted && target.kind.converter.is_none() {
            let created = now(create(&self.core, &target, object, &options, false));
            return created.map(|written| Arc::unwrap_or_clone(written.object));
        }
        let owner = object.pointer("/metadata/ownerReferences/0/uid");
        let name = [
            "create",
            &resource.to_string(),
            &namespace,
            meta::name(&object),
            meta::text(&object, "generateName"),
            owner.and_then(Value::as_str).unwrap_or_default(),
        ]
        .join("/");
        let core = self.core.clone();
        let created = self.run(name, async move {
            create(&core, &target, object, &options, false).await
        });
        created.map(|written| Arc::unwrap_or_clone(written.object))
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
        let target = self.target_of(resource, namespace, name)?;
        let options = self.options();
        if !options.admitted && target.kind.converter.is_none() {
            return now(self.update_and_wait(resource, namespace, name, subresource, change));
        }
        let place = namespace.unwrap_or_default();
        let write = ["update", &resource.to_string(), place, name, subresource].join("/");
        loop {
            // The function of the caller cannot wait, so its result does: at the resource version that it was made from.
            let mut new = now(super::get_current(&self.core, &target, name))?;
            let version = meta::resource_version(&new).to_owned();
            change(&mut new);
            let is_pinned = meta::resource_version(&new) != version;
            let (core, target, options) = (self.core.clone(), target.clone(), options.clone());
            let (name, subresource) = (name.to_owned(), subresource.to_owned());
            let written = self.run(write.clone(), async move {
                let changed = |_: &Value| Ok(Change::Plain(new.clone()));
                update(&core, &target, &name, &subresource, &options, changed).await
            });
            match written {
                Err(error) if error.reason == "Conflict" && !is_pinned => {}
                written => return written.map(|written| Arc::unwrap_or_clone(written.object)),
            }
        }
    }

    /// As [`update`](Self::update), for a controller that waits until the webhooks have answered.
    pub(crate) async fn update_and_wait(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        name: &str,
        subresource: &str,
        mut change: impl FnMut(&mut Value),
    ) -> Result<Value, ApiError> {
        let target = self.target_of(resource, namespace, name)?;
        let changed = |current: &Value| {
            let mut new = current.clone();
            change(&mut new);
            Ok(Change::Plain(new))
        };
        let options = self.options();
        let written = update(&self.core, &target, name, subresource, &options, changed).await;
        written.map(|written| Arc::unwrap_or_clone(written.object))
    }

    /// Sets the number of replicas in the scale of an object, as this field manager.
    pub(crate) fn scale(
        &self,
        target: &Target,
        name: &str,
        manager: &str,
        replicas: i64,
    ) -> Result<(), ApiError> {
        let options = WriteOptions {
            manager: manager.into(),
            ..self.options()
        };
        let place = target.namespace.as_deref().unwrap_or_default();
        let write = ["scale", &target.resource().to_string(), place, name].join("/");
        let (core, target, name) = (self.core.clone(), target.clone(), name.to_owned());
        let written = self.run(write, async move {
            let change = |mut scale: Value| {
                scale["spec"]["replicas"] = replicas.into();
                Ok(scale)
            };
            write_scale(&core, &target, &name, &options, change).await
        });
        written.map(drop)
    }

    pub(crate) fn delete(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, ApiError> {
        let target = self.target_of(resource, namespace, name)?;
        let mut options = options.clone();
        options.admitted = admission::is_on(&self.core);
        if !options.admitted && target.kind.converter.is_none() {
            return now(delete(&self.core, &target, name, &options));
        }
        options.user = self.user();
        let place = namespace.unwrap_or_default();
        let write = ["delete", &resource.to_string(), place, name].join("/");
        let (core, name) = (self.core.clone(), name.to_owned());
        self.run(write, async move {
            delete(&core, &target, &name, &options).await
        })
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
