//! Pod Security: what the labels of a namespace demand of Pods and of workloads.

use serde_json::{Value, json};

use crate::run::{Ask, Run};

/// The labels of a namespace: `[("enforce", "baseline")]`.
type Labels = &'static [(&'static str, &'static str)];

const NAMESPACES: [(&str, Labels); 7] = [
    ("baseline", &[("enforce", "baseline")]),
    ("restricted", &[("enforce", "restricted")]),
    (
        "old",
        &[
            ("enforce", "restricted"),
            ("enforce-version", "v1.18"),
            ("warn", "restricted"),
            ("warn-version", "v1.24"),
        ],
    ),
    (
        "older",
        &[("enforce", "baseline"), ("enforce-version", "v1.5")],
    ),
    (
        "newer",
        &[("enforce", "restricted"), ("enforce-version", "v1.99")],
    ),
    ("warned", &[("warn", "baseline")]),
    ("audited", &[("audit", "restricted")]),
];

fn labels(all: &[(&str, &str)]) -> Value {
    let labels = all.iter().map(|(mode, value)| {
        (
            format!("pod-security.kubernetes.io/{mode}"),
            (*value).into(),
        )
    });
    Value::Object(labels.collect())
}

/// What a restricted Pod has to say.
fn hardened() -> Value {
    json!({
        "allowPrivilegeEscalation": false, "runAsNonRoot": true,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// Pods with fields that the standards judge.
fn pods() -> Vec<(&'static str, Value)> {
    let with =
        |context: Value| json!([{"name": "one", "image": "one:1", "securityContext": context}]);
    let two = |context: Value| {
        let one = |name: &str| json!({"name": name, "image": "one:1", "securityContext": context});
        json!([one("one"), one("two")])
    };
    let hardened_with = |field: &str, value: Value| {
        let mut context = hardened();
        context[field] = value;
        json!({"containers": with(context)})
    };
    let port = json!({"containerPort": 80, "hostPort": 8080});
    let probe = json!({"httpGet": {"port": 80, "host": "example.com"}});
    let volumes = json!([
        {"name": "a", "hostPath": {"path": "/a"}},
        {"name": "b", "hostPath": {"path": "/b"}},
        {"name": "c", "nfs": {"server": "example.com", "path": "/c"}},
        {"name": "d", "emptyDir": {}},
    ]);
    vec![
        ("plain", json!({})),
        ("hardened", json!({"containers": with(hardened())})),
        (
            "hardened as a whole",
            json!({
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": with(json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}})),
            }),
        ),
        (
            "privileged",
            json!({"containers": with(json!({"privileged": true}))}),
        ),
        (
            "two privileged",
            json!({"containers": two(json!({"privileged": true}))}),
        ),
        (
            "init",
            json!({
                "initContainers": [{"name": "init", "image": "one:1", "securityContext": {"privileged": true}}],
                "containers": with(hardened()),
            }),
        ),
        (
            "host namespaces",
            json!({"hostNetwork": true, "hostPID": true, "hostIPC": true}),
        ),
        ("volumes", json!({"volumes": volumes})),
        (
            "host port",
            json!({"containers": [{"name": "one", "image": "one:1", "ports": [port]}]}),
        ),
        (
            "host probe",
            json!({"containers": [{"name": "one", "image": "one:1", "livenessProbe": probe}]}),
        ),
        (
            "capabilities",
            json!({"containers": two(json!({"capabilities": {"add": ["NET_ADMIN", "CHOWN", "SYS_ADMIN"], "drop": ["KILL"]}}))}),
        ),
        (
            "harmless capability",
            hardened_with(
                "capabilities",
                json!({"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}),
            ),
        ),
        ("root", hardened_with("runAsUser", json!(0))),
        ("may be root", hardened_with("runAsNonRoot", json!(false))),
        (
            "unconfined",
            hardened_with("seccompProfile", json!({"type": "Unconfined"})),
        ),
        (
            "unconfined as a whole",
            json!({"securityContext": {
                "seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"},
                "runAsUser": 0, "runAsNonRoot": false,
            }}),
        ),
        (
            "labels of SE Linux",
            json!({
                "securityContext": {"seLinuxOptions": {"type": "spc_t", "user": "u"}},
                "containers": with(json!({"seLinuxOptions": {"type": "container_engine_t", "role": "r"}})),
            }),
        ),
        (
            "kernel parameters",
            json!({"securityContext": {"sysctls": [
                {"name": "net.ipv4.tcp_rmem", "value": "1"},
                {"name": "kernel.shm_rmid_forced", "value": "1"},
                {"name": "kernel.msgmax", "value": "1"},
            ]}}),
        ),
        (
            "own users",
            json!({"hostUsers": false, "containers": with(json!({
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"}, "procMount": "Unmasked",
            }))}),
        ),
        (
            "windows",
            json!({
                "os": {"name": "windows"},
                "securityContext": {"windowsOptions": {"hostProcess": true}},
                "hostNetwork": true,
            }),
        ),
    ]
}

fn pod(name: &str, fields: &Value) -> Value {
    super::admission::pod(name, fields)
}

async fn namespace(run: &mut Run, name: &str, all: &[(&str, &str)]) -> String {
    let name = format!("{}-{name}", run.namespace);
    let object = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels(all)},
    });
    let made = run
        .send_unrecorded(Ask::post("/api/v1/namespaces", object))
        .await;
    assert_eq!(made.code, 201, "{made:?}");
    let accounts = format!("/api/v1/namespaces/{name}/serviceaccounts");
    let account = Ask::post(accounts, json!({"metadata": {"name": "default"}}));
    run.until(account, |answer| matches!(answer.code, 201 | 409))
        .await;
    name
}

/// Records whether a request was refused, and why, and the warnings.
async fn judged(run: &mut Run, step: String, ask: Ask) {
    let answer = run.send_unrecorded(ask).await;
    let seen = match answer.code {
        200 | 201 => json!([answer.code]),
        code => json!([code, answer.body]),
    };
    let mut seen = json!([seen, answer.warnings]);
    // The end of a name of the server is random.
    if let Some(name) = answer.body["details"]["name"].as_str()
        && name.starts_with("a-")
    {
        let text = seen.to_string().replace(name, "a-<random>");
        seen = serde_json::from_str(&text).unwrap();
    }
    run.record(step, seen);
}

pub(crate) async fn of_namespaces(run: &mut Run) {
    for (name, all) in NAMESPACES {
        let namespace = namespace(run, name, all).await;
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        for (kind, fields) in pods() {
            let ask = Ask::post(format!("{path}?dryRun=All"), pod("a", &fields));
            judged(run, format!("{name}: {kind}"), ask).await;
        }
        let mut generated = pod("a", &json!({}));
        generated["metadata"] = json!({"generateName": "a-"});
        let ask = Ask::post(format!("{path}?dryRun=All"), generated);
        judged(run, format!("{name}: a name of the server"), ask).await;
        workloads(run, name, &namespace).await;
    }
    changes(run).await;
}

async fn workloads(run: &mut Run, step: &str, namespace: &str) {
    let privileged = json!({"containers": [{"name": "one", "image": "one:1", "securityContext": {"privileged": true}}]});
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": privileged});
    let mut ending = template.clone();
    ending["spec"]["restartPolicy"] = "Never".into();
    let selected = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template});
    for (kind, path, body) in [
        (
            "Deployment",
            "apps/v1/deployments",
            json!({"spec": selected}),
        ),
        (
            "StatefulSet",
            "apps/v1/statefulsets",
            json!({"spec": selected}),
        ),
        ("DaemonSet", "apps/v1/daemonsets", json!({"spec": selected})),
        (
            "ReplicaSet",
            "apps/v1/replicasets",
            json!({"spec": selected}),
        ),
        (
            "Job",
            "batch/v1/jobs",
            json!({"spec": {"template": ending}}),
        ),
        (
            "CronJob",
            "batch/v1/cronjobs",
            json!({"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": ending}}}}),
        ),
    ] {
        let mut body = body;
        body["metadata"] = json!({"name": "a"});
        let (group, plural) = path.rsplit_once('/').unwrap();
        let path = format!("/apis/{group}/namespaces/{namespace}/{plural}?dryRun=All");
        judged(run, format!("{step}: {kind}"), Ask::post(path, body)).await;
    }
    let template = json!({"metadata": {"name": "a"}, "template": template});
    let path = format!("/api/v1/namespaces/{namespace}/podtemplates?dryRun=All");
    judged(
        run,
        format!("{step}: PodTemplate"),
        Ask::post(path, template),
    )
    .await;
}

/// Wrong labels, and stricter ones for the Pods that are there.
async fn changes(run: &mut Run) {
    for (step, all) in [
        ("a wrong level", &[("enforce", "strict")][..]),
        (
            "wrong versions",
            &[
                ("enforce", "baseline"),
                ("warn-version", "v1.08"),
                ("audit-version", "2"),
            ][..],
        ),
        (
            "wrong levels to warn and to note",
            &[("warn", "x"), ("audit", "")][..],
        ),
    ] {
        let name = format!("{}-wrong", run.namespace);
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels(all)},
        });
        let ask = Ask::post("/api/v1/namespaces?dryRun=All", object);
        judged(run, format!("labels: {step}"), ask).await;
    }
    let namespace = namespace(run, "present", &[]).await;
    let path = format!("/api/v1/namespaces/{namespace}");
    let privileged = json!({"containers": [{"name": "one", "image": "one:1", "securityContext": {"privileged": true}}]});
    for (name, fields) in [
        ("plain", json!({})),
        ("other", json!({})),
        ("third", json!({})),
        (
            "hardened",
            json!({"containers": [{"name": "one", "image": "one:1", "securityContext": hardened()}]}),
        ),
        ("privileged", privileged.clone()),
    ] {
        let made = run
            .send_unrecorded(Ask::post(format!("{path}/pods"), pod(name, &fields)))
            .await;
        assert_eq!(made.code, 201, "{made:?}");
    }
    let relabel = |path: &str, all: &[(&str, &str)]| {
        Ask::merge(path, json!({"metadata": {"labels": labels(all)}}))
    };
    let dry = format!("{path}?dryRun=All");
    let restricted = relabel(&dry, &[("enforce", "restricted")]);
    // A real server sees the Pods a moment later: all three plain ones, and the privileged one.
    run.until(restricted.clone(), |answer| {
        let text = answer.warnings.concat();
        text.contains("and 2 other pods") && text.contains("privileged")
    })
    .await;
    judged(run, "present: restricted".into(), restricted).await;
    for (step, all) in [
        ("baseline", &[("enforce", "baseline")][..]),
        (
            "of an old version",
            &[("enforce", "restricted"), ("enforce-version", "v1.0")][..],
        ),
        ("only warned", &[("warn", "restricted")][..]),
        ("wrong", &[("enforce", "none")][..]),
    ] {
        judged(run, format!("present: {step}"), relabel(&dry, all)).await;
    }
    let made = run
        .send_unrecorded(relabel(&path, &[("enforce", "restricted")]))
        .await;
    assert_eq!(made.code, 200, "{made:?}");
    // A real server knows the new labels a moment later.
    let probe = Ask::post(format!("{path}/pods?dryRun=All"), pod("probe", &json!({})));
    run.until(probe, |answer| answer.code == 403).await;
    let plain = format!("{path}/pods/plain");
    let change = |change: Value| Ask::merge(format!("{plain}?dryRun=All"), change);
    let label = change(json!({"metadata": {"labels": {"a": "b"}}}));
    judged(run, "present: a label of a Pod".into(), label).await;
    let image = json!({"spec": {"containers": [{"name": "one", "image": "one:2"}]}});
    let image = Ask::strategic(format!("{plain}?dryRun=All"), image);
    judged(run, "present: the image of a Pod".into(), image).await;
    let ephemeral = json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "one:1"}]}});
    let ask = Ask::strategic(format!("{plain}/ephemeralcontainers?dryRun=All"), ephemeral);
    judged(run, "present: another container".into(), ask).await;
    judged(
        run,
        "present: relaxed".into(),
        relabel(&dry, &[("enforce", "baseline")]),
    )
    .await;
}
