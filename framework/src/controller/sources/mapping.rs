use std::fmt;

use crate::{
    controller::{
        caches::{IndexFunction, Lookup},
        error::Result,
        owners::OwnerMark,
        predicate::{Change, Version},
        state::ControllerState,
    },
    resource::{Object, ObjectKey, ObjectMeta, Resource},
};

/// From an object of a watched kind `C` to keys of the reconciled kind.
///
/// A mapping that panics is counted and logged, and returns no keys.
pub struct Mapping<C> {
    map: Map<C>,
}

enum Map<C> {
    /// To the owner that the mark of a detached child names.
    OwnerMark,
    /// Called for the metadata of the old object and of the new one.
    Metadata(Box<OfMetadata>),
    /// Called for the old object and for the new one.
    Object(Box<OfObject<C>>),
    /// Called once per change.
    Change(Box<OfChange<C>>),
}

type OfMetadata = dyn Fn(&ObjectMeta) -> Vec<ObjectKey> + Send;
type OfObject<C> = dyn Fn(&C) -> Vec<ObjectKey> + Send;
type OfChange<C> = dyn Fn(&Change<'_, C>, &Lookup<'_>) -> Result<Vec<ObjectKey>> + Send;

impl<C: Object> Mapping<C> {
    /// Maps an object. For a change it is called with both the old object and the new one.
    pub fn objects(map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static) -> Self {
        Self {
            map: Map::Object(Box::new(map)),
        }
    }

    /// As [`objects`](Self::objects), for a mapping that needs only the metadata.
    pub fn metadata(map: impl Fn(&ObjectMeta) -> Vec<ObjectKey> + Send + 'static) -> Self {
        Self {
            map: Map::Metadata(Box::new(map)),
        }
    }

    /// Maps an object to the reconciled objects, of kind `K`, that have its key in an
    /// [index](crate::controller::Controller::index). So a change of a Secret leads to the objects that name it.
    ///
    /// [`Controller::watches_indexed`](crate::controller::Controller::watches_indexed) is the short form, which also
    /// declares the index.
    pub fn indexed<K: Resource>(index: impl IndexFunction<K, Value = ObjectKey>) -> Self {
        Self::changes(move |change, caches| {
            let users = caches.indexed(index, &change.last().key())?;
            Ok(users.iter().map(|user| user.key()).collect())
        })
    }

    /// From a detached child to its owner, if that is of the reconciled kind.
    pub(super) fn owner_mark() -> Self {
        Self {
            map: Map::OwnerMark,
        }
    }

    /// Maps a change, for a mapping that has to know what happened, or that looks something up in the caches of the wired
    /// kinds. Its errors are logged and counted.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pilothouse::controller::{Action, Context, Controller, Mapping, Reconciler, Result, Watched};
    /// use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use pilothouse::resource::Object;
    /// # struct Restarts;
    /// # impl Reconciler for Restarts {
    /// #     type Resource = Deployment;
    ///
    /// fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
    ///     // All Deployments in the namespace of a ConfigMap that was created or changed.
    ///     controller.watch(Watched::new(Mapping::<ConfigMap>::changes(|change, caches| {
    ///         let Some(namespace) = change.new().and_then(|settings| settings.namespace()) else {
    ///             return Ok(Vec::new());
    ///         };
    ///         let webs = caches.lister::<Deployment>()?.in_namespace(namespace);
    ///         Ok(webs.items.iter().map(|web| web.key()).collect())
    ///     })))
    /// }
    /// #     async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result<Action> {
    /// #         Ok(Action::wait())
    /// #     }
    /// # }
    /// ```
    pub fn changes(
        map: impl Fn(&Change<'_, C>, &Lookup<'_>) -> Result<Vec<ObjectKey>> + Send + 'static,
    ) -> Self {
        Self {
            map: Map::Change(Box::new(map)),
        }
    }

    /// Whether the mapping reads objects, and not only their metadata.
    pub(super) fn reads_objects(&self) -> bool {
        match self.map {
            Map::OwnerMark | Map::Metadata(_) => false,
            Map::Object(_) | Map::Change(_) => true,
        }
    }

    /// The keys for a change of an object of `kind`. A mapping that panics or fails is counted and logged, and returns no
    /// keys.
    pub(super) fn keys(
        &self,
        kind: &str,
        controller: &ControllerState,
        change: &Change<'_, Version<'_, C>>,
    ) -> Vec<ObjectKey> {
        let each = |map: &dyn Fn(&Version<'_, C>) -> Vec<ObjectKey>| {
            let keys = |version| {
                let what = format_args!("the mapping from {kind} {}", Version::key(version));
                controller
                    .catch_panic(what, || map(version))
                    .unwrap_or_default()
            };
            change.objects().flat_map(keys).collect()
        };
        match &self.map {
            Map::OwnerMark => each(&|version| {
                let mark = OwnerMark::on(version.metadata());
                let owner = mark.and_then(|mark| mark.key(&controller.resource));
                owner.into_iter().collect()
            }),
            Map::Metadata(map) => each(&|version| map(version.metadata())),
            Map::Object(map) => each(&|version| version.object().map(map).unwrap_or_default()),
            Map::Change(map) => {
                let what = format!("the mapping from {kind} {}", change.last().key());
                run_mapping(controller, &what, || {
                    match change.try_map(Version::object) {
                        Some(change) => map(&change, &Lookup::new(&controller.caches)),
                        None => Ok(Vec::new()),
                    }
                })
            }
        }
    }
}

impl<C> fmt::Debug for Mapping<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping").finish_non_exhaustive()
    }
}

/// Calls `map`. If it panics or fails, this counts and logs it and returns the default.
pub(super) fn run_mapping<T: Default>(
    controller: &ControllerState,
    what: &dyn fmt::Display,
    map: impl FnOnce() -> Result<T>,
) -> T {
    match controller.catch_panic(what, map) {
        Some(Ok(mapped)) => mapped,
        Some(Err(failure)) => {
            controller.metrics.handler_panics.inc();
            tracing::error!(controller = controller.name, "{what} failed: {failure}");
            T::default()
        }
        None => T::default(),
    }
}
