use std::{future::Future, marker::PhantomData};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{OperatorError, Setup};
use crate::{
    controller::{AccessUse, Controller, ControllerStatus, Environment, Failure, Reconciler},
    crd::{CrdError, CustomResourceDefinition},
    resource::{Access, ApiResource, Resource},
};

/// A controller that is to be, its reconciler's type forgotten.
pub(super) trait Registration: Send {
    /// The kind it reconciles.
    fn resource(&self) -> ApiResource;

    /// The definition of that kind, where it has one.
    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>>;

    /// Builds the reconciler and its controller.
    fn build(
        self: Box<Self>,
        surroundings: Surroundings,
    ) -> BoxFuture<'static, Result<Built, OperatorError>>;
}

/// A controller that has everything and does not work yet.
pub(super) struct Built {
    pub(super) status: ControllerStatus,
    pub(super) access: Access,
    pub(super) access_use: AccessUse,
    /// The kinds it watches.
    pub(super) wired: Vec<ApiResource>,
    /// The controller at work, until the last reconcile ended.
    pub(super) work: BoxFuture<'static, ()>,
}

/// What every controller of an operator is given.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) setup: Setup,
    pub(super) environment: Environment,
    pub(super) closing: CancellationToken,
}

/// The function that builds a reconciler.
pub(super) struct Registered<R, B> {
    build: B,
    reconciler: PhantomData<fn() -> R>,
}

impl<R, F, B> Registered<R, B>
where
    R: Reconciler,
    F: Future<Output = Result<R, Failure>> + Send + 'static,
    B: FnOnce(Setup) -> F + Send + 'static,
{
    pub(super) fn boxed(build: B) -> Box<dyn Registration> {
        Box::new(Self {
            build,
            reconciler: PhantomData,
        })
    }
}

impl<R, F, B> Registration for Registered<R, B>
where
    R: Reconciler,
    F: Future<Output = Result<R, Failure>> + Send + 'static,
    B: FnOnce(Setup) -> F + Send + 'static,
{
    fn resource(&self) -> ApiResource {
        ApiResource::of::<R::Resource>()
    }

    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>> {
        R::Resource::definition()
    }

    fn build(
        self: Box<Self>,
        surroundings: Surroundings,
    ) -> BoxFuture<'static, Result<Built, OperatorError>> {
        Box::pin(async move {
            let Surroundings {
                setup,
                environment,
                closing,
            } = surroundings;
            let failed = |reason: String| OperatorError::Reconciler {
                kind: R::Resource::KIND.into(),
                reason,
            };
            let reconciler = (self.build)(setup).await;
            let reconciler = reconciler.map_err(|failure| failed(failure.to_string()))?;
            let controller = Controller::new(reconciler);
            controller
                .check()
                .map_err(|error| failed(error.to_string()))?;
            Ok(Built {
                status: controller.status(),
                access: controller.needs(),
                access_use: controller.access_use(),
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
