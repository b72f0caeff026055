//! Errors of requests.

use pilothouse::{
    client::{Api, Client, ListParams, PostParams},
    k8s::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    },
    resource::{ApiResource, DynamicObject, Object},
};
use serde_json::json;

use crate::target::{Target, map};

pub(crate) async fn errors_name_the_attempt_and_the_reason(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let namespace = &target.namespace;
    let error = maps.get("none").await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(
        error.to_string(),
        format!("get ConfigMap {namespace}/none: configmaps \"none\" not found")
    );
    target.map("a", &[]).await;
    let error = maps.create(&PostParams::default(), &map("a", &[])).await.unwrap_err();
    assert!(error.is_already_exists());
    assert_eq!(
        error.to_string(),
        format!("create ConfigMap {namespace}/a: configmaps \"a\" already exists")
    );
    let lost = Api::<ConfigMap>::namespaced(&target.client, "no-such-namespace");
    let error = lost.create(&PostParams::default(), &map("a", &[])).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(error.status().unwrap().details.as_ref().unwrap().kind, "namespaces");
    let token = ListParams::default().continue_token("no-token");
    let error = maps.list(&token).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 400, "{error}");
}

pub(crate) async fn an_unserved_kind_differs_from_a_missing_object(target: &Target) {
    assert_eq!(target.api::<ConfigMap>().get_opt("none").await.unwrap(), None);
    for (group, served) in [("apps", "foos.apps/v1"), ("no.such.group", "foos.no.such.group/v1")] {
        let foos = ApiResource {
            group: group.into(),
            version: "v1".into(),
            kind: "Foo".into(),
            plural: "foos".into(),
            namespaced: true,
        };
        let foos = Api::<DynamicObject>::of(&target.client, foos, Some(&target.namespace));
        let error = foos.get_opt("a").await.unwrap_err();
        assert!(error.is_not_served(), "{error:?}");
        let advice = format!(
            "the server does not serve {served}: check group and version, or install its definition"
        );
        assert!(error.to_string().ends_with(&advice), "{error}");
    }
}

pub(crate) async fn an_invalid_object_is_reported_with_all_causes(target: &Target) {
    let deployment: Deployment = serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "Not_A_Name"},
        "spec": {
            "replicas": -1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": []}},
        },
    }))
    .unwrap();
    let deployments = target.api::<Deployment>();
    let error = deployments.create(&PostParams::default(), &deployment).await.unwrap_err();
    assert!(error.is_invalid());
    let causes = &error.status().unwrap().details.as_ref().unwrap().causes;
    let mut fields: Vec<_> = causes.iter().map(|cause| cause.field.as_str()).collect();
    fields.sort();
    assert_eq!(
        fields,
        [
            "metadata.name",
            "spec.replicas",
            "spec.template.metadata.labels",
            "spec.template.spec.containers",
        ]
    );
    let text = error.to_string();
    let begin = format!("create Deployment {}/Not_A_Name: ", target.namespace);
    assert!(text.starts_with(&begin), "{text}");
    assert!(fields.iter().all(|field| text.contains(field)), "{text}");
}

pub(crate) async fn an_unauthenticated_caller_gets_unauthorized(target: &Target) {
    let config = target.config_with_token().await.with_token("no-such-token");
    let client = Client::new(config).unwrap();
    let error = Api::<Namespace>::all(&client).get(&target.namespace).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    assert!(!error.to_string().contains("no-such-token"));
    let known = Api::<Namespace>::all(&target.client).get(&target.namespace).await.unwrap();
    assert_eq!(known.name(), target.namespace);
}
