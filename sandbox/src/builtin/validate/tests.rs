//! Defaults and validation together, as a request meets them.

use serde_json::{Value, json};

use crate::builtin::{default_object, kinds, validate_object};

fn check(kind: &str, object: Value, old: Option<Value>) -> Vec<String> {
    let kinds = kinds();
    let kind = kinds.iter().find(|known| known.kind == kind).unwrap();
    let defaulted = |mut object: Value| {
        default_object(kind, &mut object);
        object
    };
    let (object, old) = (defaulted(object), old.map(defaulted));
    let errors = validate_object(kind, "", &object, old.as_ref());
    errors.iter().map(ToString::to_string).collect()
}

fn deployment(selector: &str, label: &str) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": selector}},
            "template": {
                "metadata": {"labels": {"app": label}},
                "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
            },
        },
    })
}

#[test]
fn a_complete_deployment_is_accepted() {
    assert!(check("Deployment", deployment("web", "web"), None).is_empty());
}

#[test]
fn a_selector_must_match_the_template() {
    assert_eq!(
        check("Deployment", deployment("web", "other"), None),
        [
            "spec.template.metadata.labels: Invalid value: {\"app\":\"other\"}: `selector` does not match template `labels`"
        ]
    );
}

/// The StatefulSet `web` of the Kubernetes documentation, whose container mounts the volume `mounted`.
fn stateful_set(mounted: &str, volumes: Value) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "serviceName": "nginx",
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {
                "metadata": {"labels": {"app": "nginx"}},
                "spec": {
                    "initContainers": [{
                        "name": "fill",
                        "image": "busybox:1",
                        "volumeMounts": [{"name": mounted, "mountPath": "/html"}],
                    }],
                    "containers": [{
                        "name": "nginx",
                        "image": "nginx:1",
                        "volumeMounts": [{"name": mounted, "mountPath": "/usr/share/nginx/html"}],
                    }],
                    "volumes": volumes,
                },
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "www"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    })
}

#[test]
fn a_container_may_mount_the_volume_of_a_claim_template() {
    let none = Vec::<String>::new();
    assert_eq!(
        check("StatefulSet", stateful_set("www", json!([])), None),
        none
    );
    // The claim replaces a volume of the same name.
    let declared = json!([{"name": "www", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]);
    for mounted in ["www", "tmp"] {
        let set = stateful_set(mounted, declared.clone());
        assert_eq!(check("StatefulSet", set, None), none, "{mounted}");
    }
    assert_eq!(
        check("StatefulSet", stateful_set("data", json!([])), None),
        [
            "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"data\"",
            "spec.template.spec.initContainers[0].volumeMounts[0].name: Not found: \"data\""
        ]
    );
}

#[test]
fn a_selector_cannot_change() {
    let errors = check(
        "Deployment",
        deployment("b", "b"),
        Some(deployment("a", "a")),
    );
    assert_eq!(
        errors,
        ["spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable"]
    );
}

#[test]
fn a_container_needs_a_name_and_an_image() {
    let mut object = deployment("web", "web");
    object["spec"]["template"]["spec"]["containers"] = json!([{}]);
    assert_eq!(
        check("Deployment", object, None),
        [
            "spec.template.spec.containers[0].name: Required value",
            "spec.template.spec.containers[0].image: Required value",
        ]
    );
}

#[test]
fn a_mount_needs_its_volume() {
    let mut object = deployment("web", "web");
    object["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": "page", "mountPath": "/html"}]);
    assert_eq!(
        check("Deployment", object, None),
        ["spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"page\""]
    );
}

#[test]
fn keys_of_a_config_map_are_validated() {
    let errors = check(
        "ConfigMap",
        json!({"data": {"a b": "1", "ok.txt": ""}}),
        None,
    );
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("data[a b]: Invalid value: \"a b\": a valid config key"),
        "{errors:?}"
    );
}

#[test]
fn an_immutable_config_map_cannot_change() {
    let old = json!({"immutable": true, "data": {"a": "1"}});
    let new = json!({"immutable": true, "data": {"a": "2"}});
    assert_eq!(
        check("ConfigMap", new, Some(old)),
        ["data: Forbidden: field is immutable when `immutable` is set"]
    );
}

#[test]
fn a_job_cannot_have_the_restart_policy_always() {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let labels = json!({"a": "b"});
    let job = json!({"metadata": {"name": "j"}, "spec": {"manualSelector": true, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}});
    assert_eq!(
        check("Job", job, None),
        [
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""
        ]
    );
}

#[test]
fn defaults_are_complete_and_idempotent() {
    let kinds = kinds();
    let kind = kinds
        .iter()
        .find(|known| known.kind == "Deployment")
        .unwrap();
    let mut object = deployment("web", "web");
    object["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"limits": {"cpu": 0.5, "memory": "1024Mi"}});
    object["metadata"]["creationTimestamp"] = Value::Null;
    default_object(kind, &mut object);
    assert_eq!(object["spec"]["replicas"], 1);
    assert_eq!(
        object["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    let pod = &object["spec"]["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Always");
    assert_eq!(pod["containers"][0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(
        pod["containers"][0]["resources"]["limits"],
        json!({"cpu": "500m", "memory": "1Gi"})
    );
    assert!(object["metadata"].get("creationTimestamp").is_none());
    let once = object.clone();
    default_object(kind, &mut object);
    assert_eq!(object, once);
}

#[test]
fn string_data_of_a_secret_is_stored_as_data() {
    let kinds = kinds();
    let kind = kinds.iter().find(|known| known.kind == "Secret").unwrap();
    let mut object = json!({"metadata": {"name": "s"}, "stringData": {"a": "hello"}});
    default_object(kind, &mut object);
    assert_eq!(
        object,
        json!({"metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "aGVsbG8="}})
    );
}
