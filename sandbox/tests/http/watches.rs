use std::time::Duration;

use pilothouse_sandbox::{RequestMatcher, Sandbox};
use serde_json::json;
use tokio::time::Instant;

use crate::client::{Client, MAPS, MERGE, event, version};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_its_time() {
    let client = Client::new().await;
    let started = Instant::now();
    let mut watch = client
        .watch(&format!("{MAPS}?watch=1&timeoutSeconds=7"))
        .await;
    assert_eq!(watch.next().await.unwrap(), None);
    assert_eq!(started.elapsed().as_secs(), 7);
    // A watch without a timeout ends after 30 to 60 minutes.
    let mut watch = client
        .watch(&format!("{MAPS}?watch=1&timeoutSeconds=0"))
        .await;
    let started = Instant::now();
    assert_eq!(watch.next().await.unwrap(), None);
    assert!((1800..3600).contains(&started.elapsed().as_secs()));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_allows_bookmarks_gets_one_every_minute() {
    let client = Client::new().await;
    client.map("a", "web").await;
    let now = version(&client.get(MAPS).await.json).to_owned();
    let query = format!("watch=1&resourceVersion={now}&timeoutSeconds=150");
    let mut with = client
        .watch(&format!("{MAPS}?{query}&allowWatchBookmarks=true"))
        .await;
    let mut without = client.watch(&format!("{MAPS}?{query}")).await;
    // Changes of other kinds also advance the bookmark.
    client
        .post(
            "/api/v1/namespaces/default/secrets",
            &json!({"metadata": {"name": "s"}}),
        )
        .await
        .object();
    let (kind, bookmark) = with.event().await;
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(
        (&bookmark["kind"], &bookmark["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
    assert!(version(&bookmark).parse::<u64>().unwrap() > now.parse().unwrap());
    assert_eq!(bookmark["metadata"].as_object().unwrap().len(), 1);
    assert_eq!(with.event().await.0, "BOOKMARK");
    // One more comes shortly before the end.
    assert_eq!(with.event().await.0, "BOOKMARK");
    assert_eq!(with.next().await.unwrap(), None);
    assert_eq!(without.next().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_initial_state_is_marked() {
    let client = Client::new().await;
    client.map("b", "web").await;
    client.map("a", "web").await;
    client.map("other", "db").await;
    for (beginning, made) in [
        (
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "c",
        ),
        // The older way to ask for the same.
        ("", "d"),
        ("&resourceVersion=0", "e"),
    ] {
        let query = format!("watch=1&allowWatchBookmarks=true&labelSelector=app%3Dweb{beginning}");
        let mut watch = client.watch(&format!("{MAPS}?{query}")).await;
        for name in ["a", "b", "c", "d"].iter().take_while(|name| **name < made) {
            assert_eq!(watch.next_event_name().await, event("ADDED", name));
        }
        let (kind, bookmark) = watch.event().await;
        assert_eq!(kind, "BOOKMARK");
        assert_eq!(
            bookmark["metadata"]["annotations"],
            json!({"k8s.io/initial-events-end": "true"})
        );
        assert_eq!(version(&bookmark), version(&client.get(MAPS).await.json));
        client.map(made, "web").await;
        assert_eq!(watch.next_event_name().await, event("ADDED", made));
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_adds_and_deletes_objects_as_its_selector_starts_and_stops_matching() {
    let client = Client::new().await;
    let mut watch = client
        .watch(&format!("{MAPS}?watch=1&labelSelector=app%3Dweb"))
        .await;
    let path = format!("{MAPS}/a");
    let label = |app: &str| json!({"metadata": {"labels": {"app": app}}});
    client.map("a", "db").await;
    let seen = client.patch(MERGE, &path, &label("web")).await.object();
    let changed = client
        .patch(MERGE, &path, &json!({"data": {"a": "c"}}))
        .await
        .object();
    let lost = client.patch(MERGE, &path, &label("db")).await.object();
    client
        .patch(MERGE, &path, &json!({"data": {"a": "d"}}))
        .await
        .object();
    client.patch(MERGE, &path, &label("web")).await.object();
    client.delete(&path).await.object();
    for (kind, app, at) in [
        ("ADDED", "web", Some(&seen)),
        ("MODIFIED", "web", Some(&changed)),
        // The last selected state, at the version at which it was no longer selected.
        ("DELETED", "web", Some(&lost)),
        ("ADDED", "web", None),
        ("DELETED", "web", None),
    ] {
        let (next_event_name, object) = watch.event().await;
        assert_eq!(
            (&*next_event_name, &object["metadata"]["labels"]["app"]),
            (kind, &json!(app))
        );
        if let Some(at) = at {
            assert_eq!(version(&object), version(at), "{kind}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_one_namespace_sees_no_other() {
    let client = Client::new().await;
    let mut one = client.watch(&format!("{MAPS}?watch=true")).await;
    let mut all = client.watch("/api/v1/configmaps?watch=true").await;
    let other = "/api/v1/namespaces/kube-system/configmaps";
    client
        .post(other, &json!({"metadata": {"name": "x"}}))
        .await
        .object();
    client.map("a", "web").await;
    assert_eq!(one.next_event_name().await, event("ADDED", "a"));
    assert_eq!(all.next_event_name().await, event("ADDED", "x"));
    assert_eq!(all.next_event_name().await, event("ADDED", "a"));
}

#[tokio::test(start_paused = true)]
async fn a_compacted_history_is_an_error_event() {
    let client = Client::new().await;
    let first = version(&client.map("a", "web").await).to_owned();
    client.map("b", "web").await;
    client.sandbox.faults().compact();
    let mut watch = client
        .watch(&format!("{MAPS}?watch=1&resourceVersion={first}"))
        .await;
    assert_eq!(watch.code, 200);
    let (kind, status) = watch.event().await;
    assert_eq!(
        (&*kind, &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .starts_with(&format!("too old resource version: {first} ("))
    );
    assert_eq!(watch.next().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_read_too_slowly_gets_an_error_event() {
    let client = Client::of(Sandbox::builder().seed(1).history(10).build().unwrap()).await;
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    // More than the buffers on the way hold, and then more changes than the history keeps.
    let large = json!({"data": {"x": "x".repeat(256 * 1024)}});
    client.map("a", "web").await;
    for turn in 0..40 {
        client
            .patch(MERGE, &format!("{MAPS}/a"), &large)
            .await
            .object();
        let turn = json!({"data": {"turn": turn.to_string()}});
        client
            .patch(MERGE, &format!("{MAPS}/a"), &turn)
            .await
            .object();
    }
    let mut last = 0;
    loop {
        let (kind, object) = watch.event().await;
        if kind == "ERROR" {
            assert_eq!(object["code"], 410);
            break;
        }
        let now = version(&object).parse::<u64>().unwrap();
        assert!(now > last);
        last = now;
    }
    assert_eq!(watch.next().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_tables_sends_the_headings_once() {
    let client = Client::new().await;
    client.map("a", "web").await;
    let query = "watch=1&allowWatchBookmarks=1&timeoutSeconds=100&includeObject=Object";
    let mut watch = client.watch_as(&format!("{MAPS}?{query}"), TABLE).await;
    client.map("b", "web").await;
    let (kind, first) = watch.event().await;
    assert_eq!((&*kind, &first["kind"]), ("ADDED", &json!("Table")));
    assert_eq!(first["columnDefinitions"][0]["name"], "Name");
    assert_eq!(first["rows"][0]["cells"][0], "a");
    assert_eq!(first["rows"][0]["object"]["data"], json!({"a": "b"}));
    let (kind, bookmark) = watch.event().await;
    assert_eq!((&*kind, &bookmark["kind"]), ("BOOKMARK", &json!("Table")));
    // The annotation that marks the end of the initial state is on the object of the only row.
    let marked = &bookmark["rows"][0]["object"];
    assert_eq!(
        marked["metadata"]["annotations"],
        json!({"k8s.io/initial-events-end": "true"})
    );
    assert_eq!(version(&bookmark), version(marked));
    let (_, second) = watch.event().await;
    assert_eq!(second["columnDefinitions"], json!(null));
    assert_eq!(second["rows"][0]["cells"][0], "b");
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_client_disconnects() {
    let client = Client::new().await;
    let watch = client.watch(&format!("{MAPS}?watch=1")).await;
    let running = || {
        client
            .sandbox
            .faults()
            .running_watches(&RequestMatcher::any())
    };
    assert_eq!(running(), 1);
    drop(watch);
    while running() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_gets_a_bookmark_shortly_before_its_time_is_over() {
    let client = Client::new().await;
    let version_of = |answer: &crate::client::Answer| version(&answer.json).to_owned();
    let now = version_of(&client.get(MAPS).await);
    let path =
        format!("{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={now}&timeoutSeconds=30");
    let began = tokio::time::Instant::now();
    let mut watch = client.watch(&path).await;
    let (kind, _) = watch.event().await;
    assert_eq!((&*kind, began.elapsed().as_secs()), ("BOOKMARK", 28));
    assert!(watch.next().await.unwrap().is_none());
    assert_eq!(began.elapsed().as_secs(), 30);
}
