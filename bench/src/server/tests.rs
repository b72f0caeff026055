use std::sync::Arc;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;
use hyper::Method;
use serde_json::Value;

use super::{
    Lacks, Served,
    answer::{Answer, answer},
    applied, leases,
    received::{lines, whole},
    target::now,
};
use crate::generator::{FIRST_VERSION, Kind};

const PODS: u64 = 25;

fn served() -> Arc<Served> {
    let objects = [(Kind::Pod, PODS), (Kind::ConfigMap, 3), (Kind::Widget, 3)];
    Arc::new(Served::new(1, &objects))
}

async fn get(served: &Arc<Served>, path: &str, query: &str) -> Value {
    read(answer(served, &Method::GET, path, query, "")).await
}

async fn read(answer: Answer) -> Value {
    let size = answer.body().size_hint().exact();
    let bytes = whole(answer).await;
    assert_eq!(size, Some(bytes.len() as u64));
    serde_json::from_slice(&bytes).expect("JSON")
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("items");
    items
        .iter()
        .map(|item| item["metadata"]["name"].to_string())
        .collect()
}

/// Returns the next `count` lines of a watch.
async fn watch(served: &Arc<Served>, query: &str, count: usize) -> Vec<Value> {
    watch_of(served, "/api/v1/pods", query, count).await
}

async fn watch_of(served: &Arc<Served>, path: &str, query: &str, count: usize) -> Vec<Value> {
    let mut body = answer(served, &Method::GET, path, query, "").into_body();
    lines(&mut body, count).await
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
async fn a_server_without_watch_list_refuses_to_stream_a_list_and_answers_all_else() {
    let lacks = Lacks {
        watch_list: true,
        ..Lacks::default()
    };
    let served = Served::new(1, &[(Kind::Pod, PODS)]).lacking(lacks);
    let served = Arc::new(served);
    for path in ["/api/v1/pods", "/api/v1/secrets"] {
        let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let status = get(&served, path, query).await;
        assert_eq!(
            (&status["reason"], &status["code"]),
            (&"Invalid".into(), &422.into())
        );
    }
    let page = get(&served, "/api/v1/pods", "limit=10").await;
    assert_eq!(names(&page).len(), 10);
    served.modify(1);
    let events = watch(&served, "watch=true&resourceVersion=0", 1).await;
    assert_eq!(events[0]["type"], "MODIFIED");
}

#[tokio::test]
async fn a_server_that_ignores_limit_sends_each_list_whole() {
    let lacks = Lacks {
        limit: true,
        ..Lacks::default()
    };
    let served = Arc::new(Served::new(1, &[(Kind::Pod, PODS)]).lacking(lacks));
    let list = get(&served, "/api/v1/pods", "limit=10").await;
    assert_eq!(names(&list).len() as u64, PODS);
    assert_eq!(list["metadata"]["continue"], Value::Null);
}

#[tokio::test]
async fn a_list_of_version_0_has_no_pages() {
    let list = get(&served(), "/api/v1/pods", "limit=10&resourceVersion=0").await;
    assert_eq!(names(&list).len() as u64, PODS);
    assert_eq!(list["metadata"]["continue"], Value::Null);
}

#[tokio::test]
async fn every_kind_has_a_list_a_watch_and_is_discovered() {
    for kind in Kind::ALL {
        let served = Arc::new(Served::new(1, &[(kind, 3)]));
        let list = get(&served, kind.path(), "").await;
        assert_eq!(list["kind"], format!("{}List", kind.name()));
        assert_eq!(names(&list).len(), 3);
        served.modify(2);
        let query = "watch=true&sendInitialEvents=true";
        let events = watch_of(&served, kind.path(), query, 4).await;
        let last = events.last().expect("a bookmark");
        assert_eq!(last["object"]["kind"], kind.name());
        let (group, _) = kind.path().rsplit_once('/').expect("a group");
        let resources = get(&served, group, "").await.to_string();
        let discovered = format!("\"kind\":\"{}\"", kind.name());
        assert!(resources.contains(&discovered), "{resources}");
    }
}

#[tokio::test]
async fn generated_secrets_take_the_place_of_applied_ones() {
    let applied = served();
    let list = get(&applied, "/api/v1/secrets", "").await;
    assert_eq!(names(&list).len(), 0);
    let generated = Arc::new(Served::new(1, &[(Kind::LargeSecret, 2)]));
    let list = get(&generated, "/api/v1/secrets", "").await;
    assert_eq!(names(&list).len(), 2);
}

#[test]
fn the_arguments_of_the_server_name_shapes() {
    let served = |argument: &str| {
        let command = clap::Command::new("serve").args(super::arguments());
        let matches = command.get_matches_from(["serve", "--objects", argument]);
        super::served(&matches).map(drop)
    };
    assert_eq!(served("small=2"), Ok(()));
    for wrong in ["little=2", "small"] {
        let text = format!("--objects {wrong}: expected a shape");
        assert!(served(wrong).is_err_and(|error| error.starts_with(&text)));
    }
    let wrong = Err("--objects small=few: expected a number".to_owned());
    assert_eq!(served("small=few"), wrong);
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
async fn modifications_visit_each_object_in_turn_and_change_only_the_version() {
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
async fn a_watch_that_is_opened_again_continues_at_its_version() {
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
async fn an_open_watch_receives_later_modifications_and_none_after_a_reset() {
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
async fn an_unknown_path_is_named_in_the_answer() {
    let served = served();
    let status = get(&served, "/api/v1/services", "").await;
    assert_eq!(
        (status["code"].as_u64(), status["reason"].as_str()),
        (Some(404), Some("NotFound"))
    );
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|text| text.contains("/api/v1/services"))
    );
    let status = get(&served, "/api/v1/pods", "limit=ten").await;
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|text| text.contains("limit=ten")),
        "{status}"
    );
}

#[tokio::test]
async fn an_updated_lease_comes_back_with_a_new_version_each_time() {
    let served = served();
    let path = "/apis/coordination.k8s.io/v1/namespaces/a/leases/leader";
    let sent = serde_json::json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"},
        "spec": {"leaseTransitions": 7},
    });
    let mut before = 0;
    for count in 1..=2 {
        let answer = leases::answer(&served, path, &Bytes::from(sent.to_string()));
        let mut lease = read(answer).await;
        let metadata = lease["metadata"].as_object_mut().expect("metadata");
        let version = metadata.remove("resourceVersion");
        let version = version.and_then(|version| version.as_str()?.parse::<u64>().ok());
        assert!(
            version.is_some_and(|version| version > before),
            "{version:?}"
        );
        before = version.unwrap_or(before);
        assert_eq!(lease, sent);
        let counts: Value = serde_json::from_str(&served.counts.json(0)).expect("JSON");
        assert_eq!(counts["renewals"], count);
    }
    for (path, body, code) in [
        ("/api/v1/namespaces/a/pods/b", sent.to_string(), 404),
        (path, "[]".to_owned(), 400),
    ] {
        let answer = leases::answer(&served, path, &Bytes::from(body));
        assert_eq!(answer.status(), code, "{path}");
    }
}

#[tokio::test]
async fn a_stamp_only_adds_an_annotation_to_the_others() {
    let served = served();
    for (path, count) in [("/api/v1/pods", PODS), ("/api/v1/configmaps", 3)] {
        let query = format!("watch=1&resourceVersion={}", FIRST_VERSION + count);
        served.modify(count);
        let plain = watch_of(&served, path, &query, count as usize).await;
        served.reset();
        let before = now();
        served.pace(1_000_000, count, true);
        let stamped = watch_of(&served, path, &query, count as usize).await;
        for (mut stamped, plain) in stamped.into_iter().zip(plain) {
            let metadata = stamped["object"]["metadata"]
                .as_object_mut()
                .expect("metadata");
            let annotations = metadata["annotations"].as_object_mut().expect("some");
            let stamp = annotations.remove("bench/stamp").expect("a stamp");
            let stamp: u64 = stamp.as_str().expect("text").parse().expect("a number");
            assert!(before <= stamp && stamp <= now());
            if plain["object"]["metadata"]["annotations"].is_null() {
                assert!(annotations.is_empty());
                metadata.remove("annotations");
            }
            assert_eq!(stamped, plain);
        }
        served.reset();
    }
}

#[tokio::test]
async fn a_pace_sends_its_number_of_events_and_ends_with_the_next_command() {
    let served = served();
    let target = served.target.subscribe();
    served.pace(1_000_000, 30, true);
    let mut waiting = target.clone();
    waiting
        .wait_for(|target| target.events == 30)
        .await
        .expect("it comes to all");
    served.pace(20, 1_000_000, true);
    waiting
        .wait_for(|target| target.events >= 1)
        .await
        .expect("it begins anew");
    served.reset();
    waiting.mark_unchanged();
    let more = tokio::time::timeout(std::time::Duration::from_millis(150), waiting.changed()).await;
    assert!(more.is_err(), "{:?}", *target.borrow());
}

#[tokio::test]
async fn modifications_at_a_rate_change_only_the_version() {
    let served = served();
    served.run_command("modify 3 1000").expect("a command");
    let events = watch(&served, "watch=true&resourceVersion=0", 3).await;
    for event in &events {
        assert_eq!(event["type"], "MODIFIED");
        let annotations = &event["object"]["metadata"]["annotations"];
        assert_eq!(annotations["bench/stamp"], Value::Null);
    }
}

#[tokio::test]
async fn an_applied_object_comes_back_with_server_fields_and_is_counted() {
    let served = served();
    let path = "/api/v1/namespaces/a/configmaps/child-b";
    let sent = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child-b"}, "data": {"text": "c"}});
    let body = Bytes::from(sent.to_string());
    for count in 1..=2 {
        let answer = applied::answer(&served, path, "fieldManager=d&force=true", "", &body);
        assert_eq!(answer.status(), 201);
        let object = read(answer).await;
        assert_eq!(object["data"], sent["data"]);
        assert_eq!(object["metadata"]["name"], "child-b");
        assert_eq!(object["metadata"]["namespace"], "a");
        assert_eq!(object["metadata"]["managedFields"][0]["operation"], "Apply");
        let version = object["metadata"]["resourceVersion"].as_str();
        let version: u64 = version.expect("text").parse().expect("a number");
        assert_eq!(version, FIRST_VERSION + PODS + count);
        assert!(
            served
                .counts
                .json(0)
                .contains(&format!("\"applies\":{count}"))
        );
    }
    for (path, query, body) in [
        (path, "fieldManager=d", body.clone()),
        ("/api/v1/namespaces/a/pods/b", "force=true", body),
        (path, "force=true", Bytes::from("metadata: {}")),
    ] {
        let answer = applied::answer(&served, path, query, "", &body);
        assert!(answer.status().is_client_error(), "{path} {query}");
    }
    assert!(served.counts.json(0).contains("\"applies\":2"));
    served.reset();
    assert!(served.counts.json(0).contains("\"applies\":0"));
}

#[tokio::test]
async fn a_relist_changes_its_share_ends_all_watches_and_then_sends_a_stamped_event() {
    for (percent, changed) in [(0, 0), (20, 5), (100, 25)] {
        let served = served();
        let before = get(&served, "/api/v1/pods", "").await;
        let old = format!("watch=1&resourceVersion={}", FIRST_VERSION + PODS);
        let mut open = answer(&served, &Method::GET, "/api/v1/pods", &old, "").into_body();
        served.relist(percent);
        let event = lines(&mut open, 1).await;
        assert_eq!(
            (&event[0]["type"], &event[0]["object"]["code"]),
            (&Value::from("ERROR"), &Value::from(410))
        );
        assert!(open.frame().await.is_none(), "it has ended");
        assert_eq!(watch(&served, &old, 1).await[0]["type"], "ERROR");

        let list = get(&served, "/api/v1/pods", "").await;
        let versions = |list: &Value| -> Vec<u64> {
            let items = list["items"].as_array().expect("items").iter();
            let version = |item: &Value| {
                let version = item["metadata"]["resourceVersion"].as_str();
                version.expect("text").parse().expect("a number")
            };
            items.map(version).collect()
        };
        let (before, after) = (versions(&before), versions(&list));
        let newer = before.iter().zip(&after).filter(|(old, new)| old < new);
        assert_eq!(newer.count(), changed);
        let same = before.iter().zip(&after).filter(|(old, new)| old == new);
        assert_eq!(same.count(), PODS as usize - changed);
        let version = list["metadata"]["resourceVersion"].as_str().expect("text");
        assert!(
            after
                .iter()
                .all(|one| *one < version.parse().expect("a number"))
        );

        for query in [
            format!("watch=1&resourceVersion={version}"),
            "watch=1&sendInitialEvents=true".to_owned(),
        ] {
            let skipped = if query.contains("Initial") {
                PODS as usize + 1
            } else {
                0
            };
            let mut body = answer(&served, &Method::GET, "/api/v1/pods", &query, "").into_body();
            lines(&mut body, skipped).await;
            let event = lines(&mut body, 1).await.remove(0);
            assert_eq!(event["type"], "MODIFIED");
            assert!(event["object"]["metadata"]["annotations"]["bench/stamp"].is_string());
            let name = event["object"]["metadata"]["name"].to_string();
            let place = names(&list).iter().position(|one| *one == name);
            let place = place.expect("it is listed");
            assert!(changed == 0 || before[place] < after[place]);
        }
        served.reset();
        assert_eq!(
            get(&served, "/api/v1/pods", "").await["metadata"]["resourceVersion"]
                .as_str()
                .expect("text"),
            (FIRST_VERSION + PODS).to_string()
        );
    }
}

#[test]
fn an_unknown_command_is_an_error_that_lists_the_commands() {
    let served = served();
    assert_eq!(
        served.run_command("counts").expect("a command").as_deref(),
        Some("{\"connections\":0,\"applies\":0,\"children\":0,\"renewals\":0}")
    );
    for wrong in ["modifi 3", "pace 3", "relist", ""] {
        let error = served.run_command(wrong).expect_err(wrong).to_string();
        assert!(error.contains("pace <rate> <count>"), "{error}");
    }
}

#[tokio::test]
async fn churn_deletes_each_object_in_turn_and_creates_it_again() {
    let served = served();
    served
        .run_command(&format!("churn {}", 2 * PODS))
        .expect("a command");
    let start = FIRST_VERSION + PODS;
    let query = format!("watch=1&resourceVersion={start}");
    let events = watch(&served, &query, 2 * PODS as usize).await;
    let mut seen = std::collections::BTreeSet::new();
    for (number, pair) in events.chunks(2).enumerate() {
        assert_eq!(
            (&pair[0]["type"], &pair[1]["type"]),
            (&Value::from("DELETED"), &Value::from("ADDED"))
        );
        assert_eq!(version(&pair[0]), start + 1 + 2 * number as u64);
        assert_eq!(version(&pair[1]), version(&pair[0]) + 1);
        let name = |event: &Value| event["object"]["metadata"]["name"].to_string();
        assert_eq!(name(&pair[0]), name(&pair[1]));
        seen.insert(name(&pair[0]));
    }
    assert_eq!(seen.len() as u64, PODS);
    served.modify(1);
    assert_eq!(watch(&served, &query, 1).await[0]["type"], "MODIFIED");
}
