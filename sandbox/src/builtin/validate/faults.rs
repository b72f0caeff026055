//! Objects with a single fault, and what a real server says of them. The conformance test compares many more.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::builtin::{default_object, kinds, validate_object, validate_status, warnings};
use crate::registry::ServedKind;

fn kind(name: &str) -> std::sync::Arc<ServedKind> {
    let mut kinds = kinds().into_iter();
    kinds.find(|kind| kind.kind == name).unwrap()
}

/// The errors in an object of which one field has another value.
fn errors(name: &str, object: &Value, pointer: &str, value: Value) -> Vec<String> {
    let kind = kind(name);
    let mut object = object.clone();
    put(&mut object, pointer, value);
    default_object(&kind, &mut object);
    let errors = validate_object(&kind, "", &object, None);
    errors.iter().map(ToString::to_string).collect()
}

fn put(object: &mut Value, pointer: &str, value: Value) {
    let (owner, name) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(owner).unwrap()[name] = value;
}

fn pod() -> Value {
    json!({"metadata": {"name": "p"}, "spec": {"serviceAccountName": "default", "containers": [{"name": "c", "image": "i"}]}})
}

#[test]
fn pods_are_refused_with_the_texts_of_the_server() {
    let of_container = |field: &str| format!("/spec/containers/0/{field}");
    for (pointer, value, text) in [
        (
            of_container("env"),
            json!([{"name": "a=b"}]),
            "spec.containers[0].env[0].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
        (
            of_container("envFrom"),
            json!([{}]),
            "spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
        ),
        (
            of_container("livenessProbe"),
            json!({}),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            of_container("resources"),
            json!({"requests": {"a.b/c": "1"}}),
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            of_container("securityContext"),
            json!({"runAsUser": -1}),
            "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        (
            of_container("volumeDevices"),
            json!([{"name": "v", "devicePath": "/d"}]),
            "spec.containers[0].volumeDevices[0].name: Not found: \"v\"",
        ),
        (
            "/spec/volumes".into(),
            json!([{"name": "v", "nfs": {"server": "s", "path": "p"}}]),
            "spec.volumes[0].nfs.path: Invalid value: \"p\": must be an absolute path",
        ),
        (
            "/spec/tolerations".into(),
            json!([{"operator": "Equal"}]),
            "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
        ),
        (
            "/spec/resourceClaims".into(),
            json!([{"name": "a"}]),
            "spec.resourceClaims[0]: Invalid value: {\"Name\":\"a\",\"ResourceClaimName\":null,\"ResourceClaimTemplateName\":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
        (
            "/spec/dnsPolicy".into(),
            json!("None"),
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            "/spec/hostname".into(),
            json!("a.b"),
            "spec.hostname: Invalid value: \"a.b\": must not contain dots",
        ),
    ] {
        assert_eq!(errors("Pod", &pod(), &pointer, value), [text]);
    }
}

#[test]
fn other_kinds_are_refused_with_the_texts_of_the_server() {
    let template =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let cron = json!({"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}});
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    let claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1}});
    for (name, object, pointer, value, text) in [
        (
            "CronJob",
            &cron,
            "/spec/schedule",
            json!("60 * * * *"),
            "spec.schedule: Invalid value: \"60 * * * *\": end of range (60) above maximum (59): 60",
        ),
        (
            "CronJob",
            &cron,
            "/spec/timeZone",
            json!("Nowhere"),
            "spec.timeZone: Invalid value: \"Nowhere\": unknown time zone Nowhere",
        ),
        (
            "CronJob",
            &cron,
            "/spec/jobTemplate/spec/backoffLimitPerIndex",
            json!(1),
            "spec.jobTemplate.spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        ),
        (
            "Role",
            &role,
            "/rules",
            json!([{"verbs": ["get"], "nonResourceURLs": ["/x"]}]),
            "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
        ),
        (
            "PersistentVolumeClaim",
            &claim,
            "/spec/accessModes",
            json!(["Once"]),
            "spec.accessModes: Unsupported value: \"Once\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"",
        ),
        (
            "PodDisruptionBudget",
            &budget,
            "/spec/minAvailable",
            json!("101%"),
            "spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%",
        ),
    ] {
        assert_eq!(errors(name, object, pointer, value), [text]);
    }
}

#[test]
fn a_refused_change_of_a_pod_shows_what_would_change() {
    let kind = kind("Pod");
    let (mut old, mut new) = (pod(), pod());
    new["spec"]["hostname"] = "h".into();
    for pod in [&mut old, &mut new] {
        default_object(&kind, pod);
    }
    let errors = validate_object(&kind, "", &new, Some(&old));
    assert_eq!(errors.len(), 1);
    let text = errors[0].to_string();
    let lines = " \"ImagePullSecrets\": null,\n- \"Hostname\": \"\",\n+ \"Hostname\": \"h\",\n  \"Subdomain\": \"\",\n";
    assert!(text.contains(lines), "{text}");
    new["spec"]["hostname"] = Value::Null;
    new["spec"]["containers"][0]["image"] = "other".into();
    new["spec"]["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    default_object(&kind, &mut new);
    assert!(validate_object(&kind, "", &new, Some(&old)).is_empty());
}

#[test]
fn a_finished_job_needs_its_times() {
    let job = json!({"spec": {"completions": 1}, "status": {"conditions": [
        {"type": "Complete", "status": "True"}, {"type": "SuccessCriteriaMet", "status": "True"},
    ]}});
    let errors = validate_status(&kind("Job"), &job, None);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.startTime: Required value: startTime is required for finished job",
        ]
    );
}

#[test]
fn what_of_a_job_status_changes_is_judged() {
    let job = |status: Value| json!({"spec": {"completions": 4, "completionMode": "Indexed", "backoffLimitPerIndex": 1}, "status": status});
    let errors = |old: Value, new: Value| -> Vec<String> {
        let errors = validate_status(&kind("Job"), &job(new), Some(&job(old)));
        errors.iter().map(ToString::to_string).collect()
    };
    let old = || json!({"failed": 2, "completedIndexes": "0-9"});
    assert_eq!(
        errors(old(), json!({"failed": 1, "completedIndexes": "0-9"})),
        ["status.failed: Invalid value: 1: cannot decrease the failed counter"]
    );
    let overlap = json!({"failed": 2, "completedIndexes": "0,2", "failedIndexes": "1-2"});
    assert_eq!(
        errors(old(), overlap),
        [
            "status.failedIndexes: Invalid value: \"1-2\": failedIndexes and completedIndexes overlap at index: 2"
        ]
    );
    assert!(
        errors(
            old(),
            json!({"failed": 2, "completedIndexes": "0-9", "active": 1})
        )
        .is_empty()
    );
}

#[test]
fn old_labels_of_nodes_lead_to_a_warning() {
    let mut pod = pod();
    pod["spec"]["nodeSelector"] = json!({"beta.kubernetes.io/os": "linux"});
    assert_eq!(
        warnings(&kind("Pod"), &pod, None),
        [
            "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"
        ]
    );
}

/// The lists of a Pod in which a rule looks for something twice.
#[test]
fn large_pods_are_validated_in_a_short_time() {
    const COUNT: usize = 5_000;
    const LIMIT: Duration = Duration::from_secs(20);
    let many = |item: Value| Value::from(vec![item; COUNT]);
    let kind = kind("Pod");
    let container = |field: &str, items: Value| json!({"name": "c", "image": "i", field: items});
    for spec in [
        json!({"containers": [container("ports", many(json!({"containerPort": 80})))]}),
        json!({"containers": [container("env", many(json!({"name": "a", "value": "b"})))]}),
        json!({"containers": [container("volumeMounts", many(json!({"name": "v", "mountPath": "/a"})))]}),
        json!({"containers": many(container("args", json!([]))), "resources": {"limits": {"cpu": "1"}}}),
        json!({"containers": [], "volumes": many(json!({"name": "v", "emptyDir": {}}))}),
        json!({"containers": [], "tolerations": many(json!({"key": "a b"}))}),
        json!({"containers": [], "schedulingGates": many(json!({"name": "a"}))}),
        json!({"containers": [], "topologySpreadConstraints": many(json!({"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}))}),
        json!({"containers": [{"name": "c", "image": "i", "resources": {"claims": many(json!({"name": "a", "request": "r"}))}}]}),
    ] {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": spec});
        default_object(&kind, &mut pod);
        let begin = Instant::now();
        let errors = validate_object(&kind, "", &pod, None);
        assert!(!errors.is_empty() || !warnings(&kind, &pod, None).is_empty());
        let mut changed = pod.clone();
        changed["spec"]["hostname"] = "h".into();
        validate_object(&kind, "", &changed, Some(&pod));
        assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
    }
}
