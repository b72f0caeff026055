use std::collections::BTreeSet;

use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{
        MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
        ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
};

use serde_json::Value;

use super::{Webhook, server::WebhookError};
use crate::resource::{Access, AccessRule, ApiResource, ObjectMeta};

/// The label with the name of a namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Where the API server calls the webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A Service, by its namespace and name. Its port is 443.
    Service { namespace: String, name: String },
    /// A URL without a path, such as `https://127.0.0.1:9443`.
    Url(String),
}

impl Target {
    /// The Service of an operator, at which the API server calls its admission webhooks and its conversions. It leads only to
    /// replicas that are ready: one that stops is not, so it gets no further calls.
    pub(crate) fn service_of(operator: &str, namespace: &str) -> Self {
        Self::Service {
            namespace: namespace.to_owned(),
            name: format!("{operator}-webhook"),
        }
    }

    /// Checks that the `clientConfig` of an object may lead here. Without an authority nobody is called there: who runs writes it.
    ///
    /// # Errors
    /// Another installation of the operator is called there.
    pub(super) fn check(
        &self,
        kind: &'static str,
        object: &str,
        client: &Value,
    ) -> Result<(), WebhookError> {
        let service = &client["service"];
        match (self, service["namespace"].as_str()) {
            (Self::Service { namespace, name }, Some(other))
                if other != namespace && service["name"] == **name && has_authority(client) =>
            {
                Err(WebhookError::OtherInstallation {
                    kind,
                    name: object.to_owned(),
                    other: other.to_owned(),
                    own: namespace.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    /// The host names that a certificate for the target has to have.
    #[cfg(feature = "self-signed")]
    pub(super) fn hosts(&self) -> Vec<String> {
        match self {
            Self::Service { namespace, name } => {
                let service = format!("{name}.{namespace}.svc");
                vec![service.clone(), format!("{service}.cluster.local")]
            }
            Self::Url(url) => {
                let uri = url.parse::<http::Uri>().ok();
                let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default();
                // An IPv6 address has brackets in a URL only.
                vec![host.trim_matches(['[', ']']).to_owned()]
            }
        }
    }

    fn client_config(&self, path: String, ca_bundle: Option<&[u8]>) -> WebhookClientConfig {
        let (service, url) = match self {
            Self::Service { namespace, name } => {
                let service = ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path),
                    port: Some(443),
                };
                (Some(service), None)
            }
            Self::Url(url) => (None, Some(format!("{url}{path}"))),
        };
        WebhookClientConfig {
            ca_bundle: ca_bundle.map(|bundle| ByteString(bundle.to_vec())),
            service,
            url,
        }
    }
}

/// The configurations of an operator's webhooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configurations {
    pub(crate) validating: Option<ValidatingWebhookConfiguration>,
    pub(crate) mutating: Option<MutatingWebhookConfiguration>,
}

impl Configurations {
    /// The configurations of the operator `operator`, whose pods are in `namespace`, and which works in `namespaces`. An empty set
    /// means all.
    pub(crate) fn new(
        operator: &str,
        namespace: &str,
        namespaces: &BTreeSet<String>,
        webhooks: &[Webhook],
        target: &Target,
        ca_bundle: Option<&[u8]>,
    ) -> Self {
        let metadata = || ObjectMeta {
            name: Some(operator.to_owned()),
            ..ObjectMeta::default()
        };
        let entries = webhooks.iter().map(|webhook| {
            let client_config = target.client_config(webhook.path(), ca_bundle);
            (
                webhook,
                client_config,
                webhook.namespaces(namespace, namespaces),
            )
        });
        let (mutating, validating): (Vec<_>, Vec<_>) =
            entries.partition(|(webhook, ..)| webhook.mutates);
        let validating = validating
            .into_iter()
            .map(|(webhook, client_config, namespaces)| {
                let rules = &webhook.rules;
                ValidatingWebhook {
                    name: webhook.name(),
                    client_config,
                    rules: Some(vec![webhook.rule()]),
                    namespace_selector: namespaces,
                    object_selector: rules.objects.clone(),
                    match_conditions: some(&rules.conditions),
                    match_policy: Some("Equivalent".into()),
                    failure_policy: Some(webhook.failure_policy()),
                    timeout_seconds: Some(webhook.timeout_seconds()),
                    side_effects: webhook.side_effects(),
                    admission_review_versions: vec!["v1".into()],
                }
            });
        let mutating = mutating
            .into_iter()
            .map(|(webhook, client_config, namespaces)| {
                let rules = &webhook.rules;
                let reinvocation = if rules.reinvokes { "IfNeeded" } else { "Never" };
                MutatingWebhook {
                    name: webhook.name(),
                    client_config,
                    rules: Some(vec![webhook.rule()]),
                    namespace_selector: namespaces,
                    object_selector: rules.objects.clone(),
                    match_conditions: some(&rules.conditions),
                    match_policy: Some("Equivalent".into()),
                    failure_policy: Some(webhook.failure_policy()),
                    timeout_seconds: Some(webhook.timeout_seconds()),
                    side_effects: webhook.side_effects(),
                    admission_review_versions: vec!["v1".into()],
                    reinvocation_policy: Some(reinvocation.into()),
                }
            });
        let (validating, mutating): (Vec<_>, Vec<_>) = (validating.collect(), mutating.collect());
        Self {
            validating: (!validating.is_empty()).then(|| ValidatingWebhookConfiguration {
                metadata: metadata(),
                webhooks: Some(validating),
            }),
            mutating: (!mutating.is_empty()).then(|| MutatingWebhookConfiguration {
                metadata: metadata(),
                webhooks: Some(mutating),
            }),
        }
    }

    /// The access that an operator needs to write its configurations.
    pub(crate) fn access(&self) -> Access {
        // Applying an object that does not exist is also a `create` of that name.
        let verbs = ["get", "create", "patch"];
        let validating = self.validating.iter().map(|one| {
            let rule = AccessRule::of::<ValidatingWebhookConfiguration>(verbs);
            rule.named(one.metadata.name.clone().unwrap_or_default())
        });
        let mutating = self.mutating.iter().map(|one| {
            let rule = AccessRule::of::<MutatingWebhookConfiguration>(verbs);
            rule.named(one.metadata.name.clone().unwrap_or_default())
        });
        validating.chain(mutating).map(Access::from).sum()
    }
}

impl Webhook {
    fn rule(&self) -> RuleWithOperations {
        let rules = &self.rules;
        let resource = &self.resource;
        let plural = &resource.plural;
        let resources = rules.subresources.iter().map(|name| match &**name {
            "" => plural.to_string(),
            name => format!("{plural}/{name}"),
        });
        let scope = if resource.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        };
        RuleWithOperations {
            api_groups: Some(vec![resource.group.to_string()]),
            api_versions: Some(vec![resource.version.to_string()]),
            operations: Some(rules.operations.iter().map(ToString::to_string).collect()),
            resources: Some(resources.collect()),
            scope: Some(scope.into()),
        }
    }

    /// The namespaces of the webhook.
    ///
    /// Without the default, a webhook for Pods would have to admit the Pods of its own operator and those of the cluster before it
    /// runs. An operator that is limited to namespaces gets no request from another one.
    fn namespaces(&self, own: &str, all: &BTreeSet<String>) -> Option<LabelSelector> {
        let requirement = |operator: &str, values: Vec<String>| LabelSelectorRequirement {
            key: NAMESPACE_NAME.into(),
            operator: operator.into(),
            values: Some(values),
        };
        let is_default = self.rules.namespaces.is_none();
        let others = (is_default && !self.is_own_kind && self.resource.namespaced)
            .then(|| requirement("NotIn", vec!["kube-system".into(), own.to_owned()]));
        let limited = (!all.is_empty() && self.is_in_namespaces())
            .then(|| requirement("In", all.iter().cloned().collect()));
        let added: Vec<_> = others.into_iter().chain(limited).collect();
        if added.is_empty() {
            return self.rules.namespaces.clone();
        }
        let mut selector = self.rules.namespaces.clone().unwrap_or_default();
        let requirements = selector.match_expressions.get_or_insert_default();
        requirements.extend(added);
        Some(selector)
    }

    /// Whether an API server applies the selector of namespaces to the kind. A Namespace counts as an object in itself; no other
    /// cluster-scoped object is in a namespace, so an operator that has a webhook for one gets all requests.
    fn is_in_namespaces(&self) -> bool {
        let ApiResource { group, kind, .. } = &self.resource;
        self.resource.namespaced || (group.is_empty() && &**kind == "Namespace")
    }

    /// Whether the webhook gets no request at all, because its operator is limited to namespaces that the default leaves out.
    pub(crate) fn is_never_called(&self, own: &str, all: &BTreeSet<String>) -> bool {
        let left_out = |name: &String| name == "kube-system" || name == own;
        let is_default = self.rules.namespaces.is_none() && !self.is_own_kind;
        is_default && self.resource.namespaced && !all.is_empty() && all.iter().all(left_out)
    }

    fn failure_policy(&self) -> String {
        let ignores = self.rules.ignores_failures;
        if ignores { "Ignore" } else { "Fail" }.into()
    }

    fn side_effects(&self) -> String {
        let acts = self.rules.acts_outside;
        if acts { "NoneOnDryRun" } else { "None" }.into()
    }

    fn timeout_seconds(&self) -> i32 {
        // `Rules::check` limits it.
        i32::try_from(self.rules.timeout.as_secs()).unwrap_or(30)
    }
}

fn has_authority(client: &Value) -> bool {
    let bundle = client["caBundle"].as_str();
    bundle.is_some_and(|bundle| !bundle.is_empty())
}

fn some<T: Clone>(items: &[T]) -> Option<Vec<T>> {
    (!items.is_empty()).then(|| items.to_vec())
}
