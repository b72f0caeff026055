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

#[tokio::test(start_paused = true)]
async fn a_namespace_of_a_team_has_its_objects_until_the_label_goes() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&Namespace::named("shop")).await.unwrap();
    let running = run(&cluster).await;
    let shop = cluster.in_namespace("shop");

    // Without a source, the rest is there.
    label(&cluster, "shop", Some("blue")).await;
    shop.until("team-info", "be blue", of_team("blue"))
        .await
        .unwrap();
    shop.until("team", "exist", |_: &ServiceAccount| true)
        .await
        .unwrap();
    cluster.settle().await;
    let copy = shop.get::<Secret>("team-secret").await.unwrap();
    assert!(copy.is_none());
    assert_eq!(events(&cluster, "SourceMissing").await.len(), 1);

    cluster.create(&source("one")).await.unwrap();
    shop.until("team-secret", "be a copy", is("one"))
        .await
        .unwrap();
    let change = json!({"data": {"password": "dHdv"}});
    cluster.patch::<Secret>(SOURCE, change).await.unwrap();
    shop.until("team-secret", "follow its source", is("two"))
        .await
        .unwrap();

    label(&cluster, "shop", Some("green")).await;
    shop.until("team-info", "be green", of_team("green"))
        .await
        .unwrap();
    let is_green = |binding: &RoleBinding| {
        binding
            .subjects
            .iter()
            .flatten()
            .any(|subject| subject.name == "green")
    };
    shop.until("team", "be green", is_green).await.unwrap();

    // What somebody changes is repaired.
    let change = json!({"data": {"team": "red"}});
    shop.patch::<ConfigMap>("team-info", change).await.unwrap();
    shop.until("team-info", "be green again", of_team("green"))
        .await
        .unwrap();
    let change = json!({"metadata": {"labels": {SHARED: null}}});
    shop.patch::<Secret>("team-secret", change).await.unwrap();
    let labelled = |secret: &Secret| secret.label(SHARED).is_some();
    shop.until("team-secret", "be labelled again", labelled)
        .await
        .unwrap();
    shop.delete::<RoleBinding>("team").await.unwrap();
    shop.until("team", "be there again", is_green)
        .await
        .unwrap();

    label(&cluster, "shop", None).await;
    shop.until_gone::<ConfigMap>("team-info").await.unwrap();
    shop.until_gone::<Secret>("team-secret").await.unwrap();
    shop.until_gone::<ServiceAccount>("team").await.unwrap();
    shop.until_gone::<RoleBinding>("team").await.unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_terminating_gets_nothing() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&source("one")).await.unwrap();
    let mut held = Namespace::named("held");
    held.metadata.finalizers = Some(vec!["example.com/held".into()]);
    cluster.create(&held).await.unwrap();
    let running = run(&cluster).await;
    cluster.delete::<Namespace>("held").await.unwrap();
    cluster.settle().await;
    cluster.forget_requests();

    label(&cluster, "held", Some("blue")).await;
    cluster.settle().await;
    assert_eq!(own_writes(&cluster), []);

    // A namespace that is deleted with its objects leads to no failure.
    cluster.create(&Namespace::named("shop")).await.unwrap();
    label(&cluster, "shop", Some("blue")).await;
    let shop = cluster.in_namespace("shop");
    shop.until("team-secret", "be a copy", is("one"))
        .await
        .unwrap();
    cluster.delete::<Namespace>("shop").await.unwrap();
    cluster.until_gone::<Namespace>("shop").await.unwrap();
    cluster.settle().await;
    assert_eq!(events(&cluster, "ReconcileFailed").await, []);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_not_ours_is_not_overwritten() {
    let cluster = Cluster::start().unwrap();
    let shop = cluster.in_namespace("shop");
    cluster.create(&Namespace::named("shop")).await.unwrap();
    cluster.create(&source("one")).await.unwrap();
    let mut other = Secret::named("team-secret");
    other.data = Some([("password".into(), ByteString(b"other".into()))].into());
    shop.create(&other).await.unwrap();
    let running = run(&cluster).await;

    label(&cluster, "shop", Some("blue")).await;
    cluster.settle().await;
    let now = shop.get::<Secret>("team-secret").await.unwrap().unwrap();
    assert!(is("other")(&now), "{now:?}");
    assert_eq!(events(&cluster, "ReconcileFailed").await.len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_exposed_with_its_port_and_a_budget() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();
    cluster.settle().await;
    assert!(
        cluster
            .get::<PodDisruptionBudget>("web")
            .await
            .unwrap()
            .is_none()
    );

    let replicas = |replicas| json!({"spec": {"replicas": replicas}});
    cluster
        .patch::<Deployment>("web", replicas(3))
        .await
        .unwrap();
    cluster
        .until("web", "exist", |_: &PodDisruptionBudget| true)
        .await
        .unwrap();
    cluster
        .patch::<Deployment>("web", replicas(1))
        .await
        .unwrap();
    cluster
        .until_gone::<PodDisruptionBudget>("web")
        .await
        .unwrap();

    expose(&cluster, Some("9090")).await;
    cluster
        .until("web", "have its new port", has_port(9090))
        .await
        .unwrap();

    // A wrong port is told once, is not retried, and leaves the Service as it is.
    expose(&cluster, Some("http")).await;
    cluster.settle().await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let told = events(&cluster, "ReconcileFailed").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].series.is_none(), "{told:?}");
    let note = told[0].note.as_deref().unwrap();
    assert!(
        note.contains("is not a port: invalid digit found in string: http"),
        "{note}"
    );
    cluster
        .until("web", "be as before", has_port(9090))
        .await
        .unwrap();

    expose(&cluster, None).await;
    cluster.until_gone::<Service>("web").await.unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_field_manager_keeps_its_own_port_and_loses_ours() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();

    let apply = |target: i32| {
        let ports = json!([
            {"name": "main", "port": 8080, "protocol": "TCP", "targetPort": target},
            {"name": "metrics", "port": 9100, "protocol": "TCP", "targetPort": 9100},
        ]);
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports},
        });
        let (api, params) = (cluster.api::<Service>(), PatchParams::apply("other"));
        async move {
            api.patch("web", &params.force(), &Patch::Apply(service))
                .await
                .unwrap()
        }
    };
    apply(1).await;
    cluster
        .until("web", "have its port again", has_port(8080))
        .await
        .unwrap();
    cluster
        .until("web", "keep the other port", has_port(9100))
        .await
        .unwrap();

    // A manager that never gives up is told, and is answered at most once per second.
    cluster.forget_requests();
    for port in 0..60 {
        apply(2 + port).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    cluster.settle().await;
    assert_eq!(events(&cluster, "WritesRepeat").await.len(), 1);
    let answers = own_writes(&cluster).len();
    assert!((30..40).contains(&answers), "{answers}");
    cluster
        .until("web", "be ours in the end", has_port(8080))
        .await
        .unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_service_of_somebody_else_is_left_alone() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    let mut other = Service::named("web");
    other.spec = serde_json::from_value(json!({"ports": [{"port": 1}]})).unwrap();
    cluster.create(&other).await.unwrap();
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster.settle().await;
    assert!(has_port(1)(&cluster.get("web").await.unwrap().unwrap()));
    assert_eq!(events(&cluster, "ReconcileFailed").await.len(), 1);

    // After the other Service is gone, the Deployment gets its own within five minutes.
    cluster.delete::<Service>("web").await.unwrap();
    tokio::time::sleep(Duration::from_secs(330)).await;
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_installed_late_is_summarized() {
    let cluster = Cluster::start().unwrap();
    let running = operator(Some(flags()))
        .start(cluster.client().clone())
        .await
        .unwrap();
    // The other controllers work without the kind.
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();
    let waiting = format!("{:?}", running.ready().report(&Query::default()));
    assert!(waiting.contains("widgets.example.com"), "{waiting}");

    install_widgets(&cluster).await;
    running.synced().await;
    let api = widget_api(&cluster);
    let blue = widget("a", json!({"size": 3, "colour": "blue"}));
    api.create(&PostParams::default(), &blue).await.unwrap();
    let a = until_condition(&cluster, "a", "Summarized", "True").await;
    assert_eq!(a.metadata.finalizers, Some(vec![FINALIZER.into()]));
    until_condition(&cluster, "a", "Ready", "True").await;
    let summary = |text: &'static str| {
        move |map: &ConfigMap| {
            map.data
                .as_ref()
                .is_some_and(|data| data["summary"] == text)
        }
    };
    let whole = summary("/spec/size: 3\n/spec/colour: blue\n");
    cluster.until("a-summary", "be whole", whole).await.unwrap();

    let change = Patch::Merge(json!({"spec": {"colour": null}}));
    api.patch("a", &PatchParams::default(), &change)
        .await
        .unwrap();
    cluster
        .until("a-summary", "have the size", summary("/spec/size: 3\n"))
        .await
        .unwrap();
    let a = until_condition(&cluster, "a", "Summarized", "False").await;
    assert!(
        a.data["status"].to_string().contains("no /spec/colour"),
        "{:?}",
        a.data
    );

    api.delete("a", &DeleteParams::default()).await.unwrap();
    cluster.until_gone::<ConfigMap>("a-summary").await.unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
    cluster.settle().await;
    assert_eq!(events(&cluster, "Removed").await.len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn secrets_are_counted_and_checked_without_their_data() {
    let cluster = Cluster::start().unwrap();
    install_widgets(&cluster).await;
    let address = "127.0.0.1:0".parse().unwrap();
    let operator = operator(Some(flags())).metrics_address(address);
    let running = cluster.run(operator).await.unwrap();
    let count = |team| {
        let labels = [("namespace", "default"), ("team", team)];
        running.metrics().value("platform_secrets", &labels)
    };
    for name in ["one", "two"] {
        cluster.create(&Secret::named(name)).await.unwrap();
        let checked = |secret: &Secret| secret.annotation(CHECKED).is_some();
        cluster.until(name, "be checked", checked).await.unwrap();
    }
    cluster.settle().await;
    assert_eq!((count(""), count("blue")), (Some(2.0), None));

    let change = json!({"metadata": {"labels": {TEAM: "blue"}}});
    cluster.patch::<Secret>("one", change).await.unwrap();
    cluster.settle().await;
    assert_eq!((count(""), count("blue")), (Some(1.0), Some(1.0)));

    let answer = http_get(running.http_address().unwrap(), "/report").await;
    assert!(
        answer.contains("content-type: application/json"),
        "{answer}"
    );
    assert!(
        answer.ends_with(r#"{"default":{"":1,"blue":1}}"#),
        "{answer}"
    );
    let answer = http_get(running.http_address().unwrap(), "/metrics").await;
    assert!(
        answer.contains(r#"platform_secrets{namespace="default",team="blue"} 1"#),
        "{answer}"
    );

    cluster.delete::<Secret>("two").await.unwrap();
    cluster.settle().await;
    assert_eq!((count(""), count("blue")), (Some(0.0), Some(1.0)));
    running.stop().await;
}

/// One object for each controller, all of them done.
async fn everything(cluster: &Cluster) {
    cluster.create(&source("one")).await.unwrap();
    cluster.create(&Namespace::named("shop")).await.unwrap();
    label(cluster, "shop", Some("blue")).await;
    cluster.create(&web(3, "8080")).await.unwrap();
    let blue = widget("a", json!({"size": 3, "colour": "blue"}));
    widget_api(cluster)
        .create(&PostParams::default(), &blue)
        .await
        .unwrap();
    let shop = cluster.in_namespace("shop");
    shop.until("team-secret", "be a copy", is("one"))
        .await
        .unwrap();
    cluster
        .until("web", "exist", |_: &PodDisruptionBudget| true)
        .await
        .unwrap();
    until_condition(cluster, "a", "Ready", "True").await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_writes_nothing() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    everything(&cluster).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    running.stop().await;

    cluster.forget_requests();
    let running = run(&cluster).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(cluster.writes(), []);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_changes_without_the_operator_is_done_at_its_next_start() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    everything(&cluster).await;
    running.stop().await;

    label(&cluster, "shop", None).await;
    expose(&cluster, None).await;
    widget_api(&cluster)
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    cluster.settle().await;
    assert!(
        cluster
            .get::<ConfigMap>("a-summary")
            .await
            .unwrap()
            .is_some()
    );

    let running = run(&cluster).await;
    let shop = cluster.in_namespace("shop");
    shop.until_gone::<Secret>("team-secret").await.unwrap();
    shop.until_gone::<RoleBinding>("team").await.unwrap();
    cluster.until_gone::<Service>("web").await.unwrap();
    cluster
        .until_gone::<PodDisruptionBudget>("web")
        .await
        .unwrap();
    cluster.until_gone::<ConfigMap>("a-summary").await.unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_access_is_declared_and_used() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    everything(&cluster).await;
    label(&cluster, "shop", None).await;
    let shop = cluster.in_namespace("shop");
    shop.until_gone::<Secret>("team-secret").await.unwrap();
    shop.until_gone::<ServiceAccount>("team").await.unwrap();
    shop.until_gone::<RoleBinding>("team").await.unwrap();
    shop.until_gone::<ConfigMap>("team-info").await.unwrap();
    cluster
        .patch::<Deployment>("web", json!({"spec": {"replicas": 1}}))
        .await
        .unwrap();
    cluster
        .until_gone::<PodDisruptionBudget>("web")
        .await
        .unwrap();
    expose(&cluster, None).await;
    cluster.until_gone::<Service>("web").await.unwrap();

    // No request has the verb `bind`: the server demands it in the course of another one.
    let bind = r#"clusterroles.rbac.authorization.k8s.io "edit": bind"#;
    assert_eq!(running.unused_access().to_string(), bind);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn everything_is_done_after_errors_and_broken_watches() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    let broken = || Answer::status(500, "InternalError");
    for resource in [
        "configmaps",
        "secrets",
        "services",
        "rolebindings",
        "serviceaccounts",
        "widgets",
    ] {
        let writes = RequestMatcher::any().verb("patch").resource(resource);
        cluster.faults().answer(writes, broken(), 3);
    }
    let writes = RequestMatcher::any()
        .verb("patch")
        .resource("poddisruptionbudgets");
    cluster.faults().lose_responses(writes, 2);
    everything(&cluster).await;

    cluster.faults().drop_watches(&RequestMatcher::any());
    cluster
        .patch::<Secret>(SOURCE, json!({"data": {"password": "dHdv"}}))
        .await
        .unwrap();
    expose(&cluster, Some("9090")).await;
    let change = Patch::Merge(json!({"spec": {"colour": null}}));
    widget_api(&cluster)
        .patch("a", &PatchParams::default(), &change)
        .await
        .unwrap();
    cluster.faults().compact();
    let shop = cluster.in_namespace("shop");
    shop.until("team-secret", "follow its source", is("two"))
        .await
        .unwrap();
    cluster
        .until("web", "have its new port", has_port(9090))
        .await
        .unwrap();
    until_condition(&cluster, "a", "Summarized", "False").await;
    running.stop().await;
}
