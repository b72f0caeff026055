//! Waiting for a state during every kind of failure, with a paused clock.

use std::{collections::VecDeque, sync::Arc};

use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    client::{Api, Body, BoxError, Client},
    resource::Object,
};

/// The server's reaction to one request.
enum Turn {
    /// Answers.
    Answer(u16, String),
    /// Breaks the connection.
    Break,
}

fn list(version: &str, items: &[Value]) -> Turn {
    let list =
        json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": version}, "items": items});
    Turn::Answer(200, list.to_string())
}

fn events(events: &[(&str, Value)]) -> Turn {
    let line =
        |(kind, object): &(&str, Value)| json!({"type": kind, "object": object}).to_string() + "\n";
    Turn::Answer(200, events.iter().map(line).collect())
}

fn refused(code: u16, reason: &str) -> Turn {
    let status = json!({"kind": "Status", "reason": reason, "code": code, "message": reason});
    Turn::Answer(code, status.to_string())
}

fn map(uid: &str, version: &str) -> Value {
    json!({"metadata": {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": version}})
}

/// The ConfigMaps of a server with these reactions, and the path of each request.
fn server(turns: impl IntoIterator<Item = Turn>) -> (Api<ConfigMap>, Arc<Mutex<Vec<String>>>) {
    let turns: Arc<Mutex<VecDeque<Turn>>> = Arc::new(Mutex::new(turns.into_iter().collect()));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let client = Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        log.lock().push(query);
        let turn = turns.lock().pop_front();
        async move {
            match turn.ok_or("nothing more was expected")? {
                Turn::Answer(code, body) => {
                    let answer = Response::builder().status(code);
                    Ok::<_, BoxError>(
                        answer
                            .header("content-type", "application/json")
                            .body(body)?,
                    )
                }
                Turn::Break => Err("broken off".into()),
            }
        }
    }));
    (Api::namespaced(&client, "default"), asked)
}

const LIST: &str = "fieldSelector=metadata.name%3Da";

fn watch(version: &str) -> String {
    format!(
        "watch=true&{LIST}&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=300"
    )
}

#[tokio::test(start_paused = true)]
async fn wait_until_continues_after_every_temporary_error() {
    let (maps, asked) = server([
        Turn::Break,
        refused(503, "ServiceUnavailable"),
        list("5", &[]),
        events(&[
            ("ADDED", map("u", "6")),
            ("BOOKMARK", json!({"metadata": {"resourceVersion": "8"}})),
        ]),
        Turn::Break,
        refused(429, "TooManyRequests"),
        list("9", &[map("u", "6")]),
        events(&[(
            "ERROR",
            json!({"kind": "Status", "reason": "Expired", "code": 410}),
        )]),
        list("20", &[map("u", "6")]),
        refused(410, "Gone"),
        list("30", &[map("u", "6")]),
        events(&[("MODIFIED", map("u", "31"))]),
    ]);
    let found = maps.wait_until("a", |map| {
        map.and_then(Object::resource_version) == Some("31")
    });
    assert_eq!(found.await.unwrap().unwrap().uid(), Some("u"));
    let [list, from] = [LIST.to_owned(), watch("8")];
    assert_eq!(
        *asked.lock(),
        [
            list.clone(),
            list.clone(),
            list.clone(),
            watch("5"),
            from,
            list.clone(),
            list.clone(),
            watch("9"),
            list.clone(),
            watch("20"),
            list,
            watch("30"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn wait_until_returns_at_once_if_the_condition_holds() {
    let (maps, asked) = server([list("5", &[map("u", "3")])]);
    assert!(
        maps.wait_until("a", |map| map.is_some())
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(asked.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_ends_wait_until() {
    for (code, reason) in [(403, "Forbidden"), (401, "Unauthorized"), (404, "NotFound")] {
        let (maps, _) = server([refused(code, reason)]);
        let error = maps.wait_until("a", |_| true).await.unwrap_err();
        assert_eq!(error.status().unwrap().reason, reason);
    }
    let odd = json!({"metadata": {"name": "a"}, "data": 3});
    let (maps, _) = server([list("5", std::slice::from_ref(&odd))]);
    assert_eq!(
        maps.wait_until("a", |_| true)
            .await
            .unwrap_err()
            .to_string(),
        "list ConfigMap a cannot be decoded: data: expected a map, found an integer"
    );
    let (maps, _) = server([list("5", &[]), events(&[("ADDED", odd)])]);
    let error = maps.wait_until("a", |map| map.is_some()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("watch ConfigMap a cannot be decoded")
    );
}

#[tokio::test(start_paused = true)]
async fn a_deletion_ends_when_the_object_is_gone_or_replaced() {
    let (maps, _) = server([
        list("5", &[map("u", "3")]),
        events(&[("MODIFIED", map("u", "6")), ("DELETED", map("u", "7"))]),
    ]);
    maps.wait_until_deleted("a", Some("u")).await.unwrap();
    let (maps, _) = server([list("5", &[map("v", "3")])]);
    maps.wait_until_deleted("a", Some("u")).await.unwrap();
    let (maps, asked) = server([
        list("5", &[map("v", "3")]),
        events(&[("DELETED", map("v", "7"))]),
    ]);
    maps.wait_until_deleted("a", None).await.unwrap();
    assert_eq!(asked.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_without_events_are_opened_with_growing_pauses() {
    let bookmark = || {
        let object = json!({"metadata": {"resourceVersion": "1"}});
        events(&[("BOOKMARK", object)])
    };
    let turns = std::iter::once(list("1", &[])).chain((0..1000).map(|_| bookmark()));
    let (maps, asked) = server(turns);
    let waits = maps.wait_until("a", |map| map.is_some());
    let minutes = std::time::Duration::from_secs(300);
    assert!(tokio::time::timeout(minutes, waits).await.is_err());
    let count = asked.lock().len();
    assert!((8..=20).contains(&count), "{count}");

    let changes = (2..1000).map(|version| events(&[("MODIFIED", map("u", &version.to_string()))]));
    let (maps, asked) = server(std::iter::once(list("1", &[])).chain(changes));
    let waits = maps.wait_until("a", |map| {
        map.is_some_and(|map| map.resource_version() == Some("100"))
    });
    let start = tokio::time::Instant::now();
    waits.await.unwrap();
    assert_eq!(asked.lock().len(), 100);
    assert!(start.elapsed() < std::time::Duration::from_secs(100));
}
