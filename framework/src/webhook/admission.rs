use std::{collections::BTreeMap, fmt, sync::Arc};

use k8s_openapi::api::authentication::v1::UserInfo;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{Denied, Operation, ReadCaches, review::ReviewRequest};
use crate::{
    cache::Lister,
    client::decode_plain,
    controller::RuntimeKind,
    resource::{ApiResource, Object, ObjectKey, Resource, Scope},
};

/// The request that is admitted: who asks for what.
pub struct Admission {
    uid: String,
    operation: Operation,
    subresource: String,
    name: String,
    namespace: String,
    user: UserInfo,
    dry_run: bool,
    old_object: Option<Box<RawValue>>,
    options: Option<Box<RawValue>>,
    deadline: Instant,
    caches: ReadCaches,
    audit: Mutex<BTreeMap<String, String>>,
}

impl Admission {
    /// The rest of a request whose object is read elsewhere.
    pub(super) fn new(request: ReviewRequest, deadline: Instant, caches: ReadCaches) -> Self {
        Self {
            uid: request.uid,
            operation: request.operation,
            subresource: request.sub_resource,
            name: request.name,
            namespace: request.namespace,
            user: request.user_info,
            dry_run: request.dry_run.unwrap_or(false),
            old_object: request.old_object,
            options: request.options,
            deadline,
            caches,
            audit: Mutex::default(),
        }
    }

    /// The identifier of this call. If the API server calls a webhook again for the same request, it differs.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// What the request does.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The subresource, such as `status`. `None` for the object itself.
    pub fn subresource(&self) -> Option<&str> {
        some(&self.subresource)
    }

    /// The name of the object. `None` while the API server has not generated it from `generateName`.
    pub fn name(&self) -> Option<&str> {
        some(&self.name)
    }

    /// The namespace of the object. `None` if it is cluster-scoped.
    pub fn namespace(&self) -> Option<&str> {
        some(&self.namespace)
    }

    /// The user who sends the request. A part of the control plane sends many requests, for example the garbage collector for deletions.
    pub fn user(&self) -> &UserInfo {
        &self.user
    }

    /// Whether the user is in this group.
    pub fn user_is_in(&self, group: &str) -> bool {
        self.user.groups.iter().flatten().any(|one| one == group)
    }

    /// Whether nothing will be stored. A webhook that changes something outside of the request must not do so then.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The object before the request, for a mutation of an update. `None` on create.
    ///
    /// # Errors
    /// A denial if the object does not fit the type. `?` returns it.
    pub fn old<K: Object + DeserializeOwned>(&self) -> Result<Option<K>, Denied> {
        read_optional(self.old_object.as_deref(), "the stored object")
    }

    /// The options of the request, such as [`DeleteOptions`](k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions).
    ///
    /// # Errors
    /// A denial if the options do not fit the type. `?` returns it.
    pub fn options<T: DeserializeOwned>(&self) -> Result<Option<T>, Denied> {
        read_optional(
            self.options.as_deref(),
            "the field `options` of the request",
        )
    }

    /// The cached object of that name, in the namespace of the request if the kind is namespaced. `None` if the cache has none. It
    /// waits until the cache has synced. The cache may be a little older than the API server.
    ///
    /// ```
    /// use pilothouse::{k8s::api::core::v1::ConfigMap, prelude::*, webhook::{Admission, Change, Denied, Reads, Validate, Warnings}};
    ///
    /// /// Refuses Deployments in a namespace that is closed.
    /// struct Open;
    ///
    /// impl Validate for Open {
    ///     type Resource = Deployment;
    ///
    ///     fn reads(&self, reads: Reads) -> Reads {
    ///         reads.kind::<ConfigMap>()
    ///     }
    ///
    ///     async fn validate(&self, _: &Change<Deployment>, cx: &Admission) -> Result<Warnings, Denied> {
    ///         match cx.get::<ConfigMap>("closed").await? {
    ///             Some(_) => Err(Denied::new("the namespace is closed")),
    ///             None => Ok(Warnings::none()),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// A denial if the webhook does not declare the kind in its function `reads`, or if the object does not fit its Rust type. `?`
    /// returns it.
    pub async fn get<C: Resource>(&self, name: &str) -> Result<Option<Arc<C>>, Denied> {
        let namespace = self.namespace().filter(|_| C::Scope::NAMESPACED);
        found(&self.lister::<C>().await?, namespace, name)
    }

    /// As [`get`](Self::get), for a kind that is known only at run time.
    ///
    /// ```
    /// use pilothouse::{prelude::*, resource::{ApiResource, DynamicObject}, webhook::{Admission, Change, Denied, Reads, Validate, Warnings}};
    ///
    /// /// Refuses objects of one kind without an object of the same name of another kind.
    /// struct Backed { by: ApiResource }
    ///
    /// impl Validate for Backed {
    ///     type Resource = DynamicObject;
    ///
    ///     fn reads(&self, reads: Reads) -> Reads {
    ///         reads.dynamic::<DynamicObject>(self.by.clone())
    ///     }
    ///
    ///     async fn validate(&self, _: &Change<DynamicObject>, cx: &Admission) -> Result<Warnings, Denied> {
    ///         let name = cx.name().unwrap_or_default();
    ///         match cx.dynamic_get::<DynamicObject>(&self.by, name).await? {
    ///             Some(_) => Ok(Warnings::none()),
    ///             None => Err(Denied::new(format!("there is no {} of this name", self.by.kind))),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn dynamic_get<C: RuntimeKind>(
        &self,
        resource: &ApiResource,
        name: &str,
    ) -> Result<Option<Arc<C>>, Denied> {
        let namespace = self.namespace().filter(|_| resource.namespaced);
        found(&self.dynamic_lister::<C>(resource).await?, namespace, name)
    }

    /// The cache of a kind, to search it by name, namespace, owner or labels. It waits until the cache has synced.
    ///
    /// # Errors
    /// A denial if the webhook does not declare the kind in its function `reads`. `?` returns it.
    pub async fn lister<C: Resource>(&self) -> Result<Lister<C>, Denied> {
        let declaration = |kind: &ApiResource| format!("reads.kind::<{}>()", kind.kind);
        self.caches
            .lister(ApiResource::of::<C>(), declaration)
            .await
    }

    /// As [`lister`](Self::lister), for a kind that is known only at run time.
    ///
    /// # Errors
    /// As [`lister`](Self::lister).
    pub async fn dynamic_lister<C: RuntimeKind>(
        &self,
        resource: &ApiResource,
    ) -> Result<Lister<C>, Denied> {
        let declaration = |_: &ApiResource| "reads.dynamic(..)".to_owned();
        self.caches.lister(resource.clone(), declaration).await
    }

    /// When the answer is due. The framework denies the request then.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Adds an annotation to the audit event of the request. The API server prefixes `key` with the name of the webhook and a
    /// `/`. A second value for a key replaces the first.
    pub fn audit(&self, key: impl Into<String>, value: impl Into<String>) {
        self.audit.lock().insert(key.into(), value.into());
    }

    pub(super) fn take_audit(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut *self.audit.lock())
    }
}

/// Shows no part of an object, and not who asks.
impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("uid", &self.uid)
            .field("operation", &self.operation)
            .field("subresource", &self.subresource)
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

/// An object of a cache.
fn found<C: Object>(
    lister: &Lister<C>,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Arc<C>>, Denied> {
    lister
        .get(&ObjectKey::new(namespace, name))
        .map_err(|object| {
            let message = format!("the webhook cannot decide: {object}");
            Denied::with(500, "InternalError", message)
        })
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn read_optional<T: DeserializeOwned>(
    text: Option<&RawValue>,
    what: &str,
) -> Result<Option<T>, Denied> {
    text.map(|text| read(text, what)).transpose()
}

/// Reads an object as its type.
///
/// # Errors
/// A denial that names the field, never its value.
pub(super) fn read<T: DeserializeOwned>(text: &RawValue, what: &str) -> Result<T, Denied> {
    decode_plain(text.get().as_bytes()).map_err(|problem| unreadable(what, &problem))
}

pub(super) fn unreadable(what: &str, problem: &str) -> Denied {
    let message = format!("{what} does not fit the type that the operator has for it: {problem}");
    Denied::with(422, "Invalid", message)
}
