//! Patches and server-side apply.

use pilothouse::{
    client::{FieldValidation, Patch, PatchParams, PostParams},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{ApiResource, DynamicObject, Object},
};
use serde_json::{Value, json};

use crate::target::Target;

fn config_map(data: Value) -> Patch {
    Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}))
}

pub(crate) async fn applies_of_two_managers_conflict_and_can_be_forced(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let one = PatchParams::apply("one");
    let two = PatchParams::apply("two");
    let made = maps.patch("a", &one, &config_map(json!({"x": "1", "y": "1"}))).await.unwrap();
    assert!(made.metadata.managed_fields.is_none());
    let again = maps.patch("a", &one, &config_map(json!({"x": "1", "y": "1"}))).await.unwrap();
    assert_eq!(again.resource_version(), made.resource_version());
    // Each manager has a field of its own.
    maps.patch("a", &two, &config_map(json!({"z": "2"}))).await.unwrap();
    let error = maps.patch("a", &two, &config_map(json!({"x": "2"}))).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let causes = &error.status().unwrap().details.as_ref().unwrap().causes;
    assert_eq!(causes.len(), 1);
    assert_eq!((causes[0].reason.as_str(), causes[0].field.as_str()), ("FieldManagerConflict", ".data.x"));
    assert!(causes[0].message.contains("\"one\""), "{}", causes[0].message);
    let forced = maps.patch("a", &two.clone().force(), &config_map(json!({"x": "2"}))).await.unwrap();
    // The server removes a field that a manager no longer sends and no other manager owns.
    assert_eq!(json!(forced.data), json!({"x": "2", "y": "1"}));
    let managers = maps.clone().with_managed_fields().get("a").await.unwrap();
    let managers = managers.metadata.managed_fields.unwrap();
    let managers: Vec<_> = managers.iter().map(|entry| entry.manager.as_deref().unwrap()).collect();
    assert_eq!(managers, ["one", "two"]);
}

pub(crate) async fn the_four_kinds_of_patch_work(target: &Target) {
    let deployments = target.api::<Deployment>();
    let container = |name: &str, image: &str| json!({"name": name, "image": image});
    let wanted: Deployment = serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container("a", "a:1"), container("b", "b:1")]},
            },
        },
    }))
    .unwrap();
    deployments.create(&PostParams::default(), &wanted).await.unwrap();
    let params = PatchParams::default();
    let images = |deployment: &Deployment| -> Vec<String> {
        let spec = deployment.spec.template.spec.as_ref().unwrap();
        let images = spec.containers.iter().map(|container| container.image.clone());
        images.map(Option::unwrap).collect()
    };
    let containers = |of: Value| json!({"spec": {"template": {"spec": {"containers": of}}}});
    // A strategic patch merges list items by key, a merge patch replaces the list.
    let strategic = Patch::Strategic(containers(json!([container("b", "b:2")])));
    let patched = deployments.patch("web", &params, &strategic).await.unwrap();
    let mut found = images(&patched);
    found.sort();
    assert_eq!(found, ["a:1", "b:2"]);
    let merge = Patch::Merge(containers(json!([container("c", "c:1")])));
    let patched = deployments.patch("web", &params, &merge).await.unwrap();
    assert_eq!(images(&patched), ["c:1"]);
    let replicas = "/spec/template/spec/containers/0/image";
    let test = |value: &str| {
        Patch::Json(vec![
            json!({"op": "test", "path": replicas, "value": value}),
            json!({"op": "replace", "path": replicas, "value": "c:2"}),
        ])
    };
    let patched = deployments.patch("web", &params, &test("c:1")).await.unwrap();
    assert_eq!(images(&patched), ["c:2"]);
    let error = deployments.patch("web", &params, &test("c:1")).await.unwrap_err();
    assert!(error.is_invalid(), "{error}");
    let apply = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"paused": true}});
    let manager = PatchParams::apply("suite");
    let patched = deployments.patch("web", &manager, &Patch::Apply(apply)).await.unwrap();
    assert_eq!(patched.spec.paused, Some(true));
}

pub(crate) async fn unknown_fields_are_refused_warned_about_or_ignored(target: &Target) {
    let resource = ApiResource::of::<ConfigMap>();
    let maps = pilothouse::client::Api::<DynamicObject>::of(
        &target.client,
        resource,
        Some(&target.namespace),
    );
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "colour": "blue",
    }))
    .unwrap();
    let strict = PostParams::default().field_validation(FieldValidation::Strict);
    let error = maps.create(&strict, &object).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 400);
    assert!(error.to_string().contains("unknown field \"colour\""), "{error}");
    let ignore = PostParams::default().field_validation(FieldValidation::Ignore);
    let made = maps.create(&ignore, &object).await.unwrap();
    assert!(made.resource_version().is_some());
    let kept = serde_json::to_value(&made).unwrap();
    assert_eq!(kept.get("colour"), None);
}
