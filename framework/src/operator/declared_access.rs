use std::{
    collections::{BTreeMap, BTreeSet},
    marker::PhantomData,
    sync::Arc,
};

use super::{
    Operator, OperatorError,
    registration::{DeclaredController, Registration},
};
use crate::{
    controller::{Action, Cleanup, Context, Controller, Reconciler, Result, WrittenKinds},
    resource::{Access, ApiResource, Resource},
};

/// What a controller may do that `rbac` and `manifests` cannot learn from a reconciler.
impl Operator {
    /// Declares what `wire` declares in a reconciler that a function builds, for `rbac`, `manifests`, `uninstall` and
    /// `adopt-from`. These commands do not call the function. Only what the calls say about access and finalizers counts, so
    /// sources and options can be left out.
    ///
    /// When the operator starts, both declarations are compared: it starts only if they need the same access and have the same
    /// finalizers.
    ///
    /// ```
    /// # use pilothouse::prelude::*;
    /// # struct Mirror { folder: std::path::PathBuf }
    /// # impl Reconciler for Mirror {
    /// #     type Resource = ConfigMap;
    /// #     fn wire(&self, controller: Controller<Self>) -> Controller<Self> { controller.owns::<Secret>() }
    /// #     async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> { Ok(Action::wait()) }
    /// # }
    /// let operator = Operator::new("mirror")
    ///     .controller_with(async |_| Ok(Mirror { folder: std::env::current_dir()? }))
    ///     .wiring::<ConfigMap>(|controller| controller.owns::<Secret>());
    /// # drop(operator);
    /// ```
    ///
    /// A function for any reconciler of the kind says it once, for `wire` and here:
    ///
    /// ```
    /// # use pilothouse::prelude::*;
    /// # struct Mirror { folder: std::path::PathBuf }
    /// fn wired<R: Reconciler<Resource = ConfigMap> + Cleanup>(controller: Controller<R>) -> Controller<R> {
    ///     controller.owns::<Secret>().finalizer("demo.pilothouse.dev/mirror")
    /// }
    ///
    /// impl Reconciler for Mirror {
    ///     type Resource = ConfigMap;
    ///     fn wire(&self, controller: Controller<Self>) -> Controller<Self> { wired(controller) }
    ///     // …
    /// #   async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> { Ok(Action::wait()) }
    /// }
    /// # impl Cleanup for Mirror {}
    ///
    /// let operator = Operator::new("mirror")
    ///     .controller_with(async |_| Ok(Mirror { folder: std::env::current_dir()? }))
    ///     .wiring::<ConfigMap>(wired);
    /// # operator.roles("ops").unwrap();
    /// ```
    pub fn wiring<K: Resource>(
        mut self,
        wire: impl FnOnce(Controller<Declared<K>>) -> Controller<Declared<K>>,
    ) -> Self {
        let declared = DeclaredController::of(&wire(Controller::new(Declared::new())));
        self.access.declare(ApiResource::of::<K>(), declared);
        self
    }

    /// Adds access that no controller declares, for `rbac` and `manifests`: that of runnables, of routes, of requests that a
    /// reconciler sends by [`Setup::client`](super::Setup::client), and of a
    /// [controller whose kind is known only at the start](Self::dynamic_controller_with).
    ///
    /// ```
    /// use pilothouse::{k8s::api::core::v1::Node, prelude::*, resource::AccessRule};
    ///
    /// let operator = Operator::new("website").access(AccessRule::of::<Node>(["list"]));
    /// # drop(operator);
    /// ```
    pub fn access(mut self, more: impl Into<Access>) -> Self {
        self.access.add(more.into());
        self
    }
}

/// The access that the program declares outside of `wire`.
#[derive(Default)]
pub(super) struct DeclaredAccess {
    /// What [`Operator::wiring`](super::Operator::wiring) declares, by kind.
    wirings: BTreeMap<ApiResource, DeclaredController>,
    /// What [`Operator::access`](super::Operator::access) declares.
    more: Option<Access>,
}

/// What all controllers and the rest of the program declare.
#[derive(Default)]
pub(super) struct DeclaredControllers {
    pub(super) access: Access,
    pub(super) written: Vec<WrittenKinds>,
    /// Whether the kind of a controller is known only when the operator starts.
    pub(super) has_unknown_kind: bool,
}

impl DeclaredAccess {
    pub(super) fn declare(&mut self, kind: ApiResource, declared: DeclaredController) {
        self.wirings
            .entry(kind)
            .and_modify(|others| others.merge(&declared))
            .or_insert(declared);
    }

    pub(super) fn add(&mut self, more: Access) {
        let declared = self.more.take().unwrap_or_default();
        self.more = Some(declared.and(more));
    }

    /// The access that no controller declares.
    pub(super) fn more(&self) -> Access {
        self.more.clone().unwrap_or_default()
    }

    /// What all controllers and the rest of the program declare. No function that builds a reconciler is called.
    ///
    /// # Errors
    /// [`OperatorError::Wiring`] if such a function stands alone: the access of its controller is not declared.
    pub(super) fn with_controllers(
        self,
        registered: Vec<Box<dyn Registration>>,
    ) -> Result<DeclaredControllers, OperatorError> {
        let mut all = DeclaredControllers {
            access: self.more(),
            ..DeclaredControllers::default()
        };
        for one in registered {
            let kind = one.resource().cloned();
            let declared = match (one.declared(), &kind) {
                (Some(declared), _) => declared,
                (None, Some(kind)) => match self.wirings.get(kind) {
                    Some(declared) => declared.clone(),
                    None => {
                        return Err(unknown(
                            kind.qualified_plural(),
                            format!(
                                "declare the same with `.wiring::<{}>(|controller| controller..)` after `.controller_with(..)`",
                                kind.kind
                            ),
                        ));
                    }
                },
                // The access of a kind that nobody knows yet is part of `more`.
                (None, None) if self.more.is_some() => {
                    all.has_unknown_kind = true;
                    continue;
                }
                (None, None) => {
                    let advice = "declare its access with `Operator::access`";
                    return Err(unknown(
                        "a kind known only at run time".into(),
                        advice.into(),
                    ));
                }
            };
            all.access.extend(declared.access.iter().cloned());
            all.written.push(declared.written);
        }
        Ok(all)
    }

    /// Compares what the controllers need that functions have built with what was declared for them.
    ///
    /// # Errors
    /// [`OperatorError::Wiring`] if it is not the same.
    pub(super) fn check(
        &self,
        built: &BTreeMap<ApiResource, DeclaredController>,
    ) -> Result<(), OperatorError> {
        for (kind, declared) in &self.wirings {
            let name = kind.qualified_plural();
            let Some(needs) = built.get(kind) else {
                let advice = "no `.controller_with(..)` builds a controller of this kind: remove the call of `.wiring`";
                return Err(wrong(name, advice.into()));
            };
            for (more, less, problem) in [
                (&needs.access, &declared.access, "lacks"),
                (&declared.access, &needs.access, "has too much:"),
            ] {
                let difference: Access = more
                    .iter()
                    .filter(|one| !less.permits(one))
                    .cloned()
                    .collect();
                if !difference.is_empty() {
                    let advice = format!(
                        "`.wiring::<{}>(..)` {problem} {difference}: declare there what `wire` declares",
                        kind.kind
                    );
                    return Err(wrong(name, advice));
                }
            }
            let (wire, wiring) = (finalizers(needs), finalizers(declared));
            for (mut difference, problem) in [
                (wire.difference(&wiring), "lacks"),
                (wiring.difference(&wire), "has too much:"),
            ] {
                if let Some(finalizer) = difference.next() {
                    let advice = format!(
                        "`.wiring::<{}>(..)` {problem} the finalizer {finalizer}: declare there what `wire` declares",
                        kind.kind
                    );
                    return Err(wrong(name, advice));
                }
            }
        }
        Ok(())
    }
}

/// The finalizers that a controller adds or removes.
fn finalizers(of: &DeclaredController) -> BTreeSet<&String> {
    let WrittenKinds {
        finalizers,
        retired,
        ..
    } = &of.written;
    finalizers.union(retired).collect()
}

fn unknown(kind: String, advice: String) -> OperatorError {
    let problem = format!(
        "a function builds its reconciler, and only `run` and `dev` call it, so what `wire` declares is not known here: {advice}"
    );
    OperatorError::Wiring { kind, problem }
}

fn wrong(kind: String, problem: String) -> OperatorError {
    OperatorError::Wiring { kind, problem }
}

/// Stands for a reconciler of the kind `K` that a function builds, in [`Operator::wiring`](super::Operator::wiring). It never
/// reconciles anything.
#[derive(Debug)]
pub struct Declared<K>(PhantomData<fn() -> K>);

impl<K> Declared<K> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

#[diagnostic::do_not_recommend]
impl<K: Resource> Reconciler for Declared<K> {
    type Resource = K;

    async fn reconcile(&self, _: Arc<K>, _: &Context<K>) -> Result {
        Ok(Action::wait())
    }
}

#[diagnostic::do_not_recommend]
impl<K: Resource> Cleanup for Declared<K> {}
