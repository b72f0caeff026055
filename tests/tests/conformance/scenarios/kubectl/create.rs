use super::{account, commands, named};
use crate::run::Run;

pub(crate) async fn create(run: &mut Run) {
    commands(
        run,
        &[
            "create configmap a --from-literal=x=1 --from-file=kustomize/map.yaml",
            "create configmap a",
            "create configmap b --from-literal=x=1 --dry-run=server -o yaml",
            "create configmap b --from-literal=x=1 --dry-run=client -o yaml",
            "create configmap B",
            "create secret generic a --from-literal=x=1 --type=example.com/own",
            "create secret docker-registry d --docker-server=r --docker-username=u --docker-password=p",
            "create secret tls t --cert=tls/web.crt --key=tls/web.key",
            "create secret tls t --cert=tls/web.crt --key=tls/web.key # again",
            "create secret tls u --cert=tls/web.crt --key=tls/web.key --dry-run=server -o yaml",
            "create secret tls u --cert=tls/web.crt --key=tls/other.key",
            "create secret tls u --cert=tls/none.crt --key=tls/web.key",
            "get secret t -o yaml",
            "describe secret t",
            "create serviceaccount a",
            "create deployment a --image=a:1 --replicas=2 --port=80 -- run fast",
            "create deployment b --image=a:1 --image=b:1 -o json --dry-run=server",
            "create service clusterip a --tcp=80:http",
            "create service clusterip headless --clusterip=None",
            "create service nodeport n --tcp=80:8080",
            "create service externalname e --external-name=example.com",
            "create service loadbalancer l --tcp=443",
            "create job a --image=a:1 -- x y",
            "create cronjob a --image=a:1 --schedule=@daily",
            "create cronjob b --image=a:1 --schedule=never",
            "create job b --from=cronjob/a",
            "create poddisruptionbudget a --selector=a=b --min-available=50%",
            "create quota a --hard=pods=3,requests.cpu=1",
            "create ingress a --rule=a.example.com/x*=a:80,tls=t",
            "create role a --verb=get,list --resource=pods,deployments.apps --resource-name=x",
            "create rolebinding a --role=a --user=u --serviceaccount={namespace}:a",
            "create clusterrole kubectl-create --verb=get --non-resource-url=/metrics",
            "create clusterrolebinding kubectl-create --clusterrole=kubectl-create --group=g",
            "create priorityclass kubectl-create --value=7 --description=seven",
            "create namespace {namespace}-inner",
            "create token a --duration=10m --audience=me",
            "create token a --bound-object-kind=Secret --bound-object-name=a",
            "create token a --bound-object-kind=Secret --bound-object-name=none",
            "create token a --duration=1s",
            "create token none",
            "create -f web.yaml",
            "create -f web.yaml --save-config",
            "create -f none.yaml",
            "get deployment a -o yaml",
            "get service a -o yaml",
            "get service n -o yaml",
            "get job b -o jsonpath={.spec.template.spec}",
            "get ingress a -o yaml",
            "delete clusterrole,clusterrolebinding,priorityclass kubectl-create",
        ],
    )
    .await;
    run.kubectl(
        "create from stdin",
        "create -f -",
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "given"}, "data": {"a": 1}}"#,
    )
    .await;
    run.kubectl(
        "create an unknown kind",
        "create -f -",
        r#"{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "given"}}"#,
    )
    .await;
    run.kubectl(
        "create an unknown field",
        "create -f -",
        r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "given"}, "spec": {"replica": 1}}"#,
    )
    .await;
    run.kubectl(
        "create an unknown field without validation",
        "create -f - --validate=warn",
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "warned"}, "more": {"a": 1}}"#,
    )
    .await;
    run.kubectl(
        "create invalid objects",
        "create -f -",
        r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bad"}, "spec": {"ports": [{"port": 70000}, {"port": 1}]}}"#,
    )
    .await;
    run.kubectl(
        "create with a generated name",
        "create -f -",
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "generated-"}}"#,
    )
    .await;
}

pub(crate) async fn run_and_expose(run: &mut Run) {
    account(run).await;
    named(
        run,
        &[
            (
                "run",
                "run a --image=a:1 --env=A=b --port=80 --labels=app=a,tier=x",
            ),
            (
                "run with overrides",
                r#"run o --image=a:1 --overrides={"spec":{"nodeName":"far"}}"#,
            ),
            ("run again", "run a --image=a:1"),
            (
                "run a dry run",
                "run b --image=b:1 --restart=Never --dry-run=client -o yaml -- run it",
            ),
            ("run without an image", "run c"),
            (
                "expose a pod",
                "expose pod a --port=80 --target-port=http --name=pod",
            ),
            ("create what is exposed", "create -f web.yaml"),
            (
                "expose a deployment",
                "expose deployment web --port=80 --target-port=8080 --name=exposed --type=NodePort",
            ),
            (
                "expose with the port of the deployment",
                "expose deployment web --name=same",
            ),
            (
                "expose a service",
                "expose service web --port=443 --name=second --dry-run=server -o yaml",
            ),
            ("expose again", "expose deployment web --name=same"),
            ("expose a config map", "expose configmap settings --port=1"),
            (
                "get what was exposed",
                "get services --sort-by=.metadata.name",
            ),
            (
                "describe what was exposed",
                "describe service exposed same pod",
            ),
        ],
    )
    .await;
}
