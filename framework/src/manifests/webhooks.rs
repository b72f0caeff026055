use k8s_openapi::{
    api::core::v1::{ContainerPort, Service, ServicePort, ServiceSpec},
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
        util::intstr::IntOrString,
    },
};

use super::{Installation, Manifests};
use crate::webhook::{Configurations, Target, WebhookOptions};

/// The label with the name of a namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// The label of the namespace of an operator with webhooks: the name of the operator.
const OWN_NAMESPACE: &str = "pilothouse.dev/operator";

/// The name of the port in the container, in the Service and in the NetworkPolicy.
pub(super) const PORT: &str = "webhook";

impl Manifests {
    /// Adds the Service and the configurations of webhooks. The configurations have no `caBundle`: the operator writes it.
    pub(crate) fn with_webhooks(mut self, options: &WebhookOptions) -> Self {
        let installation = &self.installation;
        let (name, namespace) = (&installation.name, &installation.namespace);
        let service = Target::service_of(name, namespace);
        let target = match &options.url {
            Some(url) => Target::Url(url.clone()),
            None => service,
        };
        let Configurations {
            mut validating,
            mut mutating,
        } = Configurations::new(name, namespace, &options.webhooks, &target, None);
        if let Some(validating) = &mut validating {
            validating.metadata = installation.global("");
        }
        if let Some(mutating) = &mut mutating {
            mutating.metadata = installation.global("");
        }
        if let Some(namespace) = &mut self.namespace {
            let labels = namespace.metadata.labels.get_or_insert_default();
            labels.insert(OWN_NAMESPACE.into(), name.clone());
        }
        let webhooks = validating.iter_mut().flat_map(|one| &mut one.webhooks);
        for webhook in webhooks.flatten() {
            leave_out_own(name, namespace, &mut webhook.namespace_selector);
        }
        let webhooks = mutating.iter_mut().flat_map(|one| &mut one.webhooks);
        for webhook in webhooks.flatten() {
            leave_out_own(name, namespace, &mut webhook.namespace_selector);
        }
        self.webhook_service = options.url.is_none().then(|| service_of(installation));
        self.validating_webhooks = validating;
        self.mutating_webhooks = mutating;
        self
    }
}

/// A selector that leaves out the namespace of the pods by its name leaves it out by the label, too: a kustomization that moves the
/// operator gives the Namespace another name, but does not change selectors.
fn leave_out_own(operator: &str, namespace: &str, selector: &mut Option<LabelSelector>) {
    let selector = selector.as_mut();
    let Some(requirements) = selector.and_then(|selector| selector.match_expressions.as_mut())
    else {
        return;
    };
    let leaves_it_out = |one: &LabelSelectorRequirement| {
        let mut names = one.values.iter().flatten();
        one.key == NAMESPACE_NAME && one.operator == "NotIn" && names.any(|name| name == namespace)
    };
    if let Some(place) = requirements.iter().position(leaves_it_out) {
        let by_label = LabelSelectorRequirement {
            key: OWN_NAMESPACE.into(),
            operator: "NotIn".into(),
            values: Some(vec![operator.to_owned()]),
        };
        requirements.insert(place + 1, by_label);
    }
}

/// Leads to pods that are not ready, too: an operator may need its own webhooks to become ready.
fn service_of(installation: &Installation) -> Service {
    let mut metadata = installation.within(&installation.namespace);
    metadata.name = Some(format!("{}-webhook", installation.name));
    Service {
        metadata,
        spec: Some(ServiceSpec {
            selector: Some(installation.labels()),
            publish_not_ready_addresses: Some(true),
            ports: Some(vec![ServicePort {
                name: Some(PORT.into()),
                port: 443,
                target_port: Some(IntOrString::String(PORT.into())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Where the pods serve webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookPort {
    pub(crate) port: u16,
    /// The folder of the certificate and its key, into which a Secret is mounted. Without it the operator makes them.
    pub(crate) certificate: Option<String>,
}

impl WebhookPort {
    /// The name of the volume with the certificate, and the end of the name of its Secret.
    pub(super) const CERTIFICATE: &str = "webhook-certificate";

    pub(super) fn container_port(&self) -> ContainerPort {
        ContainerPort {
            name: Some(PORT.into()),
            container_port: self.port.into(),
            ..ContainerPort::default()
        }
    }
}
