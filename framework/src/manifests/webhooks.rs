use k8s_openapi::{
    api::core::v1::{ContainerPort, Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{Installation, Manifests};
use crate::webhook::{Configurations, Target, WebhookOptions};

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
        } = Configurations::new(
            name,
            namespace,
            &installation.namespaces,
            &options.webhooks,
            &target,
            None,
        );
        if let Some(validating) = &mut validating {
            validating.metadata = installation.global("");
        }
        if let Some(mutating) = &mut mutating {
            mutating.metadata = installation.global("");
        }
        self.webhook_service = options.url.is_none().then(|| service_of(installation));
        self.validating_webhooks = validating;
        self.mutating_webhooks = mutating;
        self
    }
}

/// Leads only to pods that are ready. A pod that stops is not ready any more, so it gets no further calls.
fn service_of(installation: &Installation) -> Service {
    let mut metadata = installation.within(&installation.namespace);
    metadata.name = Some(format!("{}-webhook", installation.name));
    Service {
        metadata,
        spec: Some(ServiceSpec {
            selector: Some(installation.labels()),
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
