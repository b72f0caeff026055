use std::time::Duration;

use pilothouse::k8s::jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{super::gadget, account, commands, named};
use crate::run::{Ask, Run};

pub(crate) async fn get(run: &mut Run) {
    account(run).await;
    commands(
        run,
        &[
            "create -f web.yaml",
            "create -f objects.yaml",
            "create -f rbac.yaml",
            "get deployments",
            "get all",
            "get all -o name",
            "get all -o wide",
            "get deployment web -o yaml",
            "get deployment web -o json",
            "get deployment web -o yaml --show-managed-fields",
            "get deployment/web service/web",
            "get deploy,svc,cm -l app=web",
            "get deploy,svc,cm -l app=web --show-kind --no-headers",
            "get deploy web --show-labels",
            "get deploy web -L app,tier",
            "get -f web.yaml",
            "get -f web.yaml -o name",
            "get deploy web -o jsonpath={.spec.template.spec.containers[*].image}",
            "get deploy web -o go-template={{.metadata.name}}{{len(.spec.template.spec.containers)}}",
            "get deploy web -o go-template={{range(.spec.template.spec.containers)}}{{.name}}{{end}}",
            "get deploy web -o custom-columns=NAME:.metadata.name,IMAGE:.spec.template.spec.containers[0].image",
            "get deploy web -o jsonpath-as-json={.spec.template.spec.containers[*].image}",
            "get deploy,svc -l app=web -o jsonpath-as-json={.items[*].metadata.name}",
            "get deploy web -o jsonpath-file=outputs/containers.jsonpath",
            "get deploy web -o jsonpath-file=outputs/none.jsonpath",
            "get deploy web -o go-template-file=outputs/containers.gotemplate",
            "get deploy web -o custom-columns-file=outputs/columns.txt",
            "get deploy web -o kyaml",
            "get cm,svc -l app=web -o kyaml",
            "get configmaps --sort-by=.metadata.name",
            "get configmaps --field-selector=metadata.name=settings",
            "get configmaps --field-selector=data.level=info",
            "get configmaps --chunk-size=1 -o name",
            "get configmaps -A -l app=web --field-selector=metadata.namespace={namespace}",
            "get configmap none",
            "get configmap none --ignore-not-found",
            "get configmap settings none",
            "get things",
            "get things.example.com a",
            "get configmap -l a=b",
            "get configmap -l 'a in (b'",
            "get secrets",
            "get secret keys -o yaml",
            "get persistentvolumeclaims",
            "get cronjobs",
            "get jobs -o wide",
            "get statefulsets -o wide",
            "get daemonsets -o wide",
            "get ingresses",
            "get networkpolicies",
            "get poddisruptionbudgets",
            "get replicationcontrollers -o wide",
            "get limitranges",
            "get roles,rolebindings -o wide",
            "get serviceaccounts",
            "get endpoints none",
            "get deployment web --subresource=status",
            "get deployment web --subresource=scale",
            "get deployment web --subresource=scale -o yaml",
            "get configmap settings --subresource=status",
            "get --raw /api/v1/namespaces/{namespace}/configmaps/settings",
            "get --raw /nothing",
            "get configmap settings -o unknown",
            "get configmap settings -o jsonpath={.data",
            "get deploy web --output-watch-events --watch --request-timeout=1s",
        ],
    )
    .await;
    without_repairs(run).await;
    commands(
        run,
        &[
            "events",
            "events --for=deployment/web -o json",
            "events --types=Normal",
            "get events -o wide",
            "get events --field-selector=involvedObject.name=web,type=Warning -o name",
        ],
    )
    .await;
}

/// Deletes the events of a real server about an address that its controller of addresses saw too late.
async fn without_repairs(run: &mut Run) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let events = run.path("v1/events");
    let repairs = "fieldSelector=reason%3DClusterIPNotAllocated";
    let deleted = run.send_unrecorded(Ask::delete(format!("{events}?{repairs}")));
    assert_eq!(deleted.await.code, 200);
}

pub(crate) async fn describe(run: &mut Run) {
    account(run).await;
    for file in ["web.yaml", "objects.yaml", "rbac.yaml", "pod.yaml"] {
        run.kubectl("create what is described", &format!("create -f {file}"), "")
            .await;
    }
    gadget::install(run).await;
    let one = gadget::gadget("one", serde_json::json!({"items": [{"name": "a"}]}));
    let path = run.path(gadget::GADGETS);
    run.send_unrecorded(Ask::post(path, one)).await;
    without_repairs(run).await;
    commands(
        run,
        &[
            "describe deployment web",
            "describe deployments",
            "describe -f web.yaml",
            "describe service web",
            "describe configmap settings",
            "describe secret keys",
            "describe serviceaccount default",
            "describe persistentvolumeclaim data",
            "describe cronjob nightly",
            "describe job once",
            "describe statefulset db",
            "describe daemonset agent",
            "describe ingress web",
            "describe networkpolicy web",
            "describe poddisruptionbudget web",
            "describe limitrange limits",
            "describe role reader",
            "describe rolebinding reader",
            "describe pod single",
            "describe pod -l app=single",
            "describe namespace {namespace}",
            "describe gadget one",
            "describe configmap none",
            "describe configmap set",
            "describe events",
            "describe deployment web --show-events=false",
        ],
    )
    .await;
}

pub(crate) async fn discovery(run: &mut Run) {
    gadget::install(run).await;
    commands(
        run,
        &[
            "api-resources --api-group=apps -o wide",
            "api-resources --api-group=batch",
            "api-resources --api-group= --sort-by=name",
            "api-resources --api-group=conformance.pilothouse.dev -o wide",
            "api-resources --namespaced=false --api-group=rbac.authorization.k8s.io -o name",
            "api-resources --verbs=create,watch --api-group=policy",
            "api-resources --api-group=none",
            "api-resources --categories=toys",
            "explain pods",
            "explain deployment.spec.template.spec.containers",
            "explain deployment.spec.strategy --recursive",
            "explain pod.spec.containers.ports.protocol",
            "explain node.status --recursive",
            "explain services.spec.ports.targetPort",
            "explain hpa --api-version=autoscaling/v1",
            "explain ingress.spec.rules --output=plaintext-openapiv2",
            "explain secrets --recursive --output=plaintext-openapiv2",
            "explain customresourcedefinitions.spec.versions.schema",
            "explain gadgets --recursive",
            "explain gadgets.spec",
            "explain gadgets.metadata.labels",
            "explain gadgets --output=plaintext-openapiv2",
            "explain gadgets.spec.nothing",
            "explain things",
            "top node",
            "top pod",
            "cluster-info",
        ],
    )
    .await;
}

pub(crate) async fn access(run: &mut Run) {
    named(run, &[("create roles", "create -f rbac.yaml")]).await;
    commands(
        run,
        &[
            "auth can-i get pods --as=ann",
            "auth can-i get pods --subresource=log --as=ann",
            "auth can-i delete pods --as=ann",
            "auth can-i get deployments.apps/web --as=ann",
            "auth can-i get deployments.apps/other --as=ann",
            "auth can-i get things --as=ann",
            "auth can-i get /metrics --as=ann",
            "auth can-i create namespaces --as=ann",
            "auth can-i '*' '*'",
            "auth can-i --list",
            "auth can-i --list --as=admin --as-group=system:masters",
            "auth can-i --list --as=ann",
            "auth can-i --list --as=ann --no-headers",
            "auth can-i --list --as=bob --as-group=staff",
            "auth can-i get pods --as=ann -q",
            "auth whoami --as=ann --as-group=staff --as-uid=7",
            "auth whoami --as=ann -o json",
            "get pods --as=ann",
            "get secrets --as=ann",
            "delete deployment web --as=ann",
            "create configmap a --as=ann",
            "get nodes --as=ann",
            "auth can-i list pods --as=system:serviceaccount:{namespace}:default",
        ],
    )
    .await;
}

/// The duration of Jobs, whose states the scenario sets, because nobody runs them.
pub(crate) async fn jobs(run: &mut Run) {
    // Half a minute before the cell changes, as long as that is from the creation to the last command.
    let seconds = 3 * 3600 + 20 * 60 + 20;
    let begun = Timestamp::now() - SignedDuration::from_secs(seconds);
    let begun = begun.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let of = |kind: &str| json!({"type": kind, "status": "True"});
    let from = |begin: &str, end: &str, conditions: [&str; 2]| json!({"startTime": begin, "completionTime": end, "conditions": conditions.map(of)});
    let complete = ["SuccessCriteriaMet", "Complete"];
    let why = ["FailureTarget", "Failed"].map(of);
    let failed = json!({"startTime": begun, "conditions": why});
    let path = run.path("batch/v1/jobs");
    for (name, status) in [
        ("waiting", json!({})),
        ("running", json!({"startTime": begun, "active": 1})),
        ("failed", failed),
        (
            "done",
            from("2026-01-01T00:00:00Z", "2026-01-01T05:30:00Z", complete),
        ),
        (
            "long",
            from("2026-01-01T00:00:00Z", "2026-01-04T07:00:00Z", complete),
        ),
        (
            "short",
            from("2026-01-01T00:00:00Z", "2026-01-01T00:05:30Z", complete),
        ),
    ] {
        let job = json!({"metadata": {"name": name}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "main:1"}]}}}});
        run.send_unrecorded(Ask::post(&path, job)).await;
        let status = Ask::merge(format!("{path}/{name}/status"), json!({"status": status}));
        run.step(format!("set: {name}"), status).await;
        run.step(
            format!("table: {name}"),
            Ask::get(format!("{path}/{name}")).table(),
        )
        .await;
    }
    commands(
        run,
        &[
            "get jobs",
            "get jobs -o wide",
            "get job running --no-headers",
            "get jobs done long -o custom-columns=NAME:.metadata.name,START:.status.startTime",
            "describe job done",
        ],
    )
    .await;
}

/// Pods that no node runs. So `exec`, `cp`, `attach` and `port-forward` fail here, on both servers alike. Where they succeed a kubelet answers them,
/// and the real control plane has none: the suite `tests/client` looks at what kubectl does on the sandbox alone.
pub(crate) async fn pods(run: &mut Run) {
    account(run).await;
    commands(
        run,
        &[
            "create -f pod.yaml",
            "get pods",
            "get pods -o wide",
            "get pod single -o yaml",
            "logs single",
            "logs single -c none",
            "logs none",
            "logs -l app=none",
            "exec single -- ls",
            "exec none -- ls",
            "attach none",
            "cp single:/a /dev/null",
            "port-forward single 1",
            "debug single --image=debug:1",
            "debug single --image=debug:1 -c side",
            "debug none --image=debug:1",
            "debug single --image=debug:1 --target=main --profile=general -c targeted -- sh",
            "debug single --image=debug:1 --copy-to=copied --share-processes -c copy",
            "debug single --copy-to=changed --set-image=main=main:9",
            "get pod copied -o jsonpath={.spec.shareProcessNamespace}{.spec.containers[*].image}",
            "get pod changed -o jsonpath={.spec.containers[*].image}",
            "get pod single -o jsonpath={.spec.ephemeralContainers[*].image}",
            "set image pod/single main=main:2",
            "label pod single extra=yes",
            "describe pod single",
            "delete pod single --now",
            "get pods --field-selector=status.phase=Running",
        ],
    )
    .await;
}

/// Nodes that no kubelet keeps.
pub(crate) async fn nodes(run: &mut Run) {
    account(run).await;
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "kubectl-node"}}"#;
    run.kubectl("create a node", "create -f -", node).await;
    commands(
        run,
        &[
            "get node kubectl-node",
            "cordon kubectl-node",
            "cordon kubectl-node # again",
            "uncordon kubectl-node",
            "taint node kubectl-node a=b:NoSchedule",
            "taint node kubectl-node a=b:NoSchedule --overwrite",
            "taint node kubectl-node a=b:NoSchedule # again",
            "taint node kubectl-node a-",
            "label node kubectl-node node-role.kubernetes.io/worker=",
            "get node kubectl-node -o wide",
            "describe node kubectl-node",
            "drain kubectl-node --timeout=5s",
            "debug node/kubectl-node --image=debug:1",
            "debug node/none --image=debug:1",
            "delete node kubectl-node",
        ],
    )
    .await;
}
