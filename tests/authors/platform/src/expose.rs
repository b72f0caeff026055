//! Gives each Deployment that asks for it a Service, and a PodDisruptionBudget if it has several replicas.

use std::num::NonZeroU16;

use pilothouse::{
    controller::{Owned, Predicate},
    k8s::{
        api::{
            core::v1::{ServicePort, ServiceSpec},
            policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
        },
        apimachinery::pkg::util::intstr::IntOrString,
    },
    prelude::*,
};

/// The annotation of a Deployment that names the port of its Service.
pub const EXPOSE: &str = "platform.example.com/expose";

pub(crate) struct ExposeReconciler;

impl Reconciler for ExposeReconciler {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .when(Predicate::generation().or(Predicate::annotations()))
            .watch(Owned::<Service>::new().pruned())
            .watch(Owned::<PodDisruptionBudget>::new().pruned())
    }

    async fn reconcile(&self, deployment: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let Some(port) = deployment.annotation(EXPOSE) else {
            return Ok(Action::wait());
        };
        let port: NonZeroU16 = port.parse().map_err(|error| {
            // The framework shows the failure as an Event. Only a change of the Deployment helps.
            Failure::new(format!("{EXPOSE} is not a port: {error}: {port}")).terminal()
        })?;
        cx.apply(service(&deployment, port)).await?;
        if deployment.spec.replicas.unwrap_or(1) > 1 {
            cx.apply(budget(&deployment)).await?;
        }
        Ok(Action::wait())
    }
}

fn service(deployment: &Deployment, port: NonZeroU16) -> Service {
    let port = i32::from(port.get());
    Service {
        spec: Some(ServiceSpec {
            selector: deployment.spec.selector.match_labels.clone(),
            ports: Some(vec![ServicePort {
                name: Some("main".into()),
                port,
                protocol: Some("TCP".into()),
                target_port: Some(IntOrString::Int(port)),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Service::named(deployment.name())
    }
}

fn budget(deployment: &Deployment) -> PodDisruptionBudget {
    PodDisruptionBudget {
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(deployment.spec.selector.clone()),
            ..Default::default()
        }),
        ..PodDisruptionBudget::named(deployment.name())
    }
}
