use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Namespace, Node, Pod},
};
use serde_json::json;

use super::{
    Admission, Change, Configurations, Denied, Mutate, Operation, ReadCaches, Rules, Target,
    Validate, Warnings, Webhook, WebhookOptions,
};
use crate::resource::{ApiResource, Labels};

/// A validation of Namespaces with most rules.
struct Strict;

impl Validate for Strict {
    type Resource = Namespace;

    fn rules(&self, rules: Rules) -> Rules {
        rules
            .operations([Operation::Update, Operation::Delete])
            .subresources(["", "status"])
            .for_objects(Labels::from_iter([("a", "b")]).selector())
            .only_if("named", "object.metadata.name != 'x'")
            .timeout(Duration::from_secs(3))
            .ignore_failures()
            .acts_outside()
    }

    async fn validate(&self, _: &Change<Namespace>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

/// A mutation with the default rules, but one.
struct Again;

impl Mutate for Again {
    type Resource = Pod;

    fn rules(&self, rules: Rules) -> Rules {
        rules.reinvoke()
    }

    async fn mutate(&self, _: &mut Pod, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

#[test]
fn rules_become_configurations() {
    let webhooks = [
        Webhook::validating(ApiResource::of::<Namespace>(), Strict),
        Webhook::mutating(ApiResource::of::<Pod>(), Again),
    ];
    let target = Target::service_of("site", "ops");
    let all = Configurations::new(
        "site",
        "ops",
        &BTreeSet::new(),
        &webhooks,
        &target,
        Some(b"pem"),
    );
    let client = |path: &str| {
        let service =
            json!({"namespace": "ops", "name": "site-webhook", "path": path, "port": 443});
        json!({"caBundle": "cGVt", "service": service})
    };
    let validating = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "site"},
        "webhooks": [{
            "name": "validate.namespaces.core",
            "clientConfig": client("/validate--v1-namespace"),
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces", "namespaces/status"],
                "operations": ["UPDATE", "DELETE"], "scope": "Cluster",
            }],
            "objectSelector": {"matchLabels": {"a": "b"}},
            "matchConditions": [{"name": "named", "expression": "object.metadata.name != 'x'"}],
            "matchPolicy": "Equivalent", "failurePolicy": "Ignore", "timeoutSeconds": 3,
            "sideEffects": "NoneOnDryRun", "admissionReviewVersions": ["v1"],
        }],
    });
    assert_eq!(json!(all.validating), validating);
    let others = json!({
        "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "ops"],
    });
    let mutating = json!([{
        "name": "mutate.pods.core",
        "clientConfig": client("/mutate--v1-pod"),
        "rules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
            "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
        }],
        // The Pods of the operator and of the cluster start without it.
        "namespaceSelector": {"matchExpressions": [others]},
        "matchPolicy": "Equivalent", "failurePolicy": "Fail", "timeoutSeconds": 10,
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "reinvocationPolicy": "IfNeeded",
    }]);
    assert_eq!(json!(all.mutating)["webhooks"], mutating);
    assert_eq!(
        all.access().to_string(),
        "mutatingwebhookconfigurations.admissionregistration.k8s.io \"site\": create, get, patch; \
         validatingwebhookconfigurations.admissionregistration.k8s.io \"site\": create, get, patch"
    );
}

#[test]
fn the_server_gives_its_last_calls_the_longest_timeout() {
    let options = WebhookOptions {
        operator: "site".into(),
        namespace: "ops".into(),
        namespaces: BTreeSet::new(),
        webhooks: vec![
            Webhook::validating(ApiResource::of::<Namespace>(), Strict),
            Webhook::mutating(ApiResource::of::<Pod>(), Again),
        ],
        conversions: Vec::new(),
        address: ":9443".parse().unwrap(),
        certificates: None,
        url: None,
        check_period: Duration::ZERO,
        caches: ReadCaches::default(),
        #[cfg(feature = "dev")]
        called_in: None,
    };
    assert_eq!(options.limits().grace, Duration::from_secs(10));
}

#[test]
fn a_url_takes_the_place_of_the_service() {
    let webhooks = [Webhook::mutating(ApiResource::of::<Pod>(), Again)];
    let target = Target::Url("https://[::1]:9443".into());
    let all = Configurations::new("site", "ops", &BTreeSet::new(), &webhooks, &target, None);
    assert_eq!(all.validating, None);
    let client = &json!(all.mutating)["webhooks"][0]["clientConfig"];
    assert_eq!(*client, json!({"url": "https://[::1]:9443/mutate--v1-pod"}));
    #[cfg(feature = "self-signed")]
    assert_eq!(target.hosts(), ["::1"]);
}

#[cfg(feature = "self-signed")]
#[test]
fn a_certificate_is_for_the_names_of_the_service() {
    assert_eq!(
        Target::service_of("site", "ops").hosts(),
        ["site-webhook.ops.svc", "site-webhook.ops.svc.cluster.local",]
    );
}

#[test]
fn a_group_is_a_part_of_path_and_name() {
    struct Any;
    impl Mutate for Any {
        type Resource = Deployment;
        async fn mutate(&self, _: &mut Deployment, _: &Admission) -> Result<Warnings, Denied> {
            Ok(Warnings::none())
        }
    }
    let webhook = Webhook::mutating(ApiResource::of::<Deployment>(), Any);
    assert_eq!(webhook.path(), "/mutate-apps-v1-deployment");
    assert_eq!(webhook.name(), "mutate.deployments.apps");
}

#[test]
fn an_operator_that_is_limited_to_namespaces_gets_no_request_from_others() {
    struct Chosen;
    impl Mutate for Chosen {
        type Resource = Deployment;
        fn rules(&self, rules: Rules) -> Rules {
            rules.in_namespaces(Labels::from_iter([("team", "web")]).selector())
        }
        async fn mutate(&self, _: &mut Deployment, _: &Admission) -> Result<Warnings, Denied> {
            Ok(Warnings::none())
        }
    }
    struct Nodes;
    impl Mutate for Nodes {
        type Resource = Node;
        async fn mutate(&self, _: &mut Node, _: &Admission) -> Result<Warnings, Denied> {
            Ok(Warnings::none())
        }
    }
    let webhooks = [
        Webhook::mutating(ApiResource::of::<Pod>(), Again),
        Webhook::mutating(ApiResource::of::<Deployment>(), Chosen),
        Webhook::mutating(ApiResource::of::<Node>(), Nodes),
        Webhook::validating(ApiResource::of::<Namespace>(), Strict),
    ];
    let target = Target::service_of("site", "ops");
    let namespaces = ["a", "b"].map(String::from).into();
    let all = Configurations::new("site", "ops", &namespaces, &webhooks, &target, None);
    let label = "kubernetes.io/metadata.name";
    let limited = json!({"key": label, "operator": "In", "values": ["a", "b"]});
    let others = json!({"key": label, "operator": "NotIn", "values": ["kube-system", "ops"]});
    let mutating = json!(all.mutating);
    let selector = |number: usize| &mutating["webhooks"][number]["namespaceSelector"];
    assert_eq!(*selector(0), json!({"matchExpressions": [others, limited]}));
    assert_eq!(
        *selector(1),
        json!({"matchLabels": {"team": "web"}, "matchExpressions": [limited]})
    );
    // The object is in no namespace. A Namespace has its own name as a label.
    assert_eq!(*selector(2), json!(null));
    let of_namespaces = &json!(all.validating)["webhooks"][0]["namespaceSelector"];
    assert_eq!(*of_namespaces, json!({"matchExpressions": [limited]}));

    // By default the operator's own namespace is left out, so nothing remains.
    let own = ["ops".to_owned()].into();
    let never = webhooks.iter().map(|one| one.is_never_called("ops", &own));
    assert_eq!(never.collect::<Vec<_>>(), [true, false, false, false]);
    assert!(!webhooks[0].is_never_called("ops", &namespaces));
}
