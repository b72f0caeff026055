use std::{
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{io::DuplexStream, time::Instant};

use super::server::{Answer, Seen, Site, answer, endless, json as json_text};
use crate::client::{Client, Config, Discovery, RestMapper};

/// A client whose connections are pipes to `site` in this runtime.
pub(super) fn client(site: &Site) -> Client {
    let site = site.clone();
    let connector = move || -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(site.clone().serve(far));
        Ok(near)
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(Arc::new(connector));
    client.build().unwrap()
}

/// On HTTP/2 the URI contains the server's name.
pub(super) fn path(seen: &Seen) -> &str {
    seen.uri.trim_start_matches("http://sandbox")
}

fn ok(value: &Value) -> Option<Answer> {
    json_text(200, value.to_string())
}

/// The plain form: one document for each path, with log that Go leaves out or writes as `null`.
pub(super) fn listed(path: &str) -> Option<Answer> {
    ok(&match path {
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        "/apis" => {
            json!({"kind": "APIGroupList", "groups": [group("apps"), group("demo.dev"), {"name": "empty.dev", "versions": null}]})
        }
        "/apis/apps" => group("apps"),
        "/apis/demo.dev" => group("demo.dev"),
        "/api/v1" => json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
            {"name": "pods", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get", "list"], "shortNames": ["po"], "categories": ["all"]},
            {"name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]},
            {"name": "pods/status", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get"]},
            {"name": "nodes", "singularName": "node", "namespaced": false, "kind": "Node", "verbs": null, "shortNames": null},
        ]}),
        "/apis/apps/v1" => {
            json!({"resources": [{"name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment", "verbs": ["get"]}]})
        }
        "/apis/demo.dev/v1" => json!({"resources": null}),
        "/apis/demo.dev/v2" => json!({"resources": [
            {"name": "sites", "namespaced": true, "kind": "Site", "verbs": ["get"]},
            {"name": "nothing", "verbs": ["create"]},
        ]}),
        _ => return json_text(404, "{}"),
    })
}

fn group(name: &str) -> Value {
    let version =
        |version: &str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    match name {
        "demo.dev" => {
            json!({"name": name, "versions": [version("v1"), version("v2")], "preferredVersion": version("v2")})
        }
        _ => json!({"name": name, "versions": [version("v1")], "preferredVersion": version("v1")}),
    }
}

/// The same as [`listed`], aggregated.
pub(super) fn aggregated(path: &str) -> Option<Answer> {
    let groups = match path {
        "/api" => json!([{"versions": [{"version": "v1", "freshness": "Current", "resources": [
            {"resource": "pods", "responseKind": {"group": "", "version": "v1", "kind": "Pod"}, "scope": "Namespaced", "verbs": ["get", "list"], "shortNames": ["po"], "categories": ["all"], "subresources": [
                {"subresource": "eviction", "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"}, "verbs": ["create"]},
                {"subresource": "status", "responseKind": {"group": "", "version": "", "kind": "Pod"}, "verbs": ["get"]},
                {"subresource": "nothing", "responseKind": null, "verbs": ["get"]},
            ]},
            {"resource": "nodes", "responseKind": {"kind": "Node"}, "scope": "Cluster", "singularResource": "node", "verbs": null},
        ]}]}]),
        "/apis" => json!([
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
                {"resource": "deployments", "responseKind": {"kind": "Deployment"}, "scope": "Namespaced", "singularResource": "deployment", "verbs": ["get"]},
            ]}]},
            {"metadata": {"name": "demo.dev"}, "versions": [
                {"version": "v2", "resources": [
                    {"resource": "sites", "responseKind": {"kind": "Site"}, "scope": "Namespaced", "verbs": ["get"]},
                    {"resource": "nothing", "scope": "Namespaced", "verbs": ["create"]},
                ]},
                {"version": "v1", "resources": null},
            ]},
            {"metadata": {"name": "empty.dev"}},
        ]),
        _ => return listed(path),
    };
    ok(
        &json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": groups}),
    )
}

/// All fields of each kind, and the failures.
pub(super) fn shown(discovery: &Discovery) -> Vec<String> {
    let mut lines = Vec::new();
    for group in discovery.groups() {
        for version in group.versions() {
            lines.push(format!("{:?} {}", group.name(), version.name()));
            lines.extend(version.kinds().iter().map(|kind| format!("{kind:?}")));
        }
    }
    lines.extend(discovery.failures().map(|failure| failure.to_string()));
    lines
}

/// The names of the kinds, each once.
fn names(discovery: &Discovery) -> Vec<String> {
    let kinds = discovery.preferred_kinds();
    kinds.map(|kind| kind.to_string()).collect()
}

fn failures(discovery: &Discovery) -> Vec<String> {
    let failures = discovery.failures();
    failures.map(|failure| failure.to_string()).collect()
}

fn paths(site: &Site) -> Vec<String> {
    site.seen()
        .iter()
        .map(|seen| path(seen).to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn both_forms_of_discovery_lead_to_the_same_kinds() {
    let old = Site::new(|seen| listed(path(seen)));
    let new = Site::new(|seen| aggregated(path(seen)));
    let mixed = Site::new(|seen| match path(seen) {
        "/api" => aggregated("/api"),
        path => listed(path),
    });
    let of_new = client(&new).discover().await.unwrap();
    assert_eq!(new.seen().len(), 2);
    let wanted =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    assert_eq!(new.seen()[0].header("accept"), wanted);
    assert_eq!(
        names(&of_new),
        [
            "pods/v1",
            "nodes/v1",
            "deployments.apps/v1",
            "sites.demo.dev/v2"
        ]
    );
    for (site, requests) in [(&old, 6), (&mixed, 5)] {
        let discovery = client(site).discover().await.unwrap();
        assert_eq!(shown(&discovery), shown(&of_new));
        assert_eq!(site.seen().len(), requests);
    }
    let demo = of_new.group("demo.dev").unwrap();
    assert_eq!(demo.preferred_version().unwrap().name(), "v2");
    let pods = of_new.group("").unwrap().version("v1").unwrap();
    let pods = pods.resource("pods").unwrap();
    assert_eq!(
        pods.subresource("eviction").unwrap().api_version,
        "policy/v1"
    );
    assert_eq!(pods.subresource("status").unwrap().api_version, "v1");
    assert_eq!(of_new.category("all").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn plain_discovery_is_used_if_the_server_refuses_the_aggregated_form() {
    let site = Site::new(|seen| match seen.header("accept") {
        "application/json" => listed(path(seen)),
        _ => json_text(406, "{}"),
    });
    let discovery = client(&site).discover().await.unwrap();
    assert_eq!(names(&discovery).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_broken_group_hides_no_other_and_its_error_names_it() {
    let table: [(&str, Option<Answer>, &str); 4] = [
        (
            "/apis/demo.dev/v2",
            answer(503, "text/plain", "service unavailable"),
            "group \"demo.dev\" (v2): discover /apis/demo.dev/v2: service unavailable",
        ),
        (
            "/apis/demo.dev/v2",
            json_text(200, "{\"resources\": [{\"name\": 7}]}"),
            "group \"demo.dev\" (v2): discover /apis/demo.dev/v2: the answer cannot be decoded: ",
        ),
        (
            "/apis/demo.dev/v2",
            endless("{"),
            "group \"demo.dev\" (v2): discover /apis/demo.dev/v2: the API server's response broke off: nothing more came for 30 s",
        ),
        (
            "/api",
            json_text(
                403,
                "{\"message\": \"not yours\", \"reason\": \"Forbidden\"}",
            ),
            "the core group (v1): discover /api: forbidden: not yours",
        ),
    ];
    for (broken, answer, text) in table {
        let answer = parking_lot::Mutex::new(answer);
        let site = Site::new(move |seen| match path(seen) == broken {
            true => answer.lock().take(),
            false => listed(path(seen)),
        });
        let discovery = client(&site).discover().await.unwrap();
        let failures = failures(&discovery);
        assert!(failures[0].starts_with(text), "{failures:?}");
        assert_eq!(failures.len(), 1);
        assert!(names(&discovery).contains(&"deployments.apps/v1".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_version_is_reported_and_is_not_the_preferred_one() {
    let site = Site::new(|seen| match path(seen) {
        "/api" => json_text(404, "{}"),
        _ => ok(
            &json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "demo.dev"}, "versions": [
                {"version": "v2", "freshness": "Stale", "resources": [{"resource": "sites", "responseKind": {"kind": "Site"}, "scope": "Namespaced", "verbs": ["get"]}]},
                {"version": "v1", "freshness": "Current", "resources": []},
            ]}]}),
        ),
    });
    let discovery = client(&site).discover().await.unwrap();
    let demo = discovery.group("demo.dev").unwrap();
    assert_eq!(demo.preferred_version().unwrap().name(), "v1");
    assert_eq!(names(&discovery), ["sites.demo.dev/v2"]);
    assert_eq!(
        failures(&discovery),
        [
            "group \"demo.dev\" (v2): the API server's own view of it is stale: see the APIService of that version"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_the_list_of_groups_there_is_an_error() {
    let site = Site::new(|seen| match path(seen) {
        "/apis" => json_text(
            403,
            "{\"message\": \"not yours\", \"reason\": \"Forbidden\"}",
        ),
        path => aggregated(path),
    });
    let error = client(&site).discover().await.unwrap_err();
    assert_eq!(error.to_string(), "discover /apis: forbidden: not yours");
    let error = client(&site).discover_group("a/../b").await.unwrap_err();
    assert!(
        error.to_string().ends_with("must not contain `/`"),
        "{error}"
    );
}

/// A server of the [`aggregated`] form whose group `demo.dev` can be removed.
fn with_switch() -> (Site, Arc<AtomicBool>) {
    let installed = Arc::new(AtomicBool::new(false));
    let is_installed = installed.clone();
    let site = Site::new(move |seen: &Seen| {
        let installed = is_installed.load(Ordering::SeqCst);
        match (path(seen), installed) {
            ("/apis", false) => ok(&json!({"kind": "APIGroupDiscoveryList", "items": []})),
            (path, false) if path.contains("demo.dev") => json_text(404, "{}"),
            (path, _) => aggregated(path),
        }
    });
    (site, installed)
}

async fn later(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_name_reads_its_group_once_for_all_callers() {
    let (site, installed) = with_switch();
    let mapper = RestMapper::new(&client(&site));
    let ask = || mapper.kind("demo.dev/v2", "Site");
    let together = || join_all((0..20).map(|_| ask()));

    let first = together().await;
    assert!(first.iter().all(|found| found.is_err()));
    assert_eq!(paths(&site).len(), 2, "one reading tells of all misses");
    assert_eq!(
        first[0].as_ref().unwrap_err().to_string(),
        "no kind \"Site\" in demo.dev/v2: the server does not serve the group: install its definition, or check the spelling"
    );

    later(4).await;
    assert!(together().await.iter().all(|found| found.is_err()));
    assert_eq!(paths(&site)[2..], ["/apis/demo.dev"]);

    installed.store(true, Ordering::SeqCst);
    later(1).await;
    assert!(ask().await.is_err(), "asked again within three seconds");
    assert_eq!(paths(&site).len(), 3);
    later(3).await;
    assert!(together().await.iter().all(|found| found.is_ok()));
    assert_eq!(
        paths(&site)[3..],
        ["/apis/demo.dev", "/apis/demo.dev/v2", "/apis/demo.dev/v1"]
    );
    ask().await.unwrap();
    assert_eq!(paths(&site).len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_missing_name_without_a_group_reads_everything() {
    let (site, installed) = with_switch();
    let mapper = RestMapper::new(&client(&site));
    assert!(mapper.find("site").await.unwrap_err().is_not_found());
    installed.store(true, Ordering::SeqCst);
    later(4).await;
    assert_eq!(
        mapper.find("site").await.unwrap().to_string(),
        "sites.demo.dev/v2"
    );
    assert_eq!(paths(&site).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_removed_kind_is_forgotten_when_its_group_is_read_again() {
    let (site, installed) = with_switch();
    installed.store(true, Ordering::SeqCst);
    let mapper = RestMapper::new(&client(&site));
    mapper.find("sites").await.unwrap();
    installed.store(false, Ordering::SeqCst);
    mapper.find("sites").await.unwrap();
    mapper.refresh_group("demo.dev").await.unwrap();
    assert!(mapper.find("sites").await.unwrap_err().is_not_found());

    installed.store(true, Ordering::SeqCst);
    mapper.refresh().await.unwrap();
    mapper.find("sites").await.unwrap();
    installed.store(false, Ordering::SeqCst);
    later(601).await;
    assert!(mapper.find("sites").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn the_last_kind_of_a_version_is_forgotten_when_its_group_is_read_again() {
    let removed = Arc::new(AtomicBool::new(false));
    let is_removed = removed.clone();
    let site = Site::new(move |seen| {
        let is_version = path(seen).starts_with("/apis/demo.dev/");
        match is_version && is_removed.load(Ordering::SeqCst) {
            true => ok(&json!({"kind": "APIResourceList", "resources": []})),
            false => listed(path(seen)),
        }
    });
    let mapper = RestMapper::new(&client(&site));
    mapper.find("sites").await.unwrap();
    removed.store(true, Ordering::SeqCst);
    mapper.refresh_group("demo.dev").await.unwrap();
    assert!(mapper.find("sites").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_group_keeps_its_last_known_kinds() {
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = broken.clone();
    let site = Site::new(move |seen| {
        let is_demo = path(seen).starts_with("/apis/demo.dev");
        match is_demo && is_broken.load(Ordering::SeqCst) {
            true => answer(503, "text/plain", "service unavailable"),
            false => listed(path(seen)),
        }
    });
    let mapper = RestMapper::new(&client(&site));
    mapper.find("sites").await.unwrap();
    broken.store(true, Ordering::SeqCst);
    later(601).await;
    mapper.find("sites").await.unwrap();
    assert!(mapper.refresh_group("demo.dev").await.is_err());
    let discovery = mapper.refresh().await.unwrap();
    assert_eq!(discovery.failures().count(), 2);
    mapper.find("sites.demo.dev").await.unwrap();
    let error = mapper.find("tubes.demo.dev").await.unwrap_err();
    assert!(!error.is_not_found());
    assert!(
        error.to_string().starts_with(
            "cannot tell what resource \"tubes\" in group \"demo.dev\" is: group \"demo.dev\" (v2): discover /apis/demo.dev/v2: service unavailable; group \"demo.dev\" (v1): "
        ),
        "{error}"
    );
}

/// Polls the future once.
async fn begin<F: Future>(future: std::pin::Pin<&mut F>) {
    let outcome = tokio::time::timeout(Duration::from_secs(1), future).await;
    assert!(outcome.is_err(), "it is done already");
}

#[tokio::test(start_paused = true)]
async fn a_reading_continues_for_waiting_callers_and_restarts_if_all_left() {
    let hangs = Arc::new(AtomicBool::new(true));
    let is_hanging = hangs.clone();
    let site = Site::new(move |seen| match is_hanging.load(Ordering::SeqCst) {
        true => endless("{"),
        false => aggregated(path(seen)),
    });
    let mapper = RestMapper::new(&client(&site));
    let mut first = Box::pin(mapper.find("pods"));
    let mut second = Box::pin(mapper.find("pods"));
    begin(first.as_mut()).await;
    begin(second.as_mut()).await;
    assert_eq!(site.seen().len(), 2, "both wait for one reading");
    drop(first);
    begin(second.as_mut()).await;
    assert_eq!(site.seen().len(), 2);
    drop(second);

    hangs.store(false, Ordering::SeqCst);
    let start = Instant::now();
    mapper.find("pods").await.unwrap();
    assert_eq!((start.elapsed(), site.seen().len()), (Duration::ZERO, 4));
}

#[tokio::test(start_paused = true)]
async fn a_refresh_returns_what_the_server_answered_after_the_call() {
    let (site, installed) = with_switch();
    let mapper = RestMapper::new(&client(&site));
    mapper.discovery().await.unwrap();
    let mut early = Box::pin(mapper.refresh());
    // Its request is sent, and its answer is not read yet.
    let polled = futures_util::poll!(early.as_mut());
    assert!(polled.is_pending());
    while site.seen().len() < 4 {
        tokio::task::yield_now().await;
    }
    installed.store(true, Ordering::SeqCst);
    let (late, _) = tokio::join!(mapper.refresh(), early);
    assert!(late.unwrap().group("demo.dev").is_some());
    assert_eq!(site.seen().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_an_unreachable_server_names_the_kind() {
    let site = Site::new(|_| json_text(500, "{\"message\": \"etcd is away\"}"));
    let mapper = RestMapper::new(&client(&site));
    let error = mapper.find("pods").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot tell what resource \"pods\" is: discover /apis: internal server error: etcd is away"
    );
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_came_back_with_another_scope_is_stale_for_ten_minutes_at_most() {
    let namespaced = Arc::new(AtomicBool::new(true));
    let is_namespaced = namespaced.clone();
    let site = Site::new(move |seen| {
        let namespaced = is_namespaced.load(Ordering::SeqCst);
        match path(seen) {
            "/apis/demo.dev/v2" => ok(&json!({"resources": [
                {"name": "sites", "namespaced": namespaced, "kind": "Site", "verbs": ["get"]},
            ]})),
            path => listed(path),
        }
    });
    let mapper = RestMapper::new(&client(&site));
    assert!(mapper.find("sites").await.unwrap().resource.namespaced);
    namespaced.store(false, Ordering::SeqCst);
    later(599).await;
    assert!(mapper.find("sites").await.unwrap().resource.namespaced);
    later(2).await;
    assert!(!mapper.find("sites").await.unwrap().resource.namespaced);
}

#[tokio::test(start_paused = true)]
async fn failed_watches_of_definitions_are_repeated_with_growing_pauses() {
    let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"CustomResourceDefinition","metadata":{"resourceVersion":"1"}}}"#;
    let list =
        r#"{"kind":"CustomResourceDefinitionList","metadata":{"resourceVersion":"1"},"items":[]}"#;
    // Each request fails, or each watch ends after a bookmark.
    for works in [false, true] {
        let site = Site::new(move |seen| match path(seen) {
            path if !path.contains("customresourcedefinitions") => listed(path),
            _ if !works => json_text(500, "{}"),
            path if path.contains("watch=true") => json_text(200, bookmark),
            _ => json_text(200, list),
        });
        let mapper = RestMapper::new(&client(&site));
        let minutes = Duration::from_secs(600);
        let follows = tokio::time::timeout(minutes, mapper.follow_definitions());
        assert!(follows.await.is_err());
        let seen = site.seen();
        let asked = seen
            .iter()
            .filter(|seen| path(seen).contains("customresourcedefinitions"))
            .count();
        assert!((10..=20).contains(&asked), "{works}: {asked}");
    }
}
