use std::sync::{Arc, OnceLock};

use super::{controller::Controller, reconciler::Reconciler};
use crate::{
    client::{AccessGuard, Client},
    controller::{
        environment::Environment,
        reconcilable::Reconcilable,
        wired::{CACHE, Role, Wired},
    },
    crd::{CrdError, CustomResourceDefinition},
    events::Recorder,
    resource::{Access, AccessRule, ApiResource, Permission, Resource},
};

/// What a controller may do. Its [`Context`](crate::controller::Context) refuses every other request.
impl<R: Reconciler> Controller<R> {
    /// The controller also deletes objects of kind `C`. [`owns`](Self::owns) alone does not allow this, because an owned
    /// object is deleted together with its owner.
    pub fn deletes<C: Resource>(self) -> Self {
        self.access(AccessRule::of::<C>(["delete"]))
    }

    /// The controller creates and changes objects of kind `C` that no reconciled object owns. They are not cached unless
    /// [`reads`](Self::reads), [`watches`](Self::watches) or [`owns`](Self::owns) declares the kind.
    pub fn writes<C: Resource>(mut self) -> Self {
        self.written.insert(ApiResource::of::<C>());
        self.access(AccessRule::of::<C>(["get", "create", "update", "patch"]))
    }

    /// The controller also needs this access: for subresources, for kinds without a Rust type, for namespaces that the
    /// operator does not watch.
    ///
    /// ```
    /// # use pilothouse::{controller::{Controller, Reconciler}, k8s::api::apps::v1::Deployment, resource::AccessRule};
    /// # fn wire<R: Reconciler>(controller: Controller<R>) -> Controller<R> {
    /// controller.access(AccessRule::of::<Deployment>(["patch"]).subresource("scale"))
    /// # }
    /// ```
    pub fn access(mut self, more: impl Into<Access>) -> Self {
        self.more = self.more.and(more);
        self
    }

    /// All requests that the controller sends to the API server, its caches included.
    ///
    /// | declared by | verbs |
    /// | --- | --- |
    /// | the reconciled kind | list, watch; patch of `status` if the program defines the kind and it has a status, or if the kind is [known only at run time](Self::dynamic) and its objects are read whole; get if the controller writes anything but Events |
    /// | always | create and patch of Events where the kinds above and below have objects, see [`Recorder::access`] |
    /// | [`owns`](Self::owns), [`Owned`](crate::controller::Owned) | get, list, watch, create, patch; update of the owner's `finalizers`, which API servers may require where owner references are set |
    /// | [`watches`](Self::watches), [`reads`](Self::reads) | list, watch; get of what the controller may also write or delete |
    /// | [`Owned::detached`](crate::controller::Owned::detached) | get, list, watch, create, patch, delete |
    /// | [`prunes`](Self::prunes) | get, list, watch, delete |
    /// | [`finalizer`](Self::finalizer), [`finalizer_when`](Self::finalizer_when), [`finalizer_retired`](Self::finalizer_retired) | patch of the reconciled kind |
    /// | [`writes`](Self::writes) | get, create, update, patch |
    /// | [`deletes`](Self::deletes) | delete |
    /// | [`access`](Self::access) | the given rules |
    ///
    /// A cache needs no `get`. The framework gets a written object if the outcome of the write is unknown (R5), and the reconciled object before
    /// it adopts or deletes others. A reconciler that gets an object with [`Context::live`](crate::controller::Context::live) declares it:
    /// `.access(AccessRule::of::<Namespace>(["get"]))`.
    pub fn needs(&self) -> Access {
        let wired = self.wired();
        let own = |verb| AccessRule::of_resource(self.own.resource(), [verb]);
        let mut needs: Access = wired.iter().map(Wired::access).sum();
        if has_status::<R::Resource>() {
            needs = needs.and(own("patch").subresource("status"));
        }
        if wired.iter().any(|wired| wired.role == Role::Owned) {
            needs = needs.and(own("update").subresource("finalizers"));
        }
        needs = needs.and_all(&self.more);
        let written = needs.iter().filter(|one| writes(one, self.own.resource()));
        let written: Vec<Permission> = written.cloned().collect();
        if !written.is_empty() {
            needs = needs.and(own("get"));
        }
        for wired in &wired {
            needs.extend(
                written
                    .iter()
                    .filter_map(|one| get_of(&wired.resource, one)),
            );
            needs = needs.and(Recorder::access_about(wired.resource.namespaced));
        }
        needs
    }

    /// Which of the declared needs were used, now and while the controller [runs](Self::run).
    pub fn access_use(&self) -> AccessUse {
        self.access_use.clone()
    }
}

/// Whether the permission is for writes of objects, or of a part of the reconciled ones.
fn writes(permission: &Permission, own: &ApiResource) -> bool {
    let is_read = matches!(&*permission.verb, "get" | "list" | "watch");
    let is_elsewhere = permission
        .resource
        .split_once('/')
        .is_some_and(|(plural, _)| plural != own.plural || permission.group != own.group);
    !is_read && !is_elsewhere
}

/// The permission to get the objects of a kind that `written` allows to write.
fn get_of(resource: &ApiResource, written: &Permission) -> Option<Permission> {
    let concerns = written.names_action(
        &written.verb,
        &resource.group,
        &resource.plural,
        written.name.as_deref(),
    );
    concerns.then(|| Permission {
        group: resource.group.to_string(),
        resource: resource.plural.to_string(),
        verb: "get".into(),
        ..written.clone()
    })
}

/// Whether the program defines the kind with a status, or may do so. The status of a built-in kind belongs to another
/// controller.
fn has_status<K: Reconcilable>() -> bool {
    match K::definition() {
        Some(definition) => defines_status(definition),
        None => K::IS_RUNTIME && !K::METADATA_ONLY,
    }
}

fn defines_status(definition: Result<CustomResourceDefinition, CrdError>) -> bool {
    let versions = definition.map(|definition| definition.spec.versions);
    // Installing the kind reports an invalid definition.
    versions.unwrap_or_default().iter().any(|version| {
        let subresources = version.subresources.as_ref();
        subresources.is_some_and(|all| all.status.is_some())
    })
}

/// Which of a controller's declared needs were used. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct AccessUse {
    guard: Arc<OnceLock<Arc<AccessGuard>>>,
}

impl AccessUse {
    /// The declared needs that were not used since the controller started. Empty before it started. See
    /// [`AccessGuard::unused`].
    pub fn unused(&self) -> Access {
        self.guard
            .get()
            .map(|guard| guard.unused())
            .unwrap_or_default()
    }

    /// The client for the contexts of a controller with these `needs`. The informers of the `wired` kinds use their part of
    /// the needs.
    pub(crate) fn guard(
        &self,
        environment: &Environment,
        needs: &Access,
        wired: &[Wired],
    ) -> (Client, Arc<AccessGuard>) {
        let namespaces: Vec<_> = environment.namespaces.iter().cloned().collect();
        let namespaces = Some(namespaces).filter(|some| !some.is_empty());
        let guard = self
            .guard
            .get_or_init(|| Arc::new(AccessGuard::new(needs, namespaces)));
        for wired in wired {
            guard.note_use(&AccessRule::of_resource(&wired.resource, CACHE).into());
        }
        (environment.client.guarded(guard.clone()), guard.clone())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{Pod, Secret},
    };

    use super::*;
    use crate::controller::{Action, Context, Result};

    struct Idle;

    impl Reconciler for Idle {
        type Resource = Deployment;

        async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
            Ok(Action::wait())
        }
    }

    /// What a controller of Deployments that declares this may get.
    fn gets(wire: impl Fn(Controller<Idle>) -> Controller<Idle>) -> Vec<String> {
        let needs = wire(Controller::new(Idle)).needs();
        let gets = needs.iter().filter(|one| one.verb == "get");
        gets.map(|one| one.resource.clone()).collect()
    }

    #[test]
    fn objects_that_are_only_cached_are_never_got() {
        assert_eq!(gets(|wire| wire.reads::<Secret>()), [""; 0]);
        let exec = || AccessRule::of::<Pod>(["create"]).subresource("exec");
        assert_eq!(gets(|wire| wire.reads::<Pod>().access(exec())), [""; 0]);
    }

    #[test]
    fn what_a_controller_writes_and_caches_is_got_and_so_is_the_reconciled_object() {
        assert_eq!(gets(|wire| wire.deletes::<Secret>()), ["deployments"]);
        assert_eq!(
            gets(|wire| wire.deletes::<Secret>().reads::<Secret>()),
            ["secrets", "deployments"]
        );
        assert_eq!(
            gets(|wire| wire.prunes::<Secret>()),
            ["secrets", "deployments"]
        );
        let status = || AccessRule::of::<Deployment>(["patch"]).subresource("status");
        assert_eq!(gets(|wire| wire.access(status())), ["deployments"]);
    }
}
