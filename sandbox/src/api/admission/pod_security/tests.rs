use serde_json::{Value, json};

use super::checks::violations;
use super::pod::Pod;
use super::policy::{Level, Policy, Standard, Version};
use crate::Sandbox;
use crate::api::Handle;
use crate::registry::GroupResource;

fn standard(level: Level, version: Version) -> Standard {
    Standard { level, version }
}

fn reasons(level: Level, version: Version, spec: &Value) -> Vec<String> {
    let pod = Pod::new(&Value::Null, spec);
    let found = violations(standard(level, version), &pod);
    found.into_iter().map(|one| one.reason).collect()
}

#[test]
fn a_standard_has_the_checks_of_its_version() {
    let plain = json!({"containers": [{"name": "a"}]});
    assert_eq!(
        reasons(Level::Restricted, Version::Latest, &plain),
        [
            "allowPrivilegeEscalation != false",
            "unrestricted capabilities",
            "runAsNonRoot != true",
            "seccompProfile"
        ]
    );
    assert_eq!(
        reasons(Level::Restricted, Version::Minor(7), &plain),
        ["runAsNonRoot != true"]
    );
    assert_eq!(reasons(Level::Baseline, Version::Latest, &plain), [""; 0]);
    let probe = json!({"httpGet": {"host": "example.com", "port": 80}});
    let probed = json!({"containers": [{"name": "a", "livenessProbe": probe}]});
    assert_eq!(
        reasons(Level::Baseline, Version::Minor(99), &probed),
        ["probe or lifecycle host"]
    );
    assert_eq!(
        reasons(Level::Baseline, Version::Minor(33), &probed),
        [""; 0]
    );
    // The strict form of a check replaces the other one.
    let path = json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}], "containers": []});
    assert_eq!(
        reasons(Level::Baseline, Version::Latest, &path),
        ["hostPath volumes"]
    );
    assert_eq!(
        reasons(Level::Restricted, Version::Latest, &path),
        ["restricted volume types"]
    );
}

#[test]
fn wrong_labels_enforce_the_strictest_standard_and_warn_about_nothing() {
    let labels =
        |mode: &str, value: &str| json!({format!("pod-security.kubernetes.io/{mode}"): value});
    let (policy, wrong) = Policy::of(&labels("enforce", "baseline"));
    assert_eq!((policy.enforce, wrong.len()), (policy.warn, 0));
    let (policy, wrong) = Policy::of(&labels("enforce", "strict"));
    assert_eq!(policy.enforce.level, Level::Restricted);
    assert_eq!((policy.warn.level, wrong.len()), (Level::Privileged, 1));
    for version in ["v1.08", "v2.0", "v1.", "v1.+1", "1.30"] {
        let (policy, wrong) = Policy::of(&labels("warn-version", version));
        assert_eq!(
            (policy.warn.version, wrong.len()),
            (Version::Latest, 1),
            "{version}"
        );
    }
}

#[tokio::test]
async fn a_pod_that_violates_the_enforced_standard_is_refused() {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let handle = Handle::new(sandbox.core(), "test");
    let namespace = json!({"metadata": {
        "name": "shop", "labels": {"pod-security.kubernetes.io/enforce": "baseline"},
    }});
    let namespaces = GroupResource::new("", "namespaces");
    handle.create(&namespaces, namespace).unwrap();
    let pods = GroupResource::new("", "pods");
    let create = |name: &str, spec: Value| {
        let mut spec = spec;
        spec["containers"] = json!([{"name": "a", "image": "a:1"}]);
        let pod = json!({"metadata": {"name": name, "namespace": "shop"}, "spec": spec});
        handle
            .create(&pods, pod)
            .map(drop)
            .map_err(|error| error.message)
    };
    let refused = create("host", json!({"hostNetwork": true}));
    let expected = "pods \"host\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)";
    assert_eq!(refused, Err(expected.to_owned()));
    assert_eq!(create("plain", json!({})), Ok(()));
    let strict = handle.update(&namespaces, None, "shop", "", |namespace| {
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "strict".into();
    });
    let strict = strict.unwrap_err().message;
    assert!(
        strict.contains("must be one of privileged, baseline, restricted"),
        "{strict}"
    );
}
