use std::sync::{Arc, OnceLock};

use super::{Controller, Environment, Reconciler, Role, Wired};
use crate::{
    client::{AccessGuard, Client},
    crd::{CrdError, CustomResourceDefinition},
    events::Recorder,
    resource::{Access, AccessRule, Resource},
};

const READ: [&str; 3] = ["get", "list", "watch"];

/// What a controller may do; what its [`Context`](super::Context) is asked for beyond that is refused.
impl<R: Reconciler> Controller<R> {
    /// It deletes objects of kind `C`, too: `owns` alone does not allow that, because what is owned goes
    /// with its owner.
    pub fn deletes<C: Resource>(self) -> Self {
        self.access(AccessRule::of::<C>(["delete"]))
    }

    /// It creates and changes objects of kind `C` that no reconciled object owns. They are not cached
    /// unless [`reads`](Self::reads), `watches` or `owns` says so.
    pub fn writes<C: Resource>(self) -> Self {
        self.access(AccessRule::of::<C>(["get", "create", "update", "patch"]))
    }

    /// It does this, too: for subresources, for kinds without a Rust type, for namespaces other than the
    /// operator's.
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

    /// All that it does to the API server, directly and by its caches.
    ///
    /// | declared by | verbs |
    /// | --- | --- |
    /// | the reconciled kind | get, list, watch; patch of `status` if the kind is the program's own and has it |
    /// | always | create and patch of Events, see [`Recorder::access`] |
    /// | `owns` | get, list, watch, create, patch; update of the owner's `finalizers`, which API servers may ask for where owners are set |
    /// | `watches`, `reads` | get, list, watch |
    /// | [`owns_detached`](Self::owns_detached) | get, list, watch, create, patch, delete |
    /// | [`prunes`](Self::prunes) | get, list, watch, delete |
    /// | [`finalizer`](Self::finalizer) | patch of the reconciled kind |
    /// | [`writes`](Self::writes) | get, create, update, patch |
    /// | [`deletes`](Self::deletes) | delete |
    /// | [`access`](Self::access) | as it says |
    pub fn needs(&self) -> Access {
        let wired = self.wired();
        let mut needs: Access = wired.iter().map(Wired::access).sum();
        if has_status::<R::Resource>() {
            needs = needs.and(AccessRule::of::<R::Resource>(["patch"]).subresource("status"));
        }
        needs = needs.and(Recorder::access());
        if wired.iter().any(|wired| wired.role == Role::Owned) {
            needs = needs.and(AccessRule::of::<R::Resource>(["update"]).subresource("finalizers"));
        }
        needs.and_all(&self.more)
    }

    /// Which of its needs were used, now and while it [runs](Self::run).
    pub fn access_use(&self) -> AccessUse {
        self.access_use.clone()
    }
}

/// The status of a built-in kind is another controller's.
fn has_status<K: Resource>() -> bool {
    K::definition().is_some_and(defines_status)
}

fn defines_status(definition: Result<CustomResourceDefinition, CrdError>) -> bool {
    let versions = definition.map(|definition| definition.spec.versions);
    // One that is wrong is told elsewhere.
    versions.unwrap_or_default().iter().any(|version| {
        let subresources = version.subresources.as_ref();
        subresources.is_some_and(|all| all.status.is_some())
    })
}

impl Wired {
    /// What being wired takes.
    pub fn access(&self) -> Access {
        let reads = Access::from(AccessRule::of_resource(&self.resource, READ));
        match self.role {
            Role::Owned => reads.and(AccessRule::of_resource(&self.resource, ["create", "patch"])),
            Role::Reconciled | Role::Watched | Role::Read => reads,
        }
    }
}

/// Which of a controller's declared needs were used; cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct AccessUse {
    guard: Arc<OnceLock<Arc<AccessGuard>>>,
}

impl AccessUse {
    /// What was declared and not used since the controller started; nothing before that. See
    /// [`AccessGuard::unused`].
    pub fn unused(&self) -> Access {
        self.guard
            .get()
            .map(|guard| guard.unused())
            .unwrap_or_default()
    }

    /// The client for contexts of a controller that needs `needs`, of which its informers use what
    /// `wired` says.
    pub(super) fn guard(
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
            guard.note_use(&AccessRule::of_resource(&wired.resource, READ).into());
        }
        (environment.client.guarded(guard.clone()), guard.clone())
    }
}
