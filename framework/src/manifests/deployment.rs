use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment},
        core::v1::{
            Capabilities, Container, ContainerPort, HTTPGetAction, PodSecurityContext, PodSpec,
            PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile, SecretVolumeSource,
            SecurityContext, TopologySpreadConstraint, Volume, VolumeMount,
        },
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::{
        api::resource::Quantity, apis::meta::v1::LabelSelector, util::intstr::IntOrString,
    },
};

use super::{Endpoint, Installation, WebhookPort, manifests::Program};
use crate::resource::{Labels, ObjectMeta};

/// The name of the operator's container.
pub(super) const CONTAINER: &str = "operator";

/// An operator stops within 29 s. The rest is for the kubelet.
const GRACE_PERIOD_SECONDS: i64 = 35;

pub(super) fn deployment(installation: &Installation, program: &Program) -> Deployment {
    Deployment {
        metadata: installation.within(&installation.namespace),
        spec: DeploymentSpec {
            replicas: Some(program.replicas),
            selector: selector(installation),
            strategy: Some(strategy(program)),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(installation.labels()),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(installation, program)),
            },
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    }
}

fn strategy(program: &Program) -> DeploymentStrategy {
    // Without an election, two pods must not work at the same time.
    let (kind, rolling_update) = match program.elects {
        false => ("Recreate", None),
        // Written out, so that a later change to `Recreate` removes it: the server would refuse its own default then.
        true => (
            "RollingUpdate",
            Some(RollingUpdateDeployment {
                max_surge: Some(IntOrString::Int(1)),
                max_unavailable: Some(IntOrString::Int(0)),
            }),
        ),
    };
    DeploymentStrategy {
        type_: Some(kind.into()),
        rolling_update,
    }
}

pub(super) fn disruption_budget(installation: &Installation) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: installation.within(&installation.namespace),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector(installation)),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

fn selector(installation: &Installation) -> LabelSelector {
    Labels::from_iter(installation.labels()).selector()
}

fn pod(installation: &Installation, program: &Program) -> PodSpec {
    let spread = TopologySpreadConstraint {
        max_skew: 1,
        topology_key: "kubernetes.io/hostname".into(),
        when_unsatisfiable: "ScheduleAnyway".into(),
        label_selector: Some(selector(installation)),
        ..TopologySpreadConstraint::default()
    };
    PodSpec {
        service_account_name: Some(installation.name.clone()),
        containers: vec![container(program)],
        termination_grace_period_seconds: Some(GRACE_PERIOD_SECONDS),
        // The variables of a Service can have the names of settings.
        enable_service_links: Some(false),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            // No user: the image has one, and OpenShift accepts only one of its own choice.
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".into(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        volumes: some(certificates(program).map(|(name, _)| Volume {
            name: name.into(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(format!("{}-{name}", installation.name)),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        })),
        topology_spread_constraints: (program.replicas > 1).then(|| vec![spread]),
        ..PodSpec::default()
    }
}

/// The volumes of the Secrets with certificates, and the folders into which they are mounted.
fn certificates(program: &Program) -> impl Iterator<Item = (&'static str, &String)> {
    let endpoint = program.endpoint.as_ref();
    let metrics = endpoint.and_then(|endpoint| endpoint.certificate.as_ref());
    let webhooks = program.webhooks.as_ref();
    let webhooks = webhooks.and_then(|webhooks| webhooks.certificate.as_ref());
    let metrics = metrics.map(|folder| (Endpoint::CERTIFICATE, folder));
    let webhooks = webhooks.map(|folder| (WebhookPort::CERTIFICATE, folder));
    metrics.into_iter().chain(webhooks)
}

fn some<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let items: Vec<T> = items.collect();
    (!items.is_empty()).then_some(items)
}

fn container(program: &Program) -> Container {
    let endpoint = program.endpoint.as_ref();
    let metrics = endpoint.map(|endpoint| ContainerPort {
        name: Some(Endpoint::PORT.into()),
        container_port: endpoint.port.into(),
        ..ContainerPort::default()
    });
    let webhooks = program.webhooks.as_ref().map(WebhookPort::container_port);
    Container {
        name: CONTAINER.into(),
        image: Some(program.image.clone()),
        args: Some(program.args.clone()),
        ports: some(metrics.into_iter().chain(webhooks)),
        liveness_probe: endpoint.map(|endpoint| probe(endpoint, "/livez", 10, 6)),
        readiness_probe: endpoint.map(|endpoint| probe(endpoint, "/readyz", 5, 3)),
        volume_mounts: some(certificates(program).map(|(name, folder)| VolumeMount {
            name: name.into(),
            mount_path: folder.clone(),
            read_only: Some(true),
            ..VolumeMount::default()
        })),
        resources: Some(resources()),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".into()]),
                add: None,
            }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

fn probe(endpoint: &Endpoint, path: &str, period: i32, failures: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.into()),
            port: IntOrString::String(Endpoint::PORT.into()),
            scheme: endpoint.is_secure.then(|| "HTTPS".into()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        failure_threshold: Some(failures),
        ..Probe::default()
    }
}

/// Enough for 3000 cached objects by the rule of thumb of the book (`production.md`); a test compares both. There is no limit for the processor: a process that is slowed down may lose its Lease.
fn resources() -> ResourceRequirements {
    let quantities = |table: &[(&str, &str)]| -> BTreeMap<String, Quantity> {
        let pairs = table.iter();
        pairs
            .map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned())))
            .collect()
    };
    ResourceRequirements {
        requests: Some(quantities(&[("cpu", "20m"), ("memory", "64Mi")])),
        limits: Some(quantities(&[("memory", "256Mi")])),
        claims: None,
    }
}
