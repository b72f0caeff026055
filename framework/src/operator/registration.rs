use std::{future::Future, marker::PhantomData};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{OperatorError, Setup};
use crate::{
    controller::{
        AccessUse, Controller, ControllerStatus, Environment, Failure, Reconcilable, Reconciler,
    },
    crd::{CrdError, CustomResourceDefinition},
    resource::{Access, ApiResource},
};

/// A controller that is not built yet, without the type of its reconciler.
pub(super) trait Registration: Send {
    /// The reconciled kind. Returns `None` if it is known only when the controller is built.
    fn resource(&self) -> Option<&ApiResource>;

    /// The definition of the kind, if the operator defines it.
    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>>;

    /// Builds the reconciler and its controller.
    fn build(
        self: Box<Self>,
        context: BuildContext,
    ) -> BoxFuture<'static, Result<Built, OperatorError>>;
}

/// A controller that is ready to run.
pub(super) struct Built {
    pub(super) status: ControllerStatus,
    pub(super) access: Access,
    pub(super) access_use: AccessUse,
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

/// A function that builds a controller.
pub(super) struct Registered<R, B> {
    resource: Option<ApiResource>,
    build: B,
    reconciler: PhantomData<fn() -> R>,
}

impl<R, F, B> Registered<R, B>
where
    R: Reconciler,
    F: Future<Output = Result<Controller<R>, Failure>> + Send + 'static,
    B: FnOnce(Setup) -> F + Send + 'static,
{
    pub(super) fn boxed(resource: Option<ApiResource>, build: B) -> Box<dyn Registration> {
        Box::new(Self {
            resource,
            build,
            reconciler: PhantomData,
        })
    }
}

impl<R, F, B> Registration for Registered<R, B>
where
    R: Reconciler,
    F: Future<Output = Result<Controller<R>, Failure>> + Send + 'static,
    B: FnOnce(Setup) -> F + Send + 'static,
{
    fn resource(&self) -> Option<&ApiResource> {
        self.resource.as_ref()
    }

    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>> {
        R::Resource::definition()
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
            let failed = |resource: Option<ApiResource>, reason| OperatorError::Reconciler {
                kind: resource.map_or_else(
                    || "a kind known only at run time".into(),
                    |known| known.kind.into(),
                ),
                reason,
            };
            let Self {
                resource, build, ..
            } = *self;
            let controller = build(setup).await;
            let controller = controller.map_err(|failure| failed(resource, failure.to_string()))?;
            let checked = controller.check();
            checked.map_err(|error| failed(Some(controller.resource()), error.to_string()))?;
            Ok(Built {
                status: controller.status(),
                access: controller.needs(),
                access_use: controller.access_use(),
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
