//! The whole operator with a cluster in memory, on a paused clock.
#![cfg(feature = "dev")]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use author_platform::{CHECKED, EXPOSE, FINALIZER, Flags, SHARED, SOURCE, TEAM, operator};
use pilothouse::{
    client::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams},
    health::Query,
    k8s::{
        ByteString,
        api::{
            core::v1::{Namespace, ServiceAccount},
            events::v1::Event,
            policy::v1::PodDisruptionBudget,
            rbac::v1::RoleBinding,
        },
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        apimachinery::pkg::util::intstr::IntOrString,
    },
    operator::Running,
    prelude::*,
    resource::{ApiResource, DynamicObject},
    testing::{Answer, Cluster, RecordedRequest, RequestMatcher},
};
use serde_json::{Value, json};

mod census;
mod expose;
mod summary;
mod team;
mod whole;

fn widgets() -> ApiResource {
    ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
        namespaced: true,
    }
}

fn flags() -> Flags {
    Flags {
        watch_kind: widgets(),
        summary_fields: vec!["/spec/size".into(), "/spec/colour".into()],
    }
}

/// Starts the operator in a cluster that has the kind Widget.
async fn run(cluster: &Cluster) -> Running {
    install_widgets(cluster).await;
    cluster.run(operator(Some(flags()))).await.unwrap()
}

async fn install_widgets(cluster: &Cluster) {
    const NAME: &str = "widgets.example.com";
    if cluster
        .get::<CustomResourceDefinition>(NAME)
        .await
        .unwrap()
        .is_some()
    {
        return;
    }
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "size": {"type": "integer"}, "colour": {"type": "string"},
                    }},
                    "status": {"type": "object", "properties": {"conditions": {
                        "type": "array",
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                        "items": {"type": "object", "required": ["type"], "properties": {
                            "type": {"type": "string"}, "status": {"type": "string"},
                            "reason": {"type": "string"}, "message": {"type": "string"},
                            "observedGeneration": {"type": "integer"},
                            "lastTransitionTime": {"type": "string", "format": "date-time"},
                        }},
                    }}},
                }}},
            }],
        },
    }))
    .unwrap();
    cluster.create(&definition).await.unwrap();
    let served = |definition: &CustomResourceDefinition| {
        let conditions = definition
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        conditions
            .into_iter()
            .any(|one| one.type_ == "Established" && one.status == "True")
    };
    cluster.until(NAME, "be served", served).await.unwrap();
}

fn widget_api(cluster: &Cluster) -> Api<DynamicObject> {
    Api::of(cluster.client(), widgets(), Some("default"))
}

fn widget(name: &str, spec: Value) -> DynamicObject {
    let mut widget = DynamicObject::new(&widgets(), name);
    widget.data.insert("spec".into(), spec);
    widget
}

/// Waits until the condition of the Widget has this status.
async fn until_condition(cluster: &Cluster, name: &str, kind: &str, status: &str) -> DynamicObject {
    let check = || async {
        let widget = widget_api(cluster)
            .get(name)
            .await
            .map_err(|error| error.to_string())?;
        let all = widget
            .data
            .get("status")
            .and_then(|status| status["conditions"].as_array());
        let mut all = all.into_iter().flatten();
        match all.any(|one| one["type"] == kind && one["status"] == status) {
            true => Ok(widget),
            false => Err(format!("{:?}", widget.data)),
        }
    };
    let what = format!("{kind} of the Widget {name} to be {status}");
    cluster.eventually(&what, check).await.unwrap()
}

fn source(password: &str) -> Secret {
    let mut source = Secret::named(SOURCE);
    source.metadata.labels = Some(Labels::from([(SHARED, "true")]).map());
    source.data = Some([("password".into(), ByteString(password.into()))].into());
    source
}

async fn label(cluster: &Cluster, namespace: &str, team: Option<&str>) {
    let change = json!({"metadata": {"labels": {TEAM: team}}});
    cluster.patch::<Namespace>(namespace, change).await.unwrap();
}

fn is(password: &str) -> impl Fn(&Secret) -> bool + '_ {
    move |secret| {
        secret
            .data
            .as_ref()
            .is_some_and(|data| data["password"].0 == password.as_bytes())
    }
}

fn of_team(team: &str) -> impl Fn(&ConfigMap) -> bool + '_ {
    move |info| info.data.as_ref().is_some_and(|data| data["team"] == team)
}

fn web(replicas: i32, port: &str) -> Deployment {
    let labels = Labels::from([("app", "web")]);
    let main = Container {
        name: "main".into(),
        image: Some("web:1".into()),
        ..Default::default()
    };
    let mut web = Deployment {
        spec: DeploymentSpec {
            replicas: Some(replicas),
            selector: labels.selector(),
            template: PodTemplateSpec {
                metadata: Some(labels.metadata()),
                spec: Some(PodSpec {
                    containers: vec![main],
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Deployment::named("web")
    };
    web.metadata.annotations = Some([(EXPOSE.into(), port.into())].into());
    web
}

async fn expose(cluster: &Cluster, port: Option<&str>) {
    let change = json!({"metadata": {"annotations": {EXPOSE: port}}});
    cluster.patch::<Deployment>("web", change).await.unwrap();
}

fn has_port(port: i32) -> impl Fn(&Service) -> bool {
    move |service| {
        let ports = service
            .spec
            .iter()
            .flat_map(|spec| spec.ports.iter().flatten());
        ports
            .into_iter()
            .any(|one| one.port == port && one.target_port == Some(IntOrString::Int(port)))
    }
}

async fn events(cluster: &Cluster, reason: &str) -> Vec<Event> {
    let all = cluster
        .api::<Event>()
        .list(&ListParams::default())
        .await
        .unwrap();
    let with_reason = |event: &Event| event.reason.as_deref() == Some(reason);
    all.items.into_iter().filter(with_reason).collect()
}

/// The writes of the operator: neither Events nor what the tests write.
fn own_writes(cluster: &Cluster) -> Vec<RecordedRequest> {
    let mut writes = cluster.writes();
    writes.retain(|write| {
        let test = write.resource == "namespaces" || write.query.contains("fieldManager=other");
        write.resource != "events" && !test
    });
    writes
}

/// Gets a path of the operator's endpoints. Real time passes, and none of the paused clock.
async fn http_get(address: SocketAddr, path: &'static str) -> String {
    let get = move || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    tokio::task::spawn_blocking(get).await.unwrap().unwrap()
}
