use std::{
    any::{TypeId, type_name},
    future::Future,
    marker::PhantomData,
};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{OperatorError, Setup};
use crate::{
    controller::{
        AccessUse, Controller, ControllerStatus, Environment, Failure, Reconcilable, Reconciler,
    },
    crd::{CrdError, CustomResourceDefinition},
    resource::{Access, ApiResource, RulePlace},
};

/// A controller that is not built yet, without the type of its reconciler.
pub(super) trait Registration: Send {
    /// The reconciled kind. Returns `None` if it is known only when the controller is built.
    fn resource(&self) -> Option<&ApiResource>;

    /// The Rust type of the reconciled kind, and its name.
    fn rust_type(&self) -> (TypeId, &'static str);

    /// The definition of the kind, if the operator defines it.
    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>>;

    /// Where the CEL rules of the definition stand in the source.
    fn rule_places(&self) -> Vec<RulePlace>;

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

    fn rust_type(&self) -> (TypeId, &'static str) {
        (TypeId::of::<R::Resource>(), type_name::<R::Resource>())
    }

    fn definition(&self) -> Option<Result<CustomResourceDefinition, CrdError>> {
        R::Resource::definition()
    }

    fn rule_places(&self) -> Vec<RulePlace> {
        R::Resource::rule_places()
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
            let Self {
                resource, build, ..
            } = *self;
            let controller = build(setup).await;
            let controller = controller.map_err(|failure| OperatorError::Reconciler {
                kind: kind(resource.as_ref()),
                reason: failure.to_string(),
            })?;
            controller
                .check()
                .map_err(|source| OperatorError::Controller {
                    kind: kind(Some(&controller.resource())),
                    source: Box::new(source),
                })?;
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
