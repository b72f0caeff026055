use std::sync::Arc;

use bytes::{BufMut, Bytes};
use hyper::{Method, header};
use serde_json::{Value, json};

use super::{
    Served,
    answer::answer,
    applied,
    form::Form,
    received::{fields, one, opened, protobuf_events, whole},
    target::now,
};
use crate::generator::{FIRST_VERSION, Kind};

const PODS: u64 = 5;
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";

/// Returns a field whose length is below 128.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut all = vec![number << 3 | 2, bytes.len() as u8];
    all.extend_from_slice(bytes);
    all
}

/// Returns a file as `dump` writes it: objects with a name, a version and a field after the annotations, and another field after the metadata.
fn file(count: u64) -> Vec<u8> {
    let mut file = Vec::new();
    for number in 0..count {
        let version = (FIRST_VERSION + number).to_string();
        let name = format!("pod-{version}");
        let metadata = [
            field(1, name.as_bytes()),
            field(6, version.as_bytes()),
            field(13, b""),
        ];
        let metadata = metadata.concat();
        let object = [field(1, &metadata), field(2, b"the rest")].concat();
        file.put_u32(object.len() as u32);
        file.extend(object);
    }
    file
}

fn served() -> Arc<Served> {
    let mut served = Served::new(1, &[(Kind::Pod, PODS), (Kind::ConfigMap, 3)]);
    served
        .add_protobuf(Kind::Pod, &file(PODS))
        .expect("messages");
    Arc::new(served)
}

async fn list(served: &Arc<Served>, query: &str) -> Vec<(u8, Vec<u8>)> {
    let answer = answer(served, &Method::GET, "/api/v1/pods", query, PROTOBUF);
    assert_eq!(
        answer.headers()[header::CONTENT_TYPE],
        "application/vnd.kubernetes.protobuf"
    );
    let body = whole(answer).await;
    fields(&opened("PodList", &body))
}

/// Returns the types and messages of the next events.
async fn watch(served: &Arc<Served>, query: &str, count: usize) -> Vec<(String, Vec<u8>)> {
    let answer = answer(served, &Method::GET, "/api/v1/pods", query, PROTOBUF);
    assert_eq!(
        answer.headers()[header::CONTENT_TYPE],
        "application/vnd.kubernetes.protobuf;stream=watch"
    );
    protobuf_events(&mut answer.into_body(), "Pod", count).await
}

fn metadata(object: &[u8]) -> Vec<(u8, Vec<u8>)> {
    fields(one(&fields(object), 1))
}

#[tokio::test]
async fn each_page_of_a_list_is_one_envelope_of_messages() {
    let served = served();
    let mut items = Vec::new();
    let mut token = String::new();
    for left in [Some("2"), None] {
        let page = list(&served, &format!("limit=3&continue={token}")).await;
        let metadata = fields(one(&page, 1));
        assert_eq!(
            one(&metadata, 2),
            (FIRST_VERSION + PODS).to_string().as_bytes()
        );
        let rest = metadata.iter().find(|field| field.0 == 4);
        assert_eq!(rest.map(|field| &field.1[..]), left.map(str::as_bytes));
        token = String::from_utf8_lossy(one(&metadata, 3)).into_owned();
        items.extend(page.into_iter().filter(|field| field.0 == 2));
    }
    let whole = list(&served, "").await;
    assert_eq!(items, whole[1..]);
    assert_eq!(items.len() as u64, PODS);
    assert_eq!(one(&metadata(&items[4].1), 1), b"pod-10000004");
}

#[tokio::test]
async fn a_streamed_list_in_protobuf_has_each_object_and_then_the_bookmark() {
    let served = served();
    let events = watch(
        &served,
        "watch=true&sendInitialEvents=true",
        PODS as usize + 1,
    )
    .await;
    let (bookmark, added) = events.split_last().expect("events");
    let items = list(&served, "").await;
    for ((what, object), item) in added.iter().zip(&items[1..]) {
        assert_eq!((what.as_str(), object), ("ADDED", &item.1));
    }
    assert_eq!(bookmark.0, "BOOKMARK");
    let metadata = metadata(&bookmark.1);
    assert_eq!(
        one(&metadata, 6),
        (FIRST_VERSION + PODS).to_string().as_bytes()
    );
    let annotation = fields(one(&metadata, 12));
    assert_eq!(one(&annotation, 1), b"k8s.io/initial-events-end");
    assert_eq!(one(&annotation, 2), b"true");
}

#[tokio::test]
async fn modifications_in_protobuf_change_only_the_version() {
    let served = served();
    served.modify(2 * PODS);
    let start = FIRST_VERSION + PODS;
    let events = watch(
        &served,
        &format!("watch=1&resourceVersion={start}"),
        2 * PODS as usize,
    )
    .await;
    let items = list(&served, "").await;
    for (number, (what, object)) in events.iter().enumerate() {
        let metadata = metadata(object);
        let version = (start + 1 + number as u64).to_string();
        assert_eq!(
            (what.as_str(), one(&metadata, 6)),
            ("MODIFIED", version.as_bytes())
        );
        let name = String::from_utf8_lossy(one(&metadata, 1)).into_owned();
        let number: u64 = name["pod-".len()..].parse().expect("a number");
        let mut before = items[1 + (number - FIRST_VERSION) as usize].1.clone();
        let place = before.len() - b"the rest".len() - 2 - 2 - 8;
        before[place..place + 8].copy_from_slice(version.as_bytes());
        assert_eq!(*object, before, "{name}");
    }
}

#[tokio::test]
async fn a_stamp_in_protobuf_only_adds_an_annotation_in_the_order_of_the_fields() {
    let served = served();
    let query = format!("watch=1&resourceVersion={}", FIRST_VERSION + PODS);
    served.modify(PODS);
    let plain = watch(&served, &query, PODS as usize).await;
    served.command(|target| target.stamped = true);
    let stamped = watch(&served, &query, PODS as usize).await;
    for ((_, plain), (_, stamped)) in plain.iter().zip(&stamped) {
        let mut metadata = metadata(stamped);
        let numbers: Vec<_> = metadata.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 6, 12, 13]);
        let (_, annotation) = metadata.remove(2);
        let annotation = fields(&annotation);
        assert_eq!(one(&annotation, 1), b"bench/stamp");
        let stamp = String::from_utf8_lossy(one(&annotation, 2)).into_owned();
        assert!(stamp.parse().is_ok_and(|stamp: u64| stamp <= now()));
        assert_eq!(metadata, self::metadata(plain));
        assert_eq!(fields(stamped)[1..], fields(plain)[1..]);
    }
}

#[tokio::test]
async fn a_relist_in_protobuf_changes_the_same_objects_and_ends_watches() {
    let served = served();
    let query = format!("watch=1&resourceVersion={}", FIRST_VERSION + PODS);
    served.relist(40);
    let answer = answer(&served, &Method::GET, "/api/v1/pods", &query, PROTOBUF);
    let body = whole(answer).await;
    let event = fields(&body[4..]);
    assert_eq!(one(&event, 1), b"ERROR");
    let status = fields(&opened("Status", one(&fields(one(&event, 2)), 1)));
    assert_eq!(
        (one(&status, 4), one(&status, 6)),
        (&b"Expired"[..], &b"410"[..])
    );

    let list = list(&served, "").await;
    let stock = served.stock("/api/v1/pods").expect("Pods");
    let [_, json, _] = stock.list(0..PODS as usize, None);
    let json: Vec<Value> = serde_json::from_slice(&[b"[", &json[..], b"]"].concat()).expect("JSON");
    let mut changed = 0;
    for (number, (item, json)) in list[1..].iter().zip(&json).enumerate() {
        let version = String::from_utf8_lossy(one(&metadata(&item.1), 6)).into_owned();
        assert_eq!(json["metadata"]["resourceVersion"], version);
        changed += usize::from(version != (FIRST_VERSION + number as u64).to_string());
    }
    assert_eq!(changed, 2);
    assert_eq!(
        one(&fields(one(&list, 1)), 2),
        stock.version().to_string().as_bytes()
    );
}

#[tokio::test]
async fn an_applied_object_comes_back_in_protobuf() {
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "hello"},
        "metadata": {"name": "child", "namespace": "here", "labels": {"a": "b"}, "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": "u-1", "controller": true},
        ]},
    });
    let path = "/api/v1/namespaces/here/configmaps/child";
    let answer =
        |body: String| applied::answer(&served(), path, "force=true", PROTOBUF, &Bytes::from(body));
    let taken = answer(body.to_string());
    assert_eq!(
        taken.headers()[header::CONTENT_TYPE],
        "application/vnd.kubernetes.protobuf"
    );
    let bytes = whole(taken).await;
    let object = opened("ConfigMap", &bytes);
    let metadata = metadata(&object);
    assert_eq!(
        (one(&metadata, 1), one(&metadata, 3)),
        (&b"child"[..], &b"here"[..])
    );
    assert_eq!(one(&metadata, 6).len(), 8);
    let label = fields(one(&metadata, 11));
    assert_eq!((one(&label, 1), one(&label, 2)), (&b"a"[..], &b"b"[..]));
    let owner = fields(one(&metadata, 13));
    let owner: Vec<_> = owner
        .iter()
        .map(|(number, bytes)| (*number, String::from_utf8_lossy(bytes)))
        .collect();
    assert_eq!(
        owner,
        [
            (1, "ConfigMap"),
            (3, "parent"),
            (4, "u-1"),
            (5, "v1"),
            (6, "1"),
            (7, "0")
        ]
        .map(|(number, text)| (number, text.into()))
    );
    assert_eq!(one(&fields(one(&metadata, 17)), 2), b"Apply");
    let data = fields(one(&fields(&object), 2));
    assert_eq!(
        (one(&data, 1), one(&data, 2)),
        (&b"text"[..], &b"hello"[..])
    );
    let broken = answer(body.to_string().replace("hello\"", "hello"));
    assert_eq!(broken.status(), 400);
}

#[tokio::test]
async fn the_server_answers_in_json_without_accept_or_without_protobuf_messages() {
    let served = served();
    for (path, accept) in [
        ("/api/v1/pods", ""),
        ("/api/v1/pods", "application/json"),
        (
            "/api/v1/pods",
            "application/json;q=1,application/vnd.kubernetes.protobuf",
        ),
        ("/api/v1/configmaps", PROTOBUF),
    ] {
        let answer = answer(&served, &Method::GET, path, "", accept);
        let kind = &answer.headers()[header::CONTENT_TYPE];
        assert_eq!(kind, "application/json", "{path} {accept}");
        let body = whole(answer).await;
        assert_eq!(body[0], b'{');
    }
}

#[test]
fn protobuf_messages_of_other_objects_are_an_error() {
    let mut served = Served::new(1, &[(Kind::Pod, PODS)]);
    let mut read = |file: &[u8]| {
        served
            .add_protobuf(Kind::Pod, file)
            .expect_err("a wrong file")
    };
    assert_eq!(read(&file(4)), "the file has 4 objects instead of 5");
    let whole = file(5);
    assert_eq!(
        read(&whole[..whole.len() - 1]),
        "the file ends within object 4"
    );
    let mut trailing = whole.clone();
    trailing.push(0);
    assert!(read(&trailing).contains("instead of 5"));
    let second = whole.len() / 5;
    assert_eq!(
        read(&whole[second..]),
        "object 0 has the resource version of another object"
    );
}
