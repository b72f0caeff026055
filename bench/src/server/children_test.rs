use std::sync::Arc;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Served,
    answer::answer,
    applied,
    children::PATH,
    received::{fields, lines, one, opened, protobuf_events, whole},
};
use crate::generator::{FIRST_VERSION, Kind};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";

fn secret(name: &str, text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"text": text}, "metadata": {"name": name, "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": "u-1", "controller": true},
        ]},
    })
}

async fn apply(served: &Served, name: &str, text: &str) -> (StatusCode, Value) {
    let path = format!("/api/v1/namespaces/here/secrets/{name}");
    let body = Bytes::from(secret(name, text).to_string());
    let answer = applied::answer(served, &path, "force=true", "", &body);
    let code = answer.status();
    let object = serde_json::from_slice(&whole(answer).await).expect("JSON");
    (code, object)
}

fn what(event: &Value) -> (&str, &str, &str, u64) {
    let (metadata, text) = (
        &event["object"]["metadata"],
        &event["object"]["data"]["text"],
    );
    let version = metadata["resourceVersion"].as_str().expect("a version");
    (
        event["type"].as_str().expect("a type"),
        metadata["name"].as_str().unwrap_or_default(),
        text.as_str().unwrap_or_default(),
        version.parse::<u64>().expect("a number") - FIRST_VERSION,
    )
}

#[tokio::test]
async fn watches_receive_each_change_but_no_apply_that_changes_nothing() {
    let served = Arc::new(Served::new(1, &[(Kind::ConfigMap, 0)]));
    let get = |query: &str| answer(&served, &Method::GET, PATH, query, "");
    let list = async || {
        let list: Value = serde_json::from_slice(&whole(get("limit=1")).await).expect("JSON");
        let items = list["items"].as_array().expect("items").len();
        (list["metadata"]["resourceVersion"].to_string(), items)
    };
    let version = |changes: u64| format!("\"{}\"", FIRST_VERSION + changes);
    assert_eq!(list().await, (version(0), 0));
    let mut early = get(&format!("watch=1&resourceVersion={FIRST_VERSION}")).into_body();
    let mut streamed = get("watch=1&sendInitialEvents=true").into_body();
    let received = lines(&mut streamed, 1).await;
    assert_eq!(what(&received[0]), ("BOOKMARK", "", "", 0));

    let (code, first) = apply(&served, "a", "Yg==").await;
    assert_eq!(code, StatusCode::CREATED);
    assert_eq!(
        apply(&served, "a", "Yg==").await,
        (StatusCode::OK, first.clone())
    );
    let (code, second) = apply(&served, "a", "Yw==").await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(first["metadata"]["uid"], second["metadata"]["uid"]);
    apply(&served, "b", "Yg==").await;
    assert!(
        served
            .counts
            .json(served.children.count())
            .contains("\"applies\":4,\"children\":2")
    );

    let expected = [
        ("ADDED", "a", "Yg==", 1),
        ("MODIFIED", "a", "Yw==", 2),
        ("ADDED", "b", "Yg==", 3),
    ];
    for body in [&mut early, &mut streamed] {
        let received = lines(body, 3).await;
        assert_eq!(received.iter().map(what).collect::<Vec<_>>(), expected);
    }
    let later = format!("watch=1&resourceVersion={}", FIRST_VERSION + 2);
    let received = lines(&mut get(&later).into_body(), 1).await;
    assert_eq!(what(&received[0]), expected[2]);
    assert_eq!(list().await, (version(3), 2));
    let received = lines(&mut get("watch=1&sendInitialEvents=true").into_body(), 3).await;
    assert_eq!(
        received.iter().map(what).collect::<Vec<_>>(),
        [
            ("ADDED", "a", "Yw==", 2),
            expected[2],
            ("BOOKMARK", "", "", 3)
        ]
    );

    served.reset();
    assert_eq!(list().await, (version(0), 0));
}

#[tokio::test]
async fn watches_receive_changes_in_protobuf_too() {
    let served = Arc::new(Served::new(1, &[(Kind::ConfigMap, 0)]));
    let get = |query: &str| answer(&served, &Method::GET, PATH, query, PROTOBUF);
    apply(&served, "a", "aGVsbG8=").await;
    let mut body = get("watch=1&sendInitialEvents=true").into_body();
    let events = protobuf_events(&mut body, "Secret", 2).await;
    let kinds: Vec<_> = events.iter().map(|(what, _)| &what[..]).collect();
    assert_eq!(kinds, ["ADDED", "BOOKMARK"]);
    let list = opened("SecretList", &whole(get("")).await);
    for secret in [events[0].1.clone(), one(&fields(&list), 2).to_vec()] {
        let secret = fields(&secret);
        let metadata = fields(one(&secret, 1));
        assert_eq!(
            (one(&metadata, 1), one(&metadata, 3)),
            (&b"a"[..], &b"here"[..])
        );
        let data = fields(one(&secret, 2));
        assert_eq!(
            (one(&data, 1), one(&data, 2)),
            (&b"text"[..], &b"hello"[..])
        );
    }
    let bookmark = fields(&events[1].1);
    let version = (FIRST_VERSION + 1).to_string();
    assert_eq!(one(&fields(one(&bookmark, 1)), 6), version.as_bytes());
    assert_eq!(one(&fields(one(&fields(&list), 1)), 2), version.as_bytes());
}
