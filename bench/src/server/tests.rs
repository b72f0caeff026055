use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Method;
use serde_json::Value;

use super::{Served, answer::answer};
use crate::generator::FIRST_VERSION;

const PODS: u64 = 25;

fn served() -> Arc<Served> {
    Arc::new(Served::new(1, PODS, 3, 3))
}

async fn get(served: &Arc<Served>, path: &str, query: &str) -> Value {
    let body = answer(served, &Method::GET, path, query, "").into_body();
    let size = body.size_hint_exact();
    let bytes = body
        .collect()
        .await
        .unwrap_or_else(|never| match never {})
        .to_bytes();
    assert_eq!(size, Some(bytes.len() as u64));
    serde_json::from_slice(&bytes).expect("JSON")
}

trait Exact {
    fn size_hint_exact(&self) -> Option<u64>;
}

impl<B: http_body::Body> Exact for B {
    fn size_hint_exact(&self) -> Option<u64> {
        self.size_hint().exact()
    }
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("items");
    items
        .iter()
        .map(|item| item["metadata"]["name"].to_string())
        .collect()
}

/// The next lines of a watch, `count` of them.
async fn watch(served: &Arc<Served>, query: &str, count: usize) -> Vec<Value> {
    let mut body = answer(served, &Method::GET, "/api/v1/pods", query, "").into_body();
    let mut lines = Vec::new();
    while lines.len() < count {
        let frame: Bytes = body
            .frame()
            .await
            .expect("no end")
            .unwrap_or_else(|never| match never {})
            .into_data()
            .expect("data");
        assert_eq!(frame.last(), Some(&b'\n'));
        lines.extend(
            frame
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(|line| serde_json::from_slice::<Value>(line).expect("JSON")),
        );
    }
    assert_eq!(lines.len(), count);
    lines
}

fn version(event: &Value) -> u64 {
    let version = event["object"]["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version");
    version.parse().expect("a number")
}

#[tokio::test]
async fn pages_together_are_the_whole_list() {
    let served = served();
    let whole = get(&served, "/api/v1/pods", "").await;
    assert_eq!(names(&whole).len() as u64, PODS);
    let (mut found, mut token) = (Vec::new(), String::new());
    for left in [Some(15), Some(5), None] {
        let page = get(
            &served,
            "/api/v1/pods",
            &format!("limit=10&continue={token}"),
        )
        .await;
        assert_eq!(
            page["metadata"]["resourceVersion"],
            whole["metadata"]["resourceVersion"]
        );
        assert_eq!(page["metadata"]["remainingItemCount"].as_u64(), left);
        found.extend(names(&page));
        token = page["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
    }
    assert_eq!(found, names(&whole));
    assert_eq!(token, "");
}

#[tokio::test]
async fn a_list_of_version_0_has_no_pages() {
    let list = get(&served(), "/api/v1/pods", "limit=10&resourceVersion=0").await;
    assert_eq!(names(&list).len() as u64, PODS);
    assert_eq!(list["metadata"]["continue"], Value::Null);
}

#[tokio::test]
async fn every_kind_has_a_list_and_is_discovered() {
    let served = served();
    for (path, group, kind) in [
        ("/api/v1/configmaps", "/api/v1", "ConfigMap"),
        (
            "/apis/bench.pilothouse.dev/v1/widgets",
            "/apis/bench.pilothouse.dev/v1",
            "Widget",
        ),
    ] {
        let list = get(&served, path, "").await;
        assert_eq!(list["kind"], format!("{kind}List"));
        assert_eq!(names(&list).len(), 3);
        let resources = get(&served, group, "").await.to_string();
        assert!(
            resources.contains(&format!("\"kind\":\"{kind}\"")),
            "{resources}"
        );
    }
}

#[tokio::test]
async fn a_streamed_list_has_each_object_and_then_the_bookmark() {
    let served = served();
    let events = watch(
        &served,
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        PODS as usize + 1,
    )
    .await;
    let (bookmark, added) = events.split_last().expect("events");
    let list = get(&served, "/api/v1/pods", "").await;
    for (event, item) in added.iter().zip(list["items"].as_array().expect("items")) {
        assert_eq!(event["type"], "ADDED");
        assert_eq!(event["object"]["kind"], "Pod");
        assert_eq!(event["object"]["apiVersion"], "v1");
        assert_eq!(event["object"]["metadata"], item["metadata"]);
        assert_eq!(event["object"]["status"], item["status"]);
    }
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(
        bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(
        version(bookmark).to_string(),
        list["metadata"]["resourceVersion"]
            .as_str()
            .expect("a version")
    );
}

#[tokio::test]
async fn modifications_come_to_each_object_in_turn_with_a_new_version_and_nothing_else_changed() {
    let served = served();
    served.modify(2 * PODS);
    let start = FIRST_VERSION + PODS;
    let events = watch(
        &served,
        &format!("watch=1&resourceVersion={start}"),
        2 * PODS as usize,
    )
    .await;
    let list = get(&served, "/api/v1/pods", "").await;
    let mut seen: Vec<_> = events[..PODS as usize]
        .iter()
        .map(|event| event["object"]["metadata"]["name"].to_string())
        .collect();
    assert_ne!(seen, names(&list), "one after the other");
    seen.sort();
    let mut all = names(&list);
    all.sort();
    assert_eq!(seen, all);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["type"], "MODIFIED");
        assert_eq!(version(event), start + 1 + number as u64);
        let mut object = event["object"].clone();
        let items = list["items"].as_array().expect("items");
        let before = items
            .iter()
            .find(|item| item["metadata"]["name"] == object["metadata"]["name"])
            .expect("the item");
        object["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
        assert_eq!(
            (&object["metadata"], &object["spec"]),
            (&before["metadata"], &before["spec"])
        );
    }
}

#[tokio::test]
async fn a_watch_that_is_opened_anew_goes_on_where_it_was() {
    let served = served();
    served.modify(10);
    let version_of_seventh = FIRST_VERSION + PODS + 7;
    let events = watch(
        &served,
        &format!("watch=1&resourceVersion={version_of_seventh}"),
        3,
    )
    .await;
    assert_eq!(version(&events[0]), version_of_seventh + 1);
}

#[tokio::test]
async fn an_open_watch_hears_of_modifications_that_are_asked_for_later_and_after_a_reset_none() {
    let served = served();
    let mut body = answer(
        &served,
        &Method::GET,
        "/api/v1/pods",
        &format!("watch=1&resourceVersion={}", FIRST_VERSION + PODS),
        "",
    )
    .into_body();
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), body.frame()).await;
    assert!(waiting.is_err(), "nothing was asked for");
    served.modify(1);
    assert!(body.frame().await.is_some());
    served.modify(0);
    let silent = tokio::time::timeout(std::time::Duration::from_millis(20), body.frame()).await;
    assert!(silent.is_err());
}

#[tokio::test]
async fn what_is_not_served_is_named() {
    let served = served();
    let status = get(&served, "/api/v1/secrets", "").await;
    assert_eq!(
        (status["code"].as_u64(), status["reason"].as_str()),
        (Some(404), Some("NotFound"))
    );
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|text| text.contains("/api/v1/secrets"))
    );
    let status = get(&served, "/api/v1/pods", "limit=ten").await;
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|text| text.contains("limit=ten")),
        "{status}"
    );
}
