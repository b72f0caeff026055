use std::time::Duration;

use pilothouse_sandbox::{Answer, RequestMatcher, Sandbox};
use serde_json::{Value, json};

use crate::client::{Client, MAPS, event, request, version};

#[tokio::test(start_paused = true)]
async fn planned_responses_are_used_in_order_and_then_no_more() {
    let client = Client::new().await;
    let faults = client.sandbox.faults();
    let creates = || {
        RequestMatcher::any()
            .verb("create")
            .resource("configmaps")
            .namespace("default")
    };
    let busy = Answer::status(429, "TooManyRequests")
        .message("slow down")
        .retry_after(Duration::from_secs(7));
    faults.answer(creates(), busy, 1);
    faults.answer(creates(), Answer::status(503, "ServiceUnavailable"), 2);
    let map = json!({"metadata": {"name": "a"}});
    let first = client.post(MAPS, &map).await;
    assert_eq!(first.failure(), (429, "TooManyRequests", "slow down"));
    assert_eq!(
        (
            &first.headers["retry-after"],
            &first.json["details"]["retryAfterSeconds"]
        ),
        (&"7".parse().unwrap(), &json!(7))
    );
    assert_eq!(client.get(MAPS).await.json["items"], json!([]));
    for expected in [503, 503, 201] {
        assert_eq!(client.post(MAPS, &map).await.code, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn watches_break_end_or_expire_on_request() {
    let client = Client::new().await;
    let faults = client.sandbox.faults();
    let maps = RequestMatcher::any().resource("configmaps");
    let mut other = client.watch("/api/v1/pods?watch=1").await;
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    assert_eq!(faults.drop_watches(&maps), 1);
    assert!(watch.next().await.is_err());
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    assert_eq!(faults.close_watches(&maps), 1);
    assert_eq!(watch.next().await.unwrap(), None);
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    assert_eq!(faults.expire_watches(&maps), 1);
    let (kind, status) = watch.event().await;
    assert_eq!(
        (&*kind, &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert_eq!(watch.next().await.unwrap(), None);
    assert_eq!(faults.running_watches(&RequestMatcher::any()), 1);
    faults.close_watches(&RequestMatcher::any());
    assert_eq!(other.next().await.unwrap(), None::<Value>);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_response_is_lost_is_carried_out() {
    let client = Client::new().await;
    let creates = RequestMatcher::any().verb("create").resource("configmaps");
    client.sandbox.faults().lose_responses(creates, 1);
    let create = |name: &str| {
        let map = json!({"metadata": {"name": name}}).to_string();
        request("POST", MAPS, "application/json", map)
    };
    assert!(!client.is_answered(create("a")).await);
    let recorded = client.sandbox.requests();
    assert_eq!((recorded.len(), recorded[0].status), (1, 201));
    assert_eq!(client.get(&format!("{MAPS}/a")).await.code, 200);
    // The connection is still the same one.
    assert!(client.is_answered(create("b")).await);
}

#[tokio::test(start_paused = true)]
async fn a_held_watch_sends_everything_when_it_is_released() {
    let client = Client::new().await;
    let faults = client.sandbox.faults();
    let maps = RequestMatcher::any().resource("configmaps");
    let path = format!("{MAPS}?watch=1&allowWatchBookmarks=true");
    let mut before = client.watch(&path).await;
    assert_eq!(before.event().await.0, "BOOKMARK");
    faults.hold_watches(maps.clone());
    let mut after = client.watch(&path).await;
    client.map("a", "b").await;
    client.map("c", "d").await;
    for watch in [&mut before, &mut after] {
        // Longer than the pause between bookmarks.
        let event = tokio::time::timeout(Duration::from_secs(70), watch.event()).await;
        assert!(event.is_err(), "{event:?}");
    }
    faults.release_watches();
    for watch in [&mut before, &mut after] {
        let mut names = Vec::new();
        while names.len() < 2 {
            let (kind, object) = watch.event().await;
            if kind != "BOOKMARK" {
                names.push(object["metadata"]["name"].clone());
            }
        }
        assert_eq!(names, ["a", "c"]);
    }
    // A held watch can be broken all the same.
    faults.hold_watches(maps.clone());
    assert_eq!(faults.drop_watches(&maps), 2);
    while let Ok(event) = before.next().await {
        assert!(event.is_some(), "it ended in good order");
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_last_requests_are_recorded() {
    let client = Client::of(Sandbox::builder().seed(1).request_log(3).build().unwrap()).await;
    for number in 0..5 {
        client.get(&format!("{MAPS}/m{number}?x={number}")).await;
    }
    let recorded = client.sandbox.requests();
    let names: Vec<&str> = recorded.iter().map(|request| &*request.name).collect();
    assert_eq!(names, ["m2", "m3", "m4"]);
    let last = recorded.last().unwrap();
    assert_eq!(
        (&*last.verb, &*last.method, &*last.query, last.status),
        ("get", "GET", "x=4", 404)
    );
    assert_eq!(
        (&*last.resource, &*last.namespace, &*last.user),
        ("configmaps", "default", "kubernetes-admin")
    );
    client.sandbox.clear_requests();
    assert!(client.sandbox.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_late_request_is_carried_out_late_and_a_late_response_at_once() {
    let client = Client::new().await;
    let faults = client.sandbox.faults();
    let creates = || RequestMatcher::any().verb("create").resource("configmaps");
    let late = Duration::from_secs(30);
    faults.delay_requests(creates(), late, 1);
    faults.delay_responses(creates(), late, 1);
    for (name, waits) in [("a", true), ("b", false)] {
        let map = json!({"metadata": {"name": name}}).to_string();
        let begun = tokio::time::Instant::now();
        let created = client.is_answered(request("POST", MAPS, "application/json", map));
        let path = format!("{MAPS}/{name}");
        let seen = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            client.get(&path).await.code
        };
        let (created, seen) = tokio::join!(created, seen);
        assert!(created && begun.elapsed() >= late, "{name}");
        assert_eq!(seen, if waits { 404 } else { 200 }, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_cut_off_loses_its_watches_and_reaches_nothing() {
    let client = Client::new().await;
    let faults = client.sandbox.faults();
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    let other = RequestMatcher::any().user("somebody");
    faults.partition(other);
    assert_eq!(client.get(MAPS).await.code, 200);

    client.sandbox.clear_requests();
    faults.partition(RequestMatcher::any().user("kubernetes-admin"));
    assert!(watch.next().await.is_err());
    let map = json!({"metadata": {"name": "a"}}).to_string();
    let create = || request("POST", MAPS, "application/json", map.clone());
    assert!(!client.is_answered(create()).await);
    assert_eq!(client.sandbox.requests(), []);
    faults.heal();
    assert!(client.is_answered(create()).await);
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_held_back_answers_what_accepts_an_old_state() {
    let client = Client::new().await;
    let faults = client.sandbox.faults();
    let maps = RequestMatcher::any().resource("configmaps");
    let old = version(&client.map("a", "one").await).to_owned();
    let later = version(&client.map("b", "two").await).to_owned();
    faults.hold_caches(maps.clone(), Some(old.parse().unwrap()));
    let names = async |query: &str| {
        let list = client.get(&format!("{MAPS}?{query}")).await.json;
        let names = list["items"].as_array().unwrap().iter();
        let names: Vec<Value> = names.map(|map| map["metadata"]["name"].clone()).collect();
        (
            names,
            list["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .to_owned(),
        )
    };
    assert_eq!(
        names("resourceVersion=0").await,
        (vec![json!("a")], old.clone())
    );
    assert_eq!(names(&format!("resourceVersion={old}")).await.0, ["a"]);
    // Without a version a list is of the newest state.
    assert_eq!(
        names("").await,
        (vec![json!("a"), json!("b")], later.clone())
    );
    let get = async |query: &str| client.get(&format!("{MAPS}/b{query}")).await.code;
    assert_eq!((get("").await, get("?resourceVersion=0").await), (200, 404));
    let begun = tokio::time::Instant::now();
    assert_eq!(get(&format!("?resourceVersion={later}")).await, 504);
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    // Others have their own cache.
    let pods = client.get("/api/v1/pods?resourceVersion=0").await.json;
    assert_eq!(version(&pods), later);

    faults.release_caches();
    assert_eq!(names("resourceVersion=0").await.0, ["a", "b"]);
    faults.hold_caches(maps, Some(old.parse().unwrap()));
    faults.clear();
    assert_eq!(names("resourceVersion=0").await.0, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn watches_of_a_cache_that_is_held_back_go_on_when_it_is_released() {
    let client = Client::new().await;
    let faults = client.sandbox.faults();
    client.map("a", "one").await;
    faults.hold_caches(RequestMatcher::any().verb("watch"), None);
    let later = version(&client.map("b", "two").await).to_owned();
    let state = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let mut watches = [
        client.watch(&format!("{MAPS}?watch=1")).await,
        client
            .watch(&format!("{MAPS}?{state}&resourceVersion=0"))
            .await,
        client
            .watch(&format!("{MAPS}?watch=1&resourceVersion={later}"))
            .await,
    ];
    let [fresh, _, _] = &mut watches;
    assert_eq!(fresh.next_event_name().await, event("ADDED", "a"));
    assert_eq!(watches[1].next_event_name().await, event("ADDED", "a"));
    // A list in the form of a watch that needs the newest state waits, and then fails.
    let mut newest = client.watch(&format!("{MAPS}?{state}")).await;
    let (kind, status) = newest.event().await;
    assert_eq!((&*kind, &status["code"]), ("ERROR", &json!(504)));
    client.map("c", "three").await;
    for watch in &mut watches {
        let event = tokio::time::timeout(Duration::from_secs(30), watch.next_event_name()).await;
        assert!(event.is_err(), "{event:?}");
    }
    faults.release_caches();
    for (watch, missed) in watches
        .iter_mut()
        .zip([&["b", "c"][..], &["b", "c"], &["c"]])
    {
        for name in missed {
            assert_eq!(watch.next_event_name().await, event("ADDED", name));
        }
    }
}
