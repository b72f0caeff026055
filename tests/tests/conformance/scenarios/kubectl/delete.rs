use super::commands;
use crate::run::Run;

pub(crate) async fn delete(run: &mut Run) {
    commands(
        run,
        &[
            "create -f web.yaml",
            "create -f objects.yaml",
            "delete deployment web --dry-run=server",
            "delete deployment web --dry-run=client -o name",
            "delete deployment web --cascade=orphan",
            "delete deployment web",
            "delete deployment web --ignore-not-found",
            "delete service/web configmap/settings",
            "delete cronjob nightly --cascade=foreground",
            "delete job once --cascade=background --wait=false",
            "delete job none statefulset none",
            "delete statefulset,daemonset --all",
            "delete configmap -l none=none",
            "delete configmap --field-selector=metadata.name=none",
            "delete -f objects.yaml --wait=false",
            "delete -f web.yaml --ignore-not-found",
            "delete configmap",
            "delete things a",
            "delete --raw /api/v1/namespaces/{namespace}/configmaps/none",
            "create namespace {namespace}-gone",
            "delete namespace {namespace}-gone",
            "get namespace {namespace}-gone",
            "delete configmap settings --cascade=sideways",
            "get all",
        ],
    )
    .await;
}

pub(crate) async fn wait(run: &mut Run) {
    commands(
        run,
        &[
            "create -f web.yaml",
            "wait --for=jsonpath={.spec.replicas}=2 deployment/web",
            "wait --for=jsonpath={.spec.replicas}=9 deployment/web --timeout=1s",
            "wait --for=condition=Available deployment/web --timeout=1s",
            "wait --for=create configmap/settings",
            "wait --for=create configmap/none --timeout=1s",
            "wait --for=delete configmap/none",
            "wait --for=delete configmap/settings --timeout=1s",
            "wait --for=condition=Ready configmap/none --timeout=1s",
            "wait --for=jsonpath={.metadata.name} configmap --all --timeout=1s",
            "wait --for=condition=Ready pods -l app=none --timeout=1s",
            "delete configmap settings",
            "wait --for=delete configmap/settings # after its end",
        ],
    )
    .await;
}
