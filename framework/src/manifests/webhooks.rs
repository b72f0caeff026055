use k8s_openapi::{
    api::core::v1::{ContainerPort, Service, ServicePort, ServiceSpec},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
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
        if let Target::Service { name, .. } = &target {
            let is_called = !options.webhooks.is_empty() || self.definitions.iter().any(converts);
            self.webhook_service = is_called.then(|| service_of(installation, name));
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

/// Whether a webhook converts the objects of a kind.
fn converts(definition: &CustomResourceDefinition) -> bool {
    let conversion = definition.spec.conversion.as_ref();
    conversion.is_some_and(|conversion| conversion.strategy == "Webhook")
}

/// A Service in front of the webhooks. It leads only to pods that are ready: a pod that stops is not ready any more, so it gets no
/// further calls.
fn service_of(installation: &Installation, name: &str) -> Service {
    let mut metadata = installation.within(&installation.namespace);
    metadata.name = Some(name.to_owned());
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

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::ConfigMap,
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceConversion,
    };

    use super::*;
    use crate::{
        manifests::{Program, Roles},
        resource::ApiResource,
        webhook::{Admission, Change, Denied, ReadCaches, Validate, Warnings, Webhook},
    };

    struct Any;

    impl Validate for Any {
        type Resource = ConfigMap;

        async fn validate(&self, _: &Change<ConfigMap>, _: &Admission) -> Result<Warnings, Denied> {
            Ok(Warnings::none())
        }
    }

    fn manifests(strategy: &str, webhooks: bool) -> Manifests {
        let program = Program {
            image: "site:1".into(),
            args: Vec::new(),
            replicas: 1,
            elects: false,
            endpoint: None,
            webhooks: None,
        };
        let mut definition = CustomResourceDefinition::default();
        definition.spec.conversion = Some(CustomResourceConversion {
            strategy: strategy.into(),
            ..CustomResourceConversion::default()
        });
        let roles = Roles::default();
        let installation = Installation::new("site").unwrap();
        let options = WebhookOptions {
            operator: "site".into(),
            namespace: String::new(),
            namespaces: Default::default(),
            webhooks: match webhooks {
                true => vec![Webhook::validating(ApiResource::of::<ConfigMap>(), Any)],
                false => Vec::new(),
            },
            conversions: Vec::new(),
            address: ":9443".parse().unwrap(),
            certificates: None,
            url: None,
            check_period: Default::default(),
            caches: ReadCaches::default(),
            #[cfg(feature = "dev")]
            called_in: None,
        };
        Manifests::new(installation, &program, vec![definition], roles).with_webhooks(&options)
    }

    #[test]
    fn one_service_leads_to_the_ready_pods_for_admission_and_for_conversions() {
        let service = |strategy: &str, webhooks: bool| {
            let service = manifests(strategy, webhooks).webhook_service?;
            Some((
                service.metadata.name?,
                service.spec?.publish_not_ready_addresses,
            ))
        };
        let expected = Some(("site-webhook".to_owned(), None));
        assert_eq!(service("Webhook", true), expected);
        assert_eq!(service("Webhook", false), expected);
        assert_eq!(service("None", true), expected);
        assert_eq!(service("None", false), None);
    }
}
