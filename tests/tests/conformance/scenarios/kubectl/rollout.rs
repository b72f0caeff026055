use serde_json::Value;

use super::{commands, named};
use crate::run::{Ask, Run};

pub(crate) async fn scale(run: &mut Run) {
    commands(
        run,
        &[
            "create -f web.yaml",
            "create -f objects.yaml",
            "scale deployment web --replicas=3",
            "scale deployment web --replicas=3 # again",
            "scale deployment web --current-replicas=2 --replicas=1",
            "scale deployment web --current-replicas=3 --replicas=1",
            "scale deployment web --replicas=2 --dry-run=server -o yaml",
            "scale deployment web --replicas=-1",
            "scale deployment web --replicas=2 --resource-version=1",
            "scale statefulset/db deployment/web --replicas=0",
            "scale -f web.yaml --replicas=1",
            "scale job once --replicas=1",
            "scale deployment none --replicas=1",
            "get deployment web --subresource=scale",
            "autoscale deployment web --min=2 --max=5 --cpu=80%",
            "autoscale deployment web --max=5",
            "autoscale deployment web --name=second --max=5 --memory=100Mi --dry-run=server -o yaml",
            "autoscale configmap settings --max=5",
            "get hpa",
            "get hpa web -o yaml",
            "describe hpa web",
        ],
    )
    .await;
}

pub(crate) async fn rollout(run: &mut Run) {
    commands(run, &["create -f web.yaml", "create -f objects.yaml"]).await;
    let path = run.path("apps/v1/deployments/web");
    let read = run.send_unrecorded(Ask::get(&path)).await;
    let uid = read.body["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/conformance/manifests/revisions.yaml"
    );
    let sets = std::fs::read_to_string(file).unwrap().replace("UID", &uid);
    run.kubectl("create revisions", "create -f -", &sets).await;
    let note = serde_json::json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}});
    run.send_unrecorded(Ask::merge(&path, note)).await;
    commands(
        run,
        &[
            "rollout history deployment web",
            "rollout history deployment web --revision=1",
            "rollout history deployment web --revision=7",
            "rollout history daemonset agent",
            "rollout history statefulset db",
            "rollout status deployment web --watch=false",
            "rollout status deployment web --timeout=1s",
            "rollout status daemonset agent --watch=false",
            "rollout status statefulset db --watch=false",
            "rollout pause deployment web",
            "rollout pause deployment web # again",
            "rollout restart deployment web",
            "rollout undo deployment web",
            "rollout resume deployment web",
            "rollout resume deployment web # again",
            "rollout undo deployment web --dry-run=server",
            "rollout undo deployment web --to-revision=1",
            "rollout undo deployment web --to-revision=9",
            "get deployment web -o jsonpath={.spec.template.spec.containers[*].image}",
            "rollout restart deployment,daemonset,statefulset",
            "rollout restart configmap settings",
            "rollout status configmap settings",
            "rollout status deployment none",
        ],
    )
    .await;
    let generation =
        run.send_unrecorded(Ask::get(&path)).await.body["metadata"]["generation"].clone();
    let status = |observed: Value| {
        serde_json::json!({"status": {
            "observedGeneration": observed, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        }})
    };
    run.send_unrecorded(Ask::merge(format!("{path}/status"), status(generation)))
        .await;
    commands(
        run,
        &[
            "rollout status deployment web # once it runs",
            "get deployments web",
            "get replicasets -o wide --sort-by=.metadata.name",
            "describe deployment web",
            "describe replicaset web-1",
        ],
    )
    .await;
}

pub(crate) async fn set(run: &mut Run) {
    named(
        run,
        &[
            ("create what is set", "create -f web.yaml"),
            ("set image", "set image deployment/web server=server:3"),
            (
                "set image again",
                "set image deployment/web server=server:3",
            ),
            (
                "set image of all containers",
                "set image deployment/web *=server:4",
            ),
            (
                "set image of an unknown container",
                "set image deployment/web none=a:1",
            ),
            (
                "set image in a dry run",
                "set image deployment/web server=server:5 --dry-run=server -o yaml",
            ),
            ("set env", "set env deployment/web LEVEL=debug NEW=1"),
            (
                "set env from a config map",
                "set env deployment/web --from=configmap/settings --prefix=S_ --keys=level",
            ),
            ("set env by removal", "set env deployment/web LEVEL-"),
            ("set env by listing", "set env deployment/web --list"),
            (
                "set resources",
                "set resources deployment/web -c=server --limits=cpu=200m,memory=256Mi",
            ),
            (
                "set wrong resources",
                "set resources deployment/web --requests=cpu=2 --limits=cpu=1",
            ),
            ("set selector", "set selector service web app=other"),
            (
                "set serviceaccount",
                "set serviceaccount deployment web robot",
            ),
            (
                "create a binding",
                "create rolebinding one --role=r --user=u",
            ),
            (
                "set subject",
                "set subject rolebinding one --user=v --group=g",
            ),
            (
                "set on what does not exist",
                "set image deployment/none a=b:1",
            ),
            (
                "get what was set",
                "get deployment,service,rolebinding -o yaml",
            ),
        ],
    )
    .await;
}
