use serde_json::{Value, json};

use crate::Sandbox;
use crate::api::Handle;
use crate::error::ApiError;
use crate::registry::GroupResource;

fn classes() -> GroupResource {
    GroupResource::new("scheduling.k8s.io", "priorityclasses")
}

fn start(simulator: bool) -> (Sandbox, Handle) {
    let sandbox = Sandbox::builder().seed(1).simulator(simulator);
    let sandbox = sandbox.build().unwrap();
    let handle = Handle::new(sandbox.core(), "test");
    (sandbox, handle)
}

/// Creates a Pod whose specification has these fields, and returns its specification.
fn pod(handle: &Handle, fields: &Value) -> Result<Value, ApiError> {
    let mut pod = json!({
        "metadata": {"generateName": "one-", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    for (name, value) in fields.as_object().unwrap() {
        pod["spec"][name] = value.clone();
    }
    let created = handle.create(&GroupResource::new("", "pods"), pod)?;
    Ok(created["spec"].clone())
}

fn account(handle: &Handle, name: &str, fields: &Value) {
    let mut account = json!({"metadata": {"name": name, "namespace": "default"}});
    for (name, value) in fields.as_object().unwrap() {
        account[name] = value.clone();
    }
    let accounts = GroupResource::new("", "serviceaccounts");
    handle.create(&accounts, account).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pod_gets_the_token_of_its_service_account() {
    let (_sandbox, handle) = start(true);
    let containers = json!([
        {"name": "one", "image": "i"},
        {"name": "own", "image": "i", "volumeMounts": [
            {"name": "mine", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]},
    ]);
    let volumes = json!([{"name": "mine", "emptyDir": {}}]);
    let spec = pod(
        &handle,
        &json!({"containers": containers, "volumes": volumes}),
    )
    .unwrap();
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["serviceAccount"], "default");
    let volume = spec["volumes"][1]["name"].as_str().unwrap();
    assert!(volume.starts_with("kube-api-access-"));
    assert_eq!(spec["containers"][0]["volumeMounts"][0]["name"], volume);
    let own = spec["containers"][1]["volumeMounts"].as_array().unwrap();
    assert_eq!(own.len(), 1, "what is mounted at this place stays");
}

#[tokio::test(start_paused = true)]
async fn pod_and_account_can_do_without_the_token() {
    let (_sandbox, handle) = start(true);
    let off = json!({"automountServiceAccountToken": false});
    account(&handle, "quiet", &off);
    assert!(pod(&handle, &off).unwrap()["volumes"].is_null());
    let of_account = json!({"serviceAccountName": "quiet"});
    assert!(pod(&handle, &of_account).unwrap()["volumes"].is_null());
    let on = json!({"serviceAccountName": "quiet", "automountServiceAccountToken": true});
    assert!(pod(&handle, &on).unwrap()["volumes"].is_array());
}

#[tokio::test(start_paused = true)]
async fn a_pod_gets_the_pull_secrets_of_its_account_unless_it_has_its_own() {
    let (_sandbox, handle) = start(true);
    let secrets = json!([{"name": "registry"}]);
    account(&handle, "pulls", &json!({"imagePullSecrets": secrets}));
    let spec = pod(&handle, &json!({"serviceAccountName": "pulls"})).unwrap();
    assert_eq!(spec["imagePullSecrets"], secrets);
    let own = json!([{"name": "mine"}]);
    let given = json!({"serviceAccountName": "pulls", "imagePullSecrets": own});
    assert_eq!(pod(&handle, &given).unwrap()["imagePullSecrets"], own);
}

#[tokio::test(start_paused = true)]
async fn a_missing_account_is_refused_only_with_the_simulator() {
    let missing = json!({"serviceAccountName": "nobody"});
    let (_sandbox, handle) = start(true);
    let error = pod(&handle, &missing).unwrap_err();
    assert_eq!(error.code, 403);
    assert_eq!(
        error.message,
        "pods \"one-\" is forbidden: error looking up service account default/nobody: serviceaccount \"nobody\" not found"
    );
    let (_sandbox, handle) = start(false);
    let spec = pod(&handle, &missing).unwrap();
    assert!(spec["volumes"].is_null());
    assert!(pod(&handle, &json!({})).unwrap()["serviceAccountName"].is_null());
}

#[tokio::test(start_paused = true)]
async fn tolerations_are_added_where_the_pod_has_none_of_its_own() {
    let (_sandbox, handle) = start(false);
    let seconds = |spec: &Value| -> Vec<Value> {
        let tolerations = spec["tolerations"].as_array().unwrap().iter();
        tolerations
            .map(|one| one["tolerationSeconds"].clone())
            .collect()
    };
    assert_eq!(seconds(&pod(&handle, &json!({})).unwrap()), [300, 300]);
    let unreachable = json!({
        "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5,
    });
    let spec = pod(&handle, &json!({"tolerations": [unreachable]})).unwrap();
    assert_eq!(seconds(&spec), [5, 300]);
    let all = json!({"tolerations": [{"operator": "Exists"}]});
    assert_eq!(seconds(&pod(&handle, &all).unwrap()), [Value::Null]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_has_the_priority_of_its_class() {
    let (_sandbox, handle) = start(false);
    assert_eq!(pod(&handle, &json!({})).unwrap()["priority"], 0);
    let critical = json!({"priorityClassName": "system-node-critical"});
    assert_eq!(pod(&handle, &critical).unwrap()["priority"], 2_000_001_000);
    let error = pod(&handle, &json!({"priorityClassName": "none"})).unwrap_err();
    assert_eq!(
        error.message,
        "pods \"one-\" is forbidden: no PriorityClass with name none was found"
    );
    let error = pod(&handle, &json!({"priority": 7})).unwrap_err();
    assert_eq!(error.code, 403);
    let class = |name: &str| json!({"metadata": {"name": name}, "value": 7, "globalDefault": true, "preemptionPolicy": "Never"});
    handle.create(&classes(), class("usual")).unwrap();
    let spec = pod(&handle, &json!({})).unwrap();
    assert_eq!(
        (
            &spec["priority"],
            &spec["priorityClassName"],
            &spec["preemptionPolicy"]
        ),
        (&json!(7), &json!("usual"), &json!("Never"))
    );
    let error = handle.create(&classes(), class("second")).unwrap_err();
    assert!(
        error
            .message
            .contains("PriorityClass usual is already marked as default")
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_the_newest_default_class() {
    let (_sandbox, handle) = start(false);
    let created = |spec: &Value| {
        let mut claim = json!({
            "metadata": {"generateName": "data-", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        });
        for (field, value) in spec.as_object().unwrap() {
            claim["spec"][field] = value.clone();
        }
        let claims = GroupResource::new("", "persistentvolumeclaims");
        handle.create(&claims, claim).unwrap()["spec"]["storageClassName"].clone()
    };
    assert_eq!(created(&json!({})), Value::Null);
    let storage = GroupResource::new("storage.k8s.io", "storageclasses");
    for name in ["a-old", "z-new"] {
        let class = json!({
            "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": "example.com/disk",
        });
        handle.create(&storage, class).unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    }
    assert_eq!(created(&json!({})), "z-new");
    assert_eq!(created(&json!({"storageClassName": ""})), "");
}

fn limit_range(handle: &Handle, limits: Value) {
    let range =
        json!({"metadata": {"name": "range", "namespace": "default"}, "spec": {"limits": limits}});
    let ranges = GroupResource::new("", "limitranges");
    handle.create(&ranges, range).unwrap();
}

fn with_resources(resources: Value) -> Value {
    json!({"containers": [{"name": "c", "image": "i", "resources": resources}]})
}

#[tokio::test(start_paused = true)]
async fn containers_get_the_defaults_of_a_limit_range() {
    let (_sandbox, handle) = start(false);
    let defaults = json!({"type": "Container", "default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "1"}});
    limit_range(&handle, json!([defaults]));
    let pod = json!({
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"limits": {"memory": "2Gi"}}}],
            "initContainers": [{"name": "first", "image": "i"}],
        },
    });
    let pod = handle.create(&GroupResource::new("", "pods"), pod).unwrap();
    assert_eq!(
        pod["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}})
    );
    assert_eq!(
        pod["spec"]["initContainers"][0]["resources"],
        json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}})
    );
    assert_eq!(
        pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c; \
         cpu, memory request for init container first; cpu, memory limit for init container first"
    );
    assert_eq!(pod["status"]["qosClass"], "Burstable");
}

#[tokio::test(start_paused = true)]
async fn a_pod_outside_a_limit_range_is_refused() {
    let limits = |kind: &str, limits: Value| {
        let mut limit = limits;
        limit["type"] = json!(kind);
        json!([limit])
    };
    for (limits, resources, why) in [
        (
            limits(
                "Container",
                json!({"min": {"cpu": "100m"}, "defaultRequest": {"memory": "1Mi"}}),
            ),
            json!({"requests": {"cpu": "50m"}}),
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            limits("Pod", json!({"min": {"cpu": "100m"}})),
            json!({}),
            "minimum cpu usage per Pod is 100m.  No request is specified",
        ),
        (
            limits("Container", json!({"max": {"memory": "1Gi"}})),
            json!({"limits": {"memory": "2Gi"}}),
            "maximum memory usage per Container is 1Gi, but limit is 2Gi",
        ),
        (
            limits("Pod", json!({"max": {"memory": "1Gi", "cpu": "1"}})),
            json!({}),
            "[maximum cpu usage per Pod is 1.  No limit is specified, maximum memory usage per Pod is 1Gi.  No limit is specified]",
        ),
        (
            limits("Pod", json!({"maxLimitRequestRatio": {"cpu": "2"}})),
            json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2500m"}}),
            "cpu max limit to request ratio per Pod is 2, but provided ratio is 2.500000",
        ),
        (
            limits("Container", json!({"maxLimitRequestRatio": {"cpu": "2"}})),
            json!({"requests": {"cpu": "1"}}),
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
    ] {
        let (_sandbox, handle) = start(false);
        limit_range(&handle, limits);
        let error = pod(&handle, &with_resources(resources)).unwrap_err();
        assert_eq!(error.code, 403);
        let (_, found) = error.message.split_once("is forbidden: ").unwrap();
        assert_eq!(found, why);
    }
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_a_pod_are_those_of_its_containers_together() {
    let (_sandbox, handle) = start(false);
    limit_range(&handle, json!([{"type": "Pod", "max": {"cpu": "3"}}]));
    let container = |name: &str, cpu: &str| json!({"name": name, "image": "i", "resources": {"limits": {"cpu": cpu}}});
    let sidecar = |cpu: &str| {
        let mut sidecar = container("sidecar", cpu);
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    };
    let fits = |init: Value, second: &str| {
        let containers = json!([container("one", "1"), container("two", second)]);
        pod(
            &handle,
            &json!({"initContainers": init, "containers": containers}),
        )
        .is_ok()
    };
    assert!(
        fits(json!([container("first", "3")]), "2"),
        "an init container runs before the others"
    );
    assert!(!fits(json!([]), "2500m"));
    assert!(
        !fits(json!([sidecar("1")]), "1500m"),
        "a sidecar runs beside the others"
    );
    assert!(!fits(
        json!([sidecar("1"), container("first", "2500m")]),
        "1"
    ));
}

#[tokio::test(start_paused = true)]
async fn a_claim_outside_a_limit_range_is_refused() {
    let (_sandbox, handle) = start(false);
    limit_range(
        &handle,
        json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}]),
    );
    let create = |size: &str| {
        let claim = json!({
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
        });
        let claims = GroupResource::new("", "persistentvolumeclaims");
        handle.create(&claims, claim).map_err(|error| error.message)
    };
    assert_eq!(
        create("512Mi").unwrap_err(),
        "persistentvolumeclaims \"data\" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi"
    );
    assert_eq!(
        create("3Gi").unwrap_err(),
        "persistentvolumeclaims \"data\" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"
    );
    create("2Gi").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pod_gets_overhead_selector_and_tolerations_of_its_runtime_class() {
    let (_sandbox, handle) = start(false);
    let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"});
    let class = json!({
        "metadata": {"name": "vm"}, "handler": "vm",
        "overhead": {"podFixed": {"memory": "100Mi"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [toleration("vm")]},
    });
    let classes = GroupResource::new("node.k8s.io", "runtimeclasses");
    handle.create(&classes, class).unwrap();
    let with = |fields: Value| {
        let mut all = json!({"runtimeClassName": "vm"});
        for (name, value) in fields.as_object().unwrap() {
            all[name] = value.clone();
        }
        pod(&handle, &all).map_err(|error| {
            let (_, why) = error.message.split_once("is forbidden: ").unwrap();
            why.to_owned()
        })
    };
    let spec = with(json!({"nodeSelector": {"disk": "ssd"}, "tolerations": [toleration("vm"), toleration("gpu")]})).unwrap();
    assert_eq!(spec["overhead"], json!({"memory": "100Mi"}));
    assert_eq!(spec["nodeSelector"], json!({"disk": "ssd", "vm": "yes"}));
    let keys = |spec: &Value| -> Vec<Value> {
        let tolerations = spec["tolerations"].as_array().unwrap().iter();
        tolerations.map(|one| one["key"].clone()).collect()
    };
    assert_eq!(keys(&spec)[..2], ["vm", "gpu"]);
    assert_eq!(
        keys(&spec).len(),
        4,
        "a toleration that another one includes is left out"
    );
    assert_eq!(
        with(json!({"nodeSelector": {"vm": "no"}})).unwrap_err(),
        "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no"
    );
    assert_eq!(
        with(json!({"overhead": {"memory": "1Mi"}})).unwrap_err(),
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    );
    assert_eq!(
        with(json!({"runtimeClassName": "none"})).unwrap_err(),
        "pod rejected: RuntimeClass \"none\" not found"
    );
    let error = pod(&handle, &json!({"overhead": {"memory": "1Mi"}})).unwrap_err();
    assert!(
        error
            .message
            .ends_with("Pod Overhead set without corresponding RuntimeClass defined Overhead")
    );
}
