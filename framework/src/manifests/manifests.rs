use k8s_openapi::{
    api::{
        admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
        apps::v1::Deployment,
        core::v1::{Container, Namespace, Service},
        networking::v1::NetworkPolicy,
        policy::v1::PodDisruptionBudget,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use serde::Serialize;
use serde_json::Value;

use super::{Endpoint, Installation, Roles, WebhookPort, alerts, deployment, network};
use crate::{
    admission::{self, AdmissionRule},
    crd,
    resource::{DynamicObject, ObjectMeta},
};

/// Everything that an operator needs in a cluster. The command `manifests` prints it, after
/// [`Operator::manifests`](crate::operator::Operator::manifests) has changed it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Manifests {
    /// Where the operator is installed, and where it works. A change of it changes no object.
    pub installation: Installation,
    /// The namespace of the operator's pods. `None` unless it is `<name>-system`, or `--create-namespace` asks for it: who deletes the
    /// printed objects deletes a namespace with all that others have in it.
    pub namespace: Option<Namespace>,
    /// The definitions of the operator's kinds.
    pub definitions: Vec<CustomResourceDefinition>,
    /// The ServiceAccount, the roles and their bindings.
    pub roles: Roles,
    /// The Service for metrics. `None` if the operator serves none.
    pub service: Option<Service>,
    /// The Service at which the API server calls the webhooks and converts objects between the versions of a kind. It leads to the
    /// pods that are ready. `None` if the operator has no webhooks and converts no kind.
    pub webhook_service: Option<Service>,
    /// The operator's pods.
    pub deployment: Deployment,
    /// Keeps a drain of nodes from stopping all replicas at once. `None` for a single replica.
    pub pod_disruption_budget: Option<PodDisruptionBudget>,
    /// Lets nothing connect to the pods but to the ports of metrics, health and webhooks.
    pub network_policy: Option<NetworkPolicy>,
    /// The validations of the operator. It writes their `caBundle` itself.
    pub validating_webhooks: Option<ValidatingWebhookConfiguration>,
    /// The mutations of the operator. It writes their `caBundle` itself.
    pub mutating_webhooks: Option<MutatingWebhookConfiguration>,
    /// The admission rules of the operator: policies and their bindings.
    pub admission_policies: Vec<DynamicObject>,
    /// Lets the Prometheus operator collect the metrics, if this was asked for.
    pub service_monitor: Option<DynamicObject>,
    /// Lets the Prometheus operator collect the metrics without the Service, if this was asked for.
    pub pod_monitor: Option<DynamicObject>,
    /// The alerts for the Prometheus operator, if this was asked for.
    pub prometheus_rule: Option<DynamicObject>,
    /// Objects of the program's own.
    pub more: Vec<DynamicObject>,
}

/// What the pods of an operator run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) image: String,
    pub(crate) args: Vec<String>,
    pub(crate) replicas: i32,
    /// Whether the replicas elect a leader.
    pub(crate) elects: bool,
    /// Where metrics and health are served.
    pub(crate) endpoint: Option<Endpoint>,
    /// How webhooks are served. `None` if the operator has none.
    pub(crate) webhooks: Option<WebhookPort>,
}

impl Manifests {
    pub(crate) fn new(
        installation: Installation,
        program: &Program,
        definitions: Vec<CustomResourceDefinition>,
        roles: Roles,
    ) -> Self {
        let endpoint = program.endpoint.as_ref();
        Self {
            namespace: installation
                .is_in_own_namespace()
                .then(|| namespace(&installation)),
            definitions,
            roles,
            service: endpoint.map(|endpoint| network::service(&installation, endpoint)),
            webhook_service: None,
            validating_webhooks: None,
            mutating_webhooks: None,
            deployment: deployment::deployment(&installation, program),
            pod_disruption_budget: (program.replicas > 1)
                .then(|| deployment::disruption_budget(&installation)),
            network_policy: Some(network::policy(&installation, program)),
            admission_policies: Vec::new(),
            service_monitor: None,
            pod_monitor: None,
            prometheus_rule: None,
            more: Vec::new(),
            installation,
        }
    }

    /// Adds the namespace of the pods, whatever its name is.
    pub(crate) fn with_namespace(mut self) -> Self {
        self.namespace = Some(namespace(&self.installation));
        self
    }

    /// Adds the policies of admission rules.
    pub(crate) fn with_rules(mut self, rules: &[AdmissionRule]) -> Self {
        let Installation {
            name, namespaces, ..
        } = &self.installation;
        let policies = admission::policies(rules, name, &self.installation.labels(), namespaces);
        // Each has apiVersion, kind and metadata.
        let policies = policies.into_iter().map(serde_json::from_value);
        self.admission_policies = policies.filter_map(Result::ok).collect();
        self
    }

    /// Adds a ServiceMonitor, if the operator serves metrics.
    pub(crate) fn with_service_monitor(mut self, endpoint: Option<&Endpoint>) -> Self {
        let monitor = |endpoint| network::service_monitor(&self.installation, endpoint);
        self.service_monitor = endpoint.map(monitor);
        self
    }

    /// Adds a PodMonitor, if the operator serves metrics.
    pub(crate) fn with_pod_monitor(mut self, endpoint: Option<&Endpoint>) -> Self {
        let monitor = |endpoint| network::pod_monitor(&self.installation, endpoint);
        self.pod_monitor = endpoint.map(monitor);
        self
    }

    /// Adds a PrometheusRule with the alerts.
    pub(crate) fn with_prometheus_rule(mut self) -> Self {
        self.prometheus_rule = Some(alerts::prometheus_rule(&self.installation));
        self
    }

    /// The operator's container.
    pub fn container(&mut self) -> &mut Container {
        let spec = self.deployment.spec.template.spec.get_or_insert_default();
        let place = spec
            .containers
            .iter()
            .position(|one| one.name == deployment::CONTAINER);
        let place = place.unwrap_or_else(|| {
            spec.containers.push(Container {
                name: deployment::CONTAINER.into(),
                ..Container::default()
            });
            spec.containers.len() - 1
        });
        &mut spec.containers[place]
    }

    /// All objects as JSON, in the order in which they are applied.
    ///
    /// # Errors
    /// An error if an object cannot be serialized.
    pub fn to_json(&self) -> Result<Vec<Value>, serde_json::Error> {
        let mut all = Vec::new();
        add(&mut all, &self.namespace)?;
        all.extend(self.definitions.iter().map(crd::to_json));
        all.extend(self.roles.to_json()?);
        add(&mut all, &self.service)?;
        add(&mut all, &self.webhook_service)?;
        add(&mut all, &Some(&self.deployment))?;
        add(&mut all, &self.pod_disruption_budget)?;
        add(&mut all, &self.network_policy)?;
        add(&mut all, &self.validating_webhooks)?;
        add(&mut all, &self.mutating_webhooks)?;
        for policy in &self.admission_policies {
            add(&mut all, &Some(policy))?;
        }
        add(&mut all, &self.service_monitor)?;
        add(&mut all, &self.pod_monitor)?;
        add(&mut all, &self.prometheus_rule)?;
        for object in &self.more {
            add(&mut all, &Some(object))?;
        }
        Ok(all)
    }
}

fn add<K: Serialize>(all: &mut Vec<Value>, object: &Option<K>) -> Result<(), serde_json::Error> {
    if let Some(object) = object {
        all.push(serde_json::to_value(object)?);
    }
    Ok(())
}

fn namespace(installation: &Installation) -> Namespace {
    let mut labels = installation.labels();
    labels.insert(
        "pod-security.kubernetes.io/enforce".into(),
        "restricted".into(),
    );
    Namespace {
        metadata: ObjectMeta {
            name: Some(installation.namespace.clone()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }
}
