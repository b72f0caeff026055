use std::{
    any::{TypeId, type_name},
    future::Future,
};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{OperatorError, Setup};
use crate::{
    controller::{
        AccessUse, Controller, ControllerStatus, Environment, Failure, Reconcilable, Reconciler,
        WrittenKinds,
    },
    crd::{CrdError, CustomResourceDefinition},
    resource::{Access, ApiResource, RulePlace, Versions},
};

/// A controller that is not built yet, without the type of its reconciler.
pub(super) trait Registration: Send {
    /// The reconciled kind. Returns `None` if it is known only when the controller is built.
    fn resource(&self) -> Option<&ApiResource>;

    /// The Rust type of the reconciled kind, and its name.
    fn rust_type(&self) -> (TypeId, &'static str);

    /// The definition of the kind, if the operator defines it.
    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>>;

    /// The versions of the kind, if the program converts between several.
    fn versions(&self) -> Option<Versions>;

    /// Where the CEL rules of the definition stand in the source.
    fn rule_places(&self) -> Vec<RulePlace>;

    /// What the controller declares. `None` if a function builds the reconciler: this does not call it.
    fn declared(self: Box<Self>) -> Option<DeclaredController>;

    /// Builds the reconciler and its controller.
    fn build(
        self: Box<Self>,
        context: BuildContext,
    ) -> BoxFuture<'static, Result<Built, OperatorError>>;
}

/// What a controller declares about its access, and about the objects that it writes.
#[derive(Clone, Debug)]
pub(super) struct DeclaredController {
    pub(super) access: Access,
    pub(super) written: WrittenKinds,
}

impl DeclaredController {
    pub(super) fn of<R: Reconciler>(controller: &Controller<R>) -> Self {
        Self {
            access: controller.needs(),
            written: controller.written_kinds(),
        }
    }

    /// Adds what another controller of the same kind declares.
    pub(super) fn merge(&mut self, other: &Self) {
        self.access.extend(other.access.iter().cloned());
        self.written.merge(&other.written);
    }
}

/// A controller that is ready to run.
pub(super) struct Built {
    pub(super) status: ControllerStatus,
    pub(super) declared: DeclaredController,
    pub(super) access_use: AccessUse,
    /// Whether a function has built the reconciler.
    pub(super) is_built: bool,
    /// The reconciled kind.
    pub(super) resource: ApiResource,
    /// The kinds that it watches.
    pub(super) wired: Vec<ApiResource>,
    /// Runs the controller until its last reconcile has ended.
    pub(super) work: BoxFuture<'static, ()>,
}

/// What an operator gives to each of its controllers when it builds them.
#[derive(Clone)]
pub(super) struct BuildContext {
    pub(super) setup: Setup,
    pub(super) environment: Environment,
    pub(super) closing: CancellationToken,
}

/// A controller of `R` that is not built yet.
pub(super) struct Registered<R: Reconciler> {
    resource: Option<ApiResource>,
    source: Source<R>,
}

/// How a controller is built.
enum Source<R: Reconciler> {
    /// The program has the reconciler. This calls its `wire`, which may be called only once.
    Reconciler(Box<dyn FnOnce() -> Controller<R> + Send>),
    /// A function builds the reconciler when the operator starts.
    Function(Box<dyn FnOnce(Setup) -> BuildFuture<R> + Send>),
}

type BuildFuture<R> = BoxFuture<'static, Result<Controller<R>, Failure>>;

impl<R: Reconciler> Registered<R> {
    /// A controller with a reconciler that the program has.
    pub(super) fn ready(
        resource: ApiResource,
        controller: impl FnOnce() -> Controller<R> + Send + 'static,
    ) -> Box<dyn Registration> {
        Box::new(Self {
            resource: Some(resource),
            source: Source::Reconciler(Box::new(controller)),
        })
    }

    /// A controller with a reconciler that `build` makes. Without `resource` the kind is known only then.
    pub(super) fn built<F>(
        resource: Option<ApiResource>,
        build: impl FnOnce(Setup) -> F + Send + 'static,
    ) -> Box<dyn Registration>
    where
        F: Future<Output = Result<Controller<R>, Failure>> + Send + 'static,
    {
        Box::new(Self {
            resource,
            source: Source::Function(Box::new(move |setup| Box::pin(build(setup)))),
        })
    }
}

impl<R: Reconciler> Registration for Registered<R> {
    fn resource(&self) -> Option<&ApiResource> {
        self.resource.as_ref()
    }

    fn rust_type(&self) -> (TypeId, &'static str) {
        (TypeId::of::<R::Resource>(), type_name::<R::Resource>())
    }

    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>> {
        R::Resource::definition()
    }

    fn versions(&self) -> Option<Versions> {
        R::Resource::versions()
    }

    fn rule_places(&self) -> Vec<RulePlace> {
        R::Resource::rule_places()
    }

    fn declared(self: Box<Self>) -> Option<DeclaredController> {
        match self.source {
            Source::Reconciler(controller) => Some(DeclaredController::of(&controller())),
            Source::Function(_) => None,
        }
    }

    fn build(
        self: Box<Self>,
        context: BuildContext,
    ) -> BoxFuture<'static, Result<Built, OperatorError>> {
        Box::pin(async move {
            let BuildContext {
                setup,
                environment,
                closing,
            } = context;
            let kind = |resource: Option<&ApiResource>| match resource {
                Some(known) => known.kind.to_string(),
                None => "a kind known only at run time".to_owned(),
            };
            let Self { resource, source } = *self;
            let is_built = matches!(source, Source::Function(_));
            let controller = match source {
                Source::Reconciler(controller) => controller(),
                Source::Function(build) => {
                    build(setup)
                        .await
                        .map_err(|failure| OperatorError::Reconciler {
                            kind: kind(resource.as_ref()),
                            reason: failure.to_string(),
                        })?
                }
            };
            controller
                .check()
                .map_err(|source| OperatorError::Controller {
                    kind: kind(Some(&controller.resource())),
                    source: Box::new(source),
                })?;
            Ok(Built {
                status: controller.status(),
                declared: DeclaredController::of(&controller),
                access_use: controller.access_use(),
                is_built,
                resource: controller.resource(),
                wired: controller
                    .wired()
                    .into_iter()
                    .map(|wired| wired.resource)
                    .collect(),
                work: Box::pin(controller.run(environment, closing)),
            })
        })
    }
}
