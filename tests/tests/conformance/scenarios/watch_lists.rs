//! Watches that start with the present state (watch-lists).

use serde_json::{Value, json};

use super::lists::fill;
use crate::run::{Ask, Run};

/// The query of a watch-list.
pub(super) const INITIAL: &str =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

pub(crate) async fn beginnings(run: &mut Run) {
    for (kind, path) in fill(run).await {
        let list = run.send_unrecorded(Ask::get(&path)).await.body;
        let newest = text(&list["metadata"]["resourceVersion"]);
        let oldest = text(&list["items"][0]["metadata"]["resourceVersion"]);
        let mut steps = Vec::new();
        for query in [
            String::new(),
            "&resourceVersion=0".into(),
            format!("&resourceVersion={newest}"),
            format!("&resourceVersion={oldest}"),
            "&resourceVersion=x".into(),
            "&resourceVersion=-1".into(),
            "&limit=2".into(),
            "&limit=x".into(),
            "&continue=x".into(),
            "&labelSelector=odd%3Dtrue".into(),
            "&labelSelector=odd%3Dnone".into(),
            "&labelSelector=%3D".into(),
            "&fieldSelector=metadata.name%3Do3".into(),
            "&fieldSelector=spec.none%3Do3".into(),
            "&shardSelector=x".into(),
        ] {
            // A server checks about once a second which watches are due for a bookmark. A watch that
            // lives for a single second may end before the bookmark that ends the initial state.
            let ask = Ask::get(format!(
                "{path}?watch=true&timeoutSeconds=2&{INITIAL}{query}"
            ));
            let step = known(&query, &[&newest, &oldest]);
            steps.push((format!("{kind}: initial{step}"), ask));
        }
        for query in [
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=false",
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0",
            "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=5",
            "sendInitialEvents=true&resourceVersionMatch=Odd",
            "sendInitialEvents=false",
            "sendInitialEvents=false&resourceVersionMatch=Exact",
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0",
            "sendInitialEvents=x&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "sendInitialEvents=&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "sendInitialEvents=0&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1",
            "sendInitialEvents&resourceVersionMatch=NotOlderThan&allowWatchBookmarks",
            "resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch=Exact",
            "resourceVersionMatch=Odd",
            "continue=x",
            "continue=x&resourceVersion=5&resourceVersionMatch=NotOlderThan&sendInitialEvents=false",
            "allowWatchBookmarks=true",
            "allowWatchBookmarks=true&resourceVersion=0",
            "limit=2",
        ] {
            let ask = Ask::get(format!("{path}?watch=true&timeoutSeconds=2&{query}"));
            steps.push((format!("{kind}: {query}"), ask));
        }
        let ask = Ask::get(format!("{path}?{INITIAL}"));
        steps.push((format!("{kind}: a list"), ask));
        for seconds in [1, 5] {
            let ask = Ask::get(format!(
                "{path}?watch=true&timeoutSeconds={seconds}&{INITIAL}&resourceVersion=100000000"
            ));
            steps.push((format!("{kind}: too new for {seconds}"), ask));
        }
        let ask = Ask::get(format!("{path}/o1?watch=true&timeoutSeconds=2&{INITIAL}"));
        steps.push((format!("{kind}: of one object"), ask));
        let ask = Ask::get(format!("{path}/none?watch=true&timeoutSeconds=2&{INITIAL}"));
        steps.push((format!("{kind}: of no object"), ask));
        run.steps(steps).await;
        let mut watch = run.watch(format!("{path}?watch=true&{INITIAL}")).await;
        watch.events(5).await;
        let end = watch.events(1).await;
        let version = |value: &Value| text(value).parse::<u64>().unwrap();
        let reached = version(&end[0]["object"]["metadata"]["resourceVersion"]);
        run.record(
            format!("{kind}: as new as a list"),
            (reached >= version(&list["metadata"]["resourceVersion"])).into(),
        );
        let labels = json!({"metadata": {"labels": {"more": "yes"}}});
        run.send_unrecorded(Ask::merge(format!("{path}/o2"), labels))
            .await;
        let events = watch.events(1).await;
        run.record(format!("{kind}: after the initial events"), events);
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

/// Returns a query without the values that differ between servers.
fn known(query: &str, values: &[&str]) -> String {
    let names = ["newest", "oldest", "between", "token"];
    let mut query = query.to_owned();
    for (value, name) in values.iter().zip(names) {
        query = query.replace(&format!("={value}"), &format!("={name}"));
    }
    query
}
