//! Bodies and answers in protobuf. The bytes are compared, too: those of an answer are what the sandbox's encoder makes of the
//! JSON of the same object.

use pilothouse_sandbox::internals::protobuf;
use serde_json::{Value, json};

use super::{
    crud::map,
    gadget::{DEFINITIONS, GADGETS, definition, gadget, install},
    lists::fill,
    patches::workload,
};
use crate::run::{Ask, PROTOBUF, Run};

const EITHER: &str = "application/vnd.kubernetes.protobuf,application/json";

/// Objects whose fields have types of many sorts.
fn samples(namespace: &str) -> Vec<(&'static str, Value)> {
    // The admission of a real server adds the last fields; that of the sandbox only with the simulator.
    let pod = json!({"restartPolicy": "Never", "containers": [{
        "name": "a", "image": "a", "command": ["x", ""],
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {"cpu": "1.5", "memory": "64Mi"}},
        "livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 5},
        "ports": [{"name": "web", "containerPort": 80}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }], "volumes": [{"name": "v", "configMap": {"name": "a", "defaultMode": 256}}],
        "automountServiceAccountToken": false, "serviceAccountName": "default",
    });
    vec![
        ("v1/configmaps", map("a")),
        (
            "v1/secrets",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "labels": {"b": "2", "a": ""}}, "data": {"b": "", "a": "AP8="}}),
        ),
        (
            "v1/serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "finalizers": ["pilothouse.dev/a"]}, "automountServiceAccountToken": false}),
        ),
        (
            "v1/services",
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"name": "x", "port": 80, "targetPort": "web"}, {"name": "y", "port": 81}]}}),
        ),
        (
            "v1/pods",
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod}),
        ),
        (
            "v1/events",
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": namespace}, "reason": "R", "message": "é", "type": "Normal", "count": 1, "firstTimestamp": "2026-01-01T00:00:00Z", "source": {"component": "c"}}),
        ),
        ("apps/v1/deployments", workload("a")),
        (
            "apps/v1/controllerrevisions",
            json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}, "data": {"a": [1, {"b": null}]}, "revision": 1}),
        ),
        (
            "batch/v1/jobs",
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"suspend": true, "template": {"spec": pod}}}),
        ),
        (
            "batch/v1/cronjobs",
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": {"schedule": "* * * * *", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": pod}}}}}),
        ),
        (
            "coordination.k8s.io/v1/leases",
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "1969-12-31T23:59:59.999999Z"}}),
        ),
        (
            "policy/v1/poddisruptionbudgets",
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}, "spec": {"maxUnavailable": "50%", "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}}),
        ),
        (
            "rbac.authorization.k8s.io/v1/roles",
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
    ]
}

pub(crate) async fn objects(run: &mut Run) {
    let accounts = run.path("v1/serviceaccounts");
    let account = json!({"metadata": {"name": "default"}});
    run.until(Ask::post(accounts, account), |answer| {
        matches!(answer.code, 201 | 409)
    })
    .await;
    for (kind, object) in samples(&run.namespace) {
        let path = run.path(kind);
        write(run, kind, &path, object).await;
    }
    let mut unserved = definition();
    unserved["metadata"]["name"] = "widgets.protobuf.pilothouse.dev".into();
    unserved["spec"]["group"] = "protobuf.pilothouse.dev".into();
    unserved["spec"]["names"] = json!({"plural": "widgets", "kind": "Widget"});
    let ask = Ask::post(format!("{DEFINITIONS}?dryRun=All"), unserved);
    run.step("definition: created", ask.in_protobuf()).await;

    let accounts = run.path("v1/serviceaccounts/a/token");
    let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["x"], "expirationSeconds": 700}});
    let token = run
        .send_unrecorded(Ask::post(accounts, token).in_protobuf())
        .await;
    run.record("token", token.body["spec"].clone());
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "b"}, "spec": {"replicas": 0}});
    let deployments = run.path("apps/v1/deployments");
    run.send_unrecorded(Ask::post(&deployments, workload("b")))
        .await;
    let path = format!("{deployments}/b/scale");
    run.step("scale: get", Ask::get(&path).in_protobuf()).await;
    run.step("scale: put", Ask::put(&path, scale).in_protobuf())
        .await;
    let attributes = json!({"verb": "get", "resource": "pods", "namespace": "default"});
    for (kind, spec) in [
        (
            "SelfSubjectAccessReview",
            json!({"resourceAttributes": attributes}),
        ),
        (
            "SubjectAccessReview",
            json!({"resourceAttributes": attributes, "user": "u", "groups": ["g"], "extra": {"a": ["b"]}}),
        ),
        ("SelfSubjectAccessReview", json!({})),
    ] {
        let path = format!("/apis/authorization.k8s.io/v1/{}s", kind.to_lowercase());
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
        run.step(kind, Ask::post(path, review).in_protobuf()).await;
    }
}

/// Takes an object through its life.
async fn write(run: &mut Run, kind: &str, path: &str, object: Value) {
    let one = format!("{path}/a");
    let created = Ask::post(path, object.clone()).in_protobuf();
    run.step(format!("{kind}: created"), created.clone()).await;
    run.step(format!("{kind}: again"), created).await;
    let read = run.step(format!("{kind}: JSON"), Ask::get(&one)).await;
    run.step(format!("{kind}: protobuf"), Ask::get(&one).in_protobuf())
        .await;
    let bytes = run.bytes(Ask::get(&one).in_protobuf()).await;
    let encoded = protobuf::encode(&read.body).unwrap();
    run.record(format!("{kind}: bytes"), (bytes == encoded).into());
    let mut changed = read.body.clone();
    changed["metadata"]["annotations"] = json!({"changed": "yes"});
    let put = Ask::put(&one, changed).in_protobuf();
    run.step(format!("{kind}: put"), put.clone()).await;
    run.step(format!("{kind}: put again"), put).await;
    let patch = json!({"metadata": {"annotations": {"changed": "no"}}});
    let patch = Ask::merge(&one, patch).accept(PROTOBUF);
    run.step(format!("{kind}: patched"), patch).await;
    let watch = format!("{path}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Da");
    run.step(
        format!("{kind}: list"),
        Ask::get(format!("{path}?limit=5")).in_protobuf(),
    )
    .await;
    run.step(format!("{kind}: watch"), Ask::get(watch).in_protobuf())
        .await;
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "x"}});
    let delete = Ask::delete(&one).body(options).in_protobuf();
    run.step(format!("{kind}: delete another"), delete).await;
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"});
    let delete = Ask::delete(&one).body(options).in_protobuf();
    run.step(format!("{kind}: deleted"), delete).await;
}

pub(crate) async fn refused(run: &mut Run) {
    let maps = run.path("v1/configmaps");
    let other = protobuf::encode(&json!({"apiVersion": "v1", "kind": "Secret"})).unwrap();
    let envelope = |version: &str, kind: &str, inner: &[u8]| {
        let mut names = vec![0x0a, version.len() as u8];
        names.extend(version.as_bytes());
        names.extend([0x12, kind.len() as u8]);
        names.extend(kind.as_bytes());
        let mut body = b"k8s\0\x0a".to_vec();
        body.push(names.len() as u8);
        body.extend(names);
        body.extend([0x12, inner.len() as u8]);
        body.extend(inner);
        body
    };
    let inner = |inner: &[u8]| envelope("v1", "ConfigMap", inner);
    let mut steps = Vec::new();
    for (name, body) in [
        ("nothing", Vec::new()),
        ("JSON", b"{}".to_vec()),
        ("magic", b"k8s\0".to_vec()),
        ("end", b"k8s\0\xff".to_vec()),
        ("tag", b"k8s\0\0\0".to_vec()),
        ("no names", b"k8s\0\x12\0".to_vec()),
        ("another kind", other),
        ("an unknown kind", envelope("v1", "Thing", b"")),
        ("an unknown version", envelope("v2", "ConfigMap", b"")),
        ("a strange version", envelope("a/b/c", "ConfigMap", b"")),
        ("the end of a group", inner(&[0x0c])),
        ("an illegal tag", inner(&[0])),
        ("another wire type", inner(&[0x08, 1])),
        ("another wire type inside", inner(&[0x0a, 2, 0x28, 1])),
        ("an unknown wire type", inner(&[0xc6, 0x3e])),
        ("an unknown group without an end", inner(&[0xc3, 0x3e])),
        ("a long number", inner(&[0xff; 11])),
        (
            "a negative length",
            inner(&[
                0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
            ]),
        ),
        ("a long length", inner(&[0x0a, 3, 1])),
        ("an entry that ends a group", inner(&[0x12, 1, 0x24])),
        (
            "unknown fields",
            inner(&[
                0xc0, 0x3e, 5, 0x0a, 3, 0x0a, 1, b'a', 0xc3, 0x3e, 8, 1, 0xc4, 0x3e,
            ]),
        ),
        ("no text", inner(&[0x0a, 3, 0x0a, 1, 0xff])),
        (
            "two names",
            inner(&[0x0a, 3, 0x0a, 1, b'b', 0x0a, 3, 0x0a, 1, b'c']),
        ),
        (
            "an entry without a value",
            inner(&[0x0a, 3, 0x0a, 1, b'd', 0x12, 3, 0x0a, 1, b'k']),
        ),
        ("an empty entry", inner(&[0x0a, 3, 0x0a, 1, b'e', 0x12, 0])),
    ] {
        let ask = Ask::post(&maps, json!({})).raw(PROTOBUF, body.clone());
        steps.push((name.to_owned(), ask));
        // An object is no body of options, but its tags say what is read.
        if !body.is_empty() {
            let ask = Ask::delete(format!("{maps}/none")).raw(PROTOBUF, body);
            steps.push((format!("delete with {name}"), ask));
        }
    }
    let pods = run.path("v1/pods");
    for (name, path, kind) in [("quantity", &pods, "Pod"), ("other owner", &maps, "Pod")] {
        // `spec.containers[0].resources.limits`: an entry whose quantity is `x`.
        let limit = [0x0a, 1, b'k', 0x12, 3, 0x0a, 1, b'x'];
        let mut nested = limit.to_vec();
        for tag in [0x0a, 0x42, 0x12, 0x12] {
            nested.splice(0..0, [tag, nested.len() as u8]);
        }
        let ask = Ask::post(path, json!({})).raw(PROTOBUF, envelope("v1", kind, &nested));
        steps.push((name.to_owned(), ask));
    }
    for (name, path) in [
        ("eviction", format!("{pods}/a/eviction")),
        ("binding", format!("{pods}/a/binding")),
        ("token", run.path("v1/serviceaccounts/a/token")),
        ("scale", run.path("apps/v1/deployments/a/scale")),
        (
            "review",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".into(),
        ),
        (
            "token review",
            "/apis/authentication.k8s.io/v1/tokenreviews".into(),
        ),
    ] {
        let bad = b"k8s\0\xff";
        let ask = match name {
            "scale" => Ask::put(path, json!({})),
            _ => Ask::post(path, json!({})),
        };
        steps.push((format!("{name}: end"), ask.raw(PROTOBUF, &bad[..])));
    }
    let patch = Ask::patch(format!("{maps}/a"), PROTOBUF, json!({}));
    steps.push(("patch".to_owned(), patch));
    run.steps(steps).await;
}

pub(crate) async fn forms(run: &mut Run) {
    const PARTIAL: &str =
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    for (kind, path) in fill(run).await {
        for (form, accept) in [
            ("protobuf", PROTOBUF.to_owned()),
            ("either", EITHER.to_owned()),
            ("stream", format!("{PROTOBUF};stream=watch")),
            (
                "JSON first",
                "application/json,application/vnd.kubernetes.protobuf".into(),
            ),
            (
                "JSON later",
                format!("application/json;q=0.5,{PROTOBUF};q=0.6"),
            ),
            ("table", PARTIAL.replace("PartialObjectMetadata", "Table")),
            (
                "table or JSON",
                format!(
                    "{},application/json",
                    PARTIAL.replace("PartialObjectMetadata", "Table")
                ),
            ),
            ("metadata", PARTIAL.to_owned()),
            (
                "metadata of a list",
                PARTIAL.replace("Metadata", "MetadataList"),
            ),
            ("metadata or all", format!("{PARTIAL},{EITHER}")),
        ] {
            let mut steps = Vec::new();
            for (how, path) in [
                ("one", format!("{path}/o1")),
                ("none", format!("{path}/none")),
                ("a page", format!("{path}?limit=1")),
                ("selected", format!("{path}?labelSelector=odd%3Dtrue")),
                ("a bad selector", format!("{path}?labelSelector=%3D")),
                (
                    "watched",
                    format!("{path}?watch=true&timeoutSeconds=1&labelSelector=odd%3Dtrue"),
                ),
                ("pretty", format!("{path}/o1?pretty=true")),
                ("no kind", format!("{path}s")),
            ] {
                if form == "metadata of a list" && how == "watched" {
                    continue;
                }
                steps.push((
                    format!("{kind}: {form}: {how}"),
                    Ask::get(path).accept(&accept),
                ));
            }
            run.steps(steps).await;
        }
    }
    install(run).await;
    let gadgets = run.path(GADGETS);
    let one = format!("{gadgets}/p");
    let made = Ask::post(&gadgets, gadget("p", json!({}))).accept(EITHER);
    run.step("gadget: created", made).await;
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    for (name, accept) in [
        ("refused", PROTOBUF),
        ("deleted", EITHER),
        ("deleted again", EITHER),
    ] {
        let delete = Ask::delete(&one).body(options.clone()).in_protobuf();
        run.step(format!("gadget: {name}"), delete.accept(accept))
            .await;
    }
    for path in [
        "/api",
        "/apis/apps",
        "/apis/apps/v1/none",
        "/apis/conformance.pilothouse.dev",
        "/nothing",
        "/apis/nothing/v1",
    ] {
        run.step(path, Ask::get(path).accept(PROTOBUF)).await;
    }
    for path in [
        "/apis/batch/v1",
        "/apis",
        "/apis/conformance.pilothouse.dev/v1",
    ] {
        let answer = run.send_unrecorded(Ask::get(path).accept(PROTOBUF)).await;
        let names = json!([
            answer.content_type,
            answer.body["kind"],
            answer.body["apiVersion"],
            answer.body["groupVersion"]
        ]);
        run.record(format!("{path}: names"), names);
        let read = run.send_unrecorded(Ask::get(path)).await.body;
        // JSON has the names of kind and version inside, too.
        let encoded = protobuf::encode(&read);
        let bytes = run.bytes(Ask::get(path).accept(PROTOBUF)).await;
        run.record(
            format!("{path}: bytes"),
            (encoded.as_deref() == Some(&*bytes)).into(),
        );
    }
    let aggregated = format!("{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let answer = run
        .send_unrecorded(Ask::get("/apis").accept(aggregated))
        .await;
    let names = json!([
        answer.content_type,
        answer.body["kind"],
        answer.body["apiVersion"]
    ]);
    run.record("aggregated: names", names);
}
